# SPDX-License-Identifier: MIT
"""The torch.distributed backend "choir": ``import choir.torch``, then ``init_process_group("choir")``.

Tensors are on the CPU.  Every work is a torch future, completed by the library, so DistributedDataParallel overlaps
backward and gradients as with other backends.  A sparse gradient is reduced as its rows.

Note [errors].  ``Future.set_exception`` is seen by Python alone: a work of such a future, and DDP, go on as if nothing
had happened.  An exception out of ``then`` is seen by all, so every future here ends in one.
"""

from __future__ import annotations

import itertools
import struct
import sys
import threading
import weakref
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work as _Work
from torch._C._distributed_c10d import _create_work_from_future

from ._comm import Comm
from ._create import from_store
from ._event import Event, SparseEvent
from ._family import live
from ._meet import StoreMeeting
from ._numbers import counted
from ._tensors import Operands, bytes_of, elements, flatten, joined, lengths, listed, put, unflatten
from .errors import ChoirError

_Op = dist.ReduceOp
_OPS = [
    (_Op.SUM, "sum"), (_Op.AVG, "mean"), (_Op.PRODUCT, "prod"), (_Op.MIN, "min"), (_Op.MAX, "max"),
    (_Op.BAND, "band"), (_Op.BOR, "bor"), (_Op.BXOR, "bxor"),
]  # fmt: skip


def _op(what: Any) -> str:
    for theirs, ours in _OPS:
        if what == theirs:
            return ours
    raise RuntimeError(f"the backend choir has no reduction {what}")


def _option(opts: Any, name: str, default: Any) -> Any:
    return getattr(opts, name, default) if opts is not None else default


def _reduction(opts: Any, *tensors: torch.Tensor) -> str:
    """The operator; a complex tensor is reduced as pairs of reals, which is right for sums alone."""
    op = _op(_option(opts, "reduceOp", _Op.SUM))
    if op not in ("sum", "mean") and any(one.is_complex() for one in tensors):
        raise RuntimeError(f"the backend choir has no reduction {op.upper()} of complex tensors: SUM and AVG alone")
    return op


def _same(have: int, need: int, what: str) -> None:
    if have != need:
        raise RuntimeError(f"{what}: {counted(have, 'element')}, the call needs {need}")


class Work(_Work):
    """A work whose wait raises the error of its future; torch's own wrapper of a future swallows it."""

    def __init__(self, future: torch.futures.Future) -> None:
        super().__init__()
        self._future = future

    def wait(self, timeout: timedelta | None = None) -> bool:
        """At most that long, if it is positive: a work that takes longer goes on."""
        if timeout is not None and timeout > timedelta(0):
            ended = threading.Event()
            self._future.add_done_callback(lambda _: ended.set())
            if not ended.wait(timeout.total_seconds()):
                raise RuntimeError(f"the work is not complete after {timeout.total_seconds():g} s; it goes on")
        self._future.wait()
        return True

    def synchronize(self) -> None:
        self.wait()

    def get_future(self) -> torch.futures.Future:
        return self._future

    def is_completed(self) -> bool:
        return self._future.done()

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> Exception | None:
        try:
            self._future.wait()
        except Exception as error:  # noqa: BLE001
            return error
        return None

    def result(self) -> Any:
        return self._future.value()


def _as_work(future: torch.futures.Future) -> Any:
    """C++ of torch 1 (DDP) crashes on a work that is Python's, and reads errors from the future itself."""
    if int(torch.__version__.partition(".")[0]) >= 2:
        return Work(future)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    by_python = frame is not None and frame.f_globals.get("__name__") == "torch.distributed.distributed_c10d"
    return Work(future) if by_python else _create_work_from_future(future)


_turns = itertools.count()
_MEMBER = struct.Struct("<qq")


def _default_comm() -> Comm | None:
    """That of torch's default group, if it is choir's and of use."""
    if not dist.is_initialized():
        return None
    comm = getattr(dist.distributed_c10d._get_default_group(), "comm", None)
    if not isinstance(comm, Comm) or not comm._handle:
        return None
    with suppress(ChoirError):
        comm.check()
        return comm
    return None


