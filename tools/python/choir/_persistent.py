# SPDX-License-Identifier: MIT
# mypy: disable-error-code="attr-defined"
"""The persistent form of every call: its arguments are those of the call, which says what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

from ._request import REQUEST, Request

if TYPE_CHECKING:
    from ._abi import Op
    from ._operator import Operator


class Persistent:
    """The ``..._init`` methods of a comm.  A request is started as often as one likes, on the arrays of its making."""

    def allreduce_init(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent allreduce."""
        return self.allreduce(send, recv, op, wait=REQUEST, **call)

    def reduce_init(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", root: int = 0,
                    **call: Any) -> Request:  # fmt: skip
        """A persistent reduce."""
        return self.reduce(send, recv, op, root, wait=REQUEST, **call)

    def reduce_scatter_init(self, send: Any, recv: Any, op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent reduce_scatter."""
        return self.reduce_scatter(send, recv, op, wait=REQUEST, **call)

    def reduce_scatterv_init(self, send: Any, recv: Any, counts: Sequence[int], op: Op | Operator | str = "sum",
                             **call: Any) -> Request:  # fmt: skip
        """A persistent reduce_scatterv."""
        return self.reduce_scatterv(send, recv, counts, op, wait=REQUEST, **call)

    def reduce_scatter_padded_init(self, send: Any, recv: Any, op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent reduce_scatter_padded."""
        return self.reduce_scatter_padded(send, recv, op, wait=REQUEST, **call)

    def scan_init(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent scan."""
        return self.scan(send, recv, op, wait=REQUEST, **call)

    def exscan_init(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent exscan."""
        return self.exscan(send, recv, op, wait=REQUEST, **call)

    def allgather_init(self, send: Any, recv: Any, **call: Any) -> Request:
        """A persistent allgather."""
        return self.allgather(send, recv, wait=REQUEST, **call)

    def allgatherv_init(self, send: Any, recv: Any, counts: Sequence[int],
                        displacements: Sequence[int] | None = None, **call: Any) -> Request:  # fmt: skip
        """A persistent allgatherv."""
        return self.allgatherv(send, recv, counts, displacements, wait=REQUEST, **call)

    def allgather_padded_init(self, send: Any, recv: Any, **call: Any) -> Request:
        """A persistent allgather_padded."""
        return self.allgather_padded(send, recv, wait=REQUEST, **call)

    def alltoall_init(self, send: Any, recv: Any, **call: Any) -> Request:
        """A persistent alltoall."""
        return self.alltoall(send, recv, wait=REQUEST, **call)

    def alltoallv_init(self, send: Any, send_counts: Sequence[int], recv: Any, recv_counts: Sequence[int],
                       send_displacements: Sequence[int] | None = None,
                       recv_displacements: Sequence[int] | None = None, **call: Any) -> Request:  # fmt: skip
        """A persistent alltoallv."""
        return self.alltoallv(send, send_counts, recv, recv_counts, send_displacements, recv_displacements,
                              wait=REQUEST, **call)  # fmt: skip

    def broadcast_init(self, array: Any, recv: Any = None, root: int = 0, **call: Any) -> Request:
        """A persistent broadcast."""
        return self.broadcast(array, recv, root, wait=REQUEST, **call)

    def gather_init(self, send: Any, recv: Any = None, root: int = 0, **call: Any) -> Request:
        """A persistent gather."""
        return self.gather(send, recv, root, wait=REQUEST, **call)

    def gatherv_init(self, send: Any, recv: Any, counts: Sequence[int], displacements: Sequence[int] | None = None,
                     root: int = 0, **call: Any) -> Request:  # fmt: skip
        """A persistent gatherv."""
        return self.gatherv(send, recv, counts, displacements, root, wait=REQUEST, **call)

    def scatter_init(self, send: Any, recv: Any = None, root: int = 0, **call: Any) -> Request:
        """A persistent scatter."""
        return self.scatter(send, recv, root, wait=REQUEST, **call)

    def scatterv_init(self, send: Any, recv: Any, counts: Sequence[int], displacements: Sequence[int] | None = None,
                      root: int = 0, **call: Any) -> Request:  # fmt: skip
        """A persistent scatterv."""
        return self.scatterv(send, recv, counts, displacements, root, wait=REQUEST, **call)

    def send_init(self, array: Any, dest: int, **call: Any) -> Request:
        """A persistent send."""
        return self.send(array, dest, wait=REQUEST, **call)

    def recv_init(self, array: Any, source: int, **call: Any) -> Request:
        """A persistent recv."""
        return self.recv(array, source, wait=REQUEST, **call)

    def sendrecv_init(self, send: Any, dest: int, recv: Any, source: int, **call: Any) -> Request:
        """A persistent sendrecv."""
        return self.sendrecv(send, dest, recv, source, wait=REQUEST, **call)

    def barrier_init(self, **call: Any) -> Request:
        """A persistent barrier."""
        return self.barrier(wait=REQUEST, **call)

    def allreduce_multi_init(self, tensors: Iterable[Any], op: Op | Operator | str = "sum", **call: Any) -> Request:
        """A persistent allreduce_multi."""
        return self.allreduce_multi(tensors, op, wait=REQUEST, **call)

    def reduce_multi_init(self, tensors: Iterable[Any], op: Op | Operator | str = "sum", root: int = 0,
                          **call: Any) -> Request:  # fmt: skip
        """A persistent reduce_multi."""
        return self.reduce_multi(tensors, op, root, wait=REQUEST, **call)

    def reduce_scatter_multi_init(self, tensors: Iterable[Any], op: Op | Operator | str = "sum",
                                  **call: Any) -> Request:  # fmt: skip
        """A persistent reduce_scatter_multi."""
        return self.reduce_scatter_multi(tensors, op, wait=REQUEST, **call)

    def reduce_scatter_padded_multi_init(self, tensors: Iterable[Any], op: Op | Operator | str = "sum",
                                         **call: Any) -> Request:  # fmt: skip
        """A persistent reduce_scatter_padded_multi."""
        return self.reduce_scatter_padded_multi(tensors, op, wait=REQUEST, **call)

    def allgather_multi_init(self, tensors: Iterable[Any], **call: Any) -> Request:
        """A persistent allgather_multi."""
        return self.allgather_multi(tensors, wait=REQUEST, **call)

    def allgather_padded_multi_init(self, tensors: Iterable[Any], **call: Any) -> Request:
        """A persistent allgather_padded_multi."""
        return self.allgather_padded_multi(tensors, wait=REQUEST, **call)

    def broadcast_multi_init(self, tensors: Iterable[Any], root: int = 0, **call: Any) -> Request:
        """A persistent broadcast_multi."""
        return self.broadcast_multi(tensors, root, wait=REQUEST, **call)