def _comm_of(store: Any, rank: int, size: int, deadline: float) -> Comm:
    """Made of the default group's comm, since MPI can be started once in a process; of the first group by the store."""
    parent = _default_comm()
    if dist.is_initialized():
        mine = _MEMBER.pack(parent.rank if parent is not None else -1, next(_turns))
        with StoreMeeting(store, rank, size, "choir/members", deadline) as meeting:
            found = list(_MEMBER.iter_unpack(meeting.gather(mine)))
        ranks = [one for one, _ in found]
        if parent is not None and min(ranks) >= 0:
            name = "torch {}.{}".format(*found[0])  # the first member gives each name once
            return parent.create_group(name, ranks, deadline=deadline)
    return from_store(store, rank, size, prefix="choir", deadline=deadline, name="torch")


def _chained(before: torch.futures.Future, event: Event, result: Any, after: Callable[[], Any] | None) -> Any:
    """A future behind ``before``: the event's error, what ``after`` returns, or the result: Note [errors]."""

    def finish(_: torch.futures.Future) -> Any:
        error = event.exception()
        if error is not None:
            raise error
        given = after() if after is not None else None
        return result if given is None else given

    return before.then(finish)


def _close_aside(comm: Comm) -> None:
    """Closes the comm on a thread of its own: who names the group last may be a thread of the library, inside which no
    comm is closed."""

    def close() -> None:
        with suppress(ChoirError):
            comm.close()

    if comm in live:  # it is neither closed yet nor that of the process before fork
        with suppress(RuntimeError):  # the interpreter ends, and closes all comms itself
            threading.Thread(target=close, name="choir closes").start()


class ProcessGroupChoir(dist.ProcessGroup):
    """A torch.distributed process group over a choir comm."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._comm = _comm_of(store, rank, size, timeout.total_seconds())
        # torch destroys a group by naming it no more.
        weakref.finalize(self, _close_aside, self._comm).atexit = False

    @property
    def comm(self) -> Comm:
        """The comm below, which is closed when the group is destroyed and nobody names it any more."""
        return self._comm

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        return "choir"

    # torch 2 reads these of a group's backends; this group is its only one.

    supports_coalescing = supports_splitting = False

    def _get_backend(self, device: Any) -> ProcessGroupChoir:
        return self

    def _set_group_name(self, name: str) -> None:
        super()._set_group_name(name)
        self._name = name

    @property
    def group_name(self) -> str:
        return self._name

    def shutdown(self) -> None:
        """torch 2 says this of a group that is destroyed, and names it no more: its comm is closed behind its calls."""

    def abort(self) -> None:
        self._comm.abort()

    def _work(self, event: Event, result: Any, after: Callable[[], Any] | None = None) -> Any:
        """A work that ends with the event, which keeps the group, and so its comm, until then."""
        ended: torch.futures.Future = torch.futures.Future()
        future = _chained(ended, event, result, after)

        def done(_: Event, group: ProcessGroupChoir = self) -> None:
            ended.set_result(None)

        event.add_done_callback(done)
        return _as_work(future)

    # ---- reductions ----

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        (tensor,) = listed(tensors)
        op = _reduction(opts, tensor)
        if tensor.is_sparse:
            return self._allreduce_sparse(tensor, op)
        operands = Operands()
        return self._work(self._comm.allreduce(operands.take(tensor), op=op, wait=False), [tensor], operands.store)

    def _allreduce_sparse(self, tensor: torch.Tensor, op: str) -> Any:
        indices, values = tensor._indices(), tensor._values().detach().contiguous()
        shape = tensor.shape[: tensor.sparse_dim()]
        flat = flatten(indices, shape)

        def make(count: int, dtype: str) -> torch.Tensor:
            return torch.empty(count, dtype=getattr(torch, dtype))

        event: SparseEvent = self._comm.sparse_allreduce(flat, values, op=op, make=make, wait=False)

        def store() -> list:
            found, rows = event._outcome()
            rows = rows.reshape(found.numel(), *values.shape[1:])
            result = torch.sparse_coo_tensor(unflatten(found, shape), rows, tensor.shape)
            with torch.no_grad():  # detach() would leave the caller's indices as they were
                tensor.copy_(result._coalesced_(True))
            return [tensor]

        return self._work(event, None, store)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        given, operands = listed(tensors), Operands()
        taken = [operands.take(one) for one in given]
        event = self._comm.allreduce_multi(taken, op=_reduction(opts, *given), wait=False)
        return self._work(event, given, operands.store)

    def reduce(self, tensors: Any, opts: Any = None) -> Any:
        (tensor,) = listed(tensors)
        operands = Operands()
        op, root = _reduction(opts, tensor), _option(opts, "rootRank", 0)
        event = self._comm.reduce(operands.take(tensor), op=op, root=root, wait=False)
        return self._work(event, [tensor], operands.store)

    def _one_for_each(self, parts: Any, call: str, noun: str) -> None:
        if len(parts) != self._comm.size:
            ranks = counted(self._comm.size, "rank")
            raise RuntimeError(f"{call} {counted(len(parts), noun)} on {ranks}, not one for each")

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        (output,), (parts,) = listed(outputs), inputs
        self._one_for_each(parts, "reduce_scatter of", "tensor")
        for rank, part in enumerate(parts):
            _same(part.numel(), output.numel(), f"reduce_scatter's tensor {rank}")
        whole = torch.cat([one.detach().reshape(-1) for one in parts])
        return self._reduce_scatter_base(output, whole, opts)

    def _reduce_scatter_base(self, output: torch.Tensor, whole: torch.Tensor, opts: Any = None) -> Any:
        operands = Operands()
        op = _reduction(opts, output, whole)
        _same(whole.numel(), self._comm.size * output.numel(), "reduce_scatter's input")
        event = self._comm.reduce_scatter(operands.take(whole, False), operands.take(output), op=op, wait=False)
        return self._work(event, [output], operands.store)

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """_reduce_scatter_base of each of a list, as one call; torch 2's _coalescing_manager makes it."""
        operands, given = Operands(), listed(inputs)
        op = _reduction(opts, *given, *outputs)
        _same(len(outputs), len(given), "the outputs of a coalesced reduce_scatter")
        for number, (whole, output) in enumerate(zip(given, outputs)):
            _same(whole.numel(), self._comm.size * output.numel(), f"reduce_scatter's input {number}")
        pairs = [(operands.take(whole, False), operands.take(output)) for whole, output in zip(given, outputs)]
        return self._work(self._comm.reduce_scatter_multi(pairs, op=op, wait=False), outputs, operands.store)

    # ---- data that moves ----

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        (tensor,) = listed(tensors)
        operands = Operands()
        event = self._comm.broadcast(operands.take(tensor), root=_option(opts, "rootRank", 0), wait=False)
        return self._work(event, [tensor], operands.store)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        (parts,), (tensor,) = outputs, listed(inputs)
        self._one_for_each(parts, "allgather into", "tensor")
        for rank, part in enumerate(parts):
            _same(part.numel(), tensor.numel(), f"allgather's tensor {rank}")
        mine = Operands().take(tensor, False)
        whole = torch.empty((len(parts), *mine.shape), dtype=mine.dtype)
        event = self._comm.allgather(mine, whole, wait=False)
        return self._work(event, outputs, lambda: put(parts, whole))

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """The tensors of a list as one call; outputs: a list of such tensors for each rank."""
        self._one_for_each(outputs, "allgather into", "list")
        mine = [Operands().take(one, False) for one in listed(inputs)]
        wholes = [torch.empty((self._comm.size, *one.shape), dtype=one.dtype) for one in mine]

        def store() -> None:
            for rank, parts in enumerate(outputs):
                put(parts, [whole[rank] for whole in wholes])

        return self._work(self._comm.allgather_multi(list(zip(mine, wholes)), wait=False), outputs, store)

    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        operands = Operands()
        event = self._comm.allgather(operands.take(tensor, False), operands.take(output), wait=False)
        return self._work(event, [output], operands.store)

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """_allgather_base of each of a list, as one call; torch 2's _coalescing_manager makes it."""
        operands, given = Operands(), listed(inputs)
        _same(len(outputs), len(given), "the outputs of a coalesced allgather")
        pairs = [(operands.take(one, False), operands.take(output)) for one, output in zip(given, outputs)]
        return self._work(self._comm.allgather_multi(pairs, wait=False), outputs, operands.store)

    def alltoall_base(self, output: torch.Tensor, tensor: torch.Tensor, output_sizes: Any, input_sizes: Any,
                      opts: Any = None) -> Any:  # fmt: skip
        operands = Operands()
        send, recv = operands.take(tensor, False), operands.take(output)
        sends = elements(input_sizes, send, self._comm.size)
        recvs = elements(output_sizes, recv, self._comm.size)
        if not output_sizes and not input_sizes:
            return self._work(self._comm.alltoall(send, recv, wait=False), [output], operands.store)
        return self._work(self._comm.alltoallv(send, sends, recv, recvs, wait=False), [output], operands.store)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        send, recvs = joined(inputs, outputs[0]), lengths(outputs)
        recv = torch.empty(sum(recvs), dtype=send.dtype)
        event = self._comm.alltoallv(send, lengths(inputs), recv, recvs, wait=False)
        return self._work(event, outputs, lambda: put(outputs, recv.split(recvs)))

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """The root's block of an alltoallv in which the others receive nothing."""
        (tensor,), root = listed(inputs), _option(opts, "rootRank", 0)
        send = Operands().take(tensor, False)
        parts = outputs[0] if self._comm.rank == root else []
        recvs = lengths(parts) or [0] * self._comm.size
        recv = torch.empty(sum(recvs), dtype=send.dtype)
        sends = [send.numel() if rank == root else 0 for rank in range(self._comm.size)]
        event = self._comm.alltoallv(send, sends, recv, recvs, wait=False)
        return self._work(event, outputs, lambda: put(parts, recv.split(recvs)))

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """The root sends, the others send nothing."""
        (output,), root = listed(outputs), _option(opts, "rootRank", 0)
        operands = Operands()
        parts = inputs[0] if self._comm.rank == root else []
        send, recv = joined(parts, output), operands.take(output)
        sends = lengths(parts) or [0] * self._comm.size
        recvs = [recv.numel() if rank == root else 0 for rank in range(self._comm.size)]
        event = self._comm.alltoallv(send, sends, recv, recvs, wait=False)
        return self._work(event, [output], operands.store)

    def barrier(self, opts: Any = None) -> Any:
        return self._work(self._comm.barrier(wait=False), [])

    def send(self, tensors: Any, dest: int, tag: int = 0) -> Any:
        (tensor,) = listed(tensors)
        return self._work(self._comm.send(bytes_of(tensor), dest, tag=tag, wait=False), [tensor])

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Any:
        (tensor,) = listed(tensors)
        operands = Operands()
        data = bytes_of(operands.take(tensor))
        return self._work(self._comm.recv(data, source, tag=tag, wait=False), [tensor], operands.store)

    # Newer names of the same calls.
    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        return self._allgather_base(output, tensor, opts)

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        return self._reduce_scatter_base(output, tensor, opts)


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> ProcessGroupChoir:
    return ProcessGroupChoir(store, rank, size, timeout)


def register() -> None:
    """Registers the backend; torch calls it by its entry point where it reads those."""
    if not hasattr(dist.Backend, "CHOIR"):
        try:
            dist.Backend.register_backend("choir", _create, devices=["cpu"])
        except TypeError:  # torch 1
            dist.Backend.register_backend("choir", _create)


register()
