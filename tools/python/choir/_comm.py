# SPDX-License-Identifier: MIT
"""Comms: one rank's handle on an ordered group of ranks, and the collectives.

All ranks of a comm make the same calls in the same order.  A call takes arrays as they are (see ``_arrays``).  A
reduction's ``recv`` left out means in place.  By default a call blocks; with ``wait=False`` it returns an ``Event`` at
once, and its arrays belong to the collective until that is complete.

Every call takes these too:

after     OpenCL queues and events, and events of choir, or one of them: the collective starts when they are done (of a
          queue: what was enqueued there before the call)
deps      the same, but for bare numbers: those are cl_events here, and in after cl_command_queues
deadline  seconds, from the moment those are done; left out, the comm's
options   for instance "algorithm=ring"
name      of the call, for messages
key       on a keyed comm: the calls of all ranks with the same key are one, in any order
"""

from __future__ import annotations

import atexit
import ctypes as ct
import functools
import json
import math
import threading
from typing import Any, Callable, Iterable, Sequence

from ._abi import DTYPE_BYTES, Call, Coalesce, DType, Op, SparseAttr, SparseWire, Status, Tensor
from ._arrays import NONE, Operand, address_of, dtype_of, operand
from ._callback import pending, raise_pending
from ._device import Device
from ._event import Event, SparseEvent, any_running, handles, sweep
from ._library import check, check_made, failure_of, lib, take_text
from ._family import Family, abort, live as _live, take
from ._numbers import INT64, array as _array, counted, milliseconds, number, size
from ._operator import Operator
from ._persistent import Persistent
from ._request import REQUEST, Request, SparseRequest, group_now as _group, result_of
from .errors import ArgumentError, ChoirError

_byref = ct.byref
_ops: dict[Any, int] = {one: int(one) for one in Op}
_ops.update({one.name.lower(): int(one) for one in Op})


def _op(what: Op | Operator | str, *comms: Comm) -> int:
    """The number of an operator, and the comms that use it."""
    if isinstance(what, Operator):
        what._comms.update(comms)
        for comm in comms:
            comm._folds = True
        return int(what)
    try:
        return _ops[what]
    except (KeyError, TypeError):
        raise ArgumentError(f"{what!r} is no operator: {', '.join(one.name.lower() for one in Op)}") from None


def _is_many(what: Any) -> bool:
    return isinstance(what, (list, tuple, set, frozenset))


def _sort_deps(after: Any, deps: Any) -> tuple[list[int], list[int], list[Event]]:
    """OpenCL queues, OpenCL events, events of choir."""
    queues: list[int] = []
    cl_events: list[int] = []
    events: list[Event] = []
    for given, number_is in ((after, queues), (deps, cl_events)):
        for one in given if _is_many(given) else () if given is None else (given,):
            kind = type(one).__name__.lower()
            if isinstance(one, Event):
                events.append(one)
            elif isinstance(one, int):
                number_is.append(one)
            elif "queue" in kind:
                queues.append(address_of(one))
            elif "event" in kind:
                cl_events.append(address_of(one))
            else:
                raise ArgumentError(f"a {type(one).__name__} is neither an OpenCL queue or event nor an event of choir")
    return queues, cl_events, events


def _call(after: Any = None, deps: Any = None, deadline: float | None = None, options: str | None = None,
          name: str | None = None, factor: float = 1.0, tag: int = 0,
          key: str | None = None) -> tuple[Call, Any]:  # fmt: skip
    """A choir_call, and what must live as long as it."""
    call = Call(struct_size=ct.sizeof(Call), factor=factor, tag=tag and number("tag", tag, INT64))
    held: list[Any] = []
    if after is not None or deps is not None:
        queues, cl_events, events = _sort_deps(after, deps)
        if len(queues) > 1:
            raise ArgumentError("a call starts after one OpenCL queue at most; give events of the others")
        call.after = queues[0] if queues else None
        if cl_events:
            array = (ct.c_void_p * len(cl_events))(*cl_events)
            call.cl_deps, call.n_cl_deps = array, len(cl_events)
            held.append(array)
        if events:
            array = handles(events)
            call.deps, call.n_deps = array, len(events)
            held.append((array, events))
    if deadline is not None:
        call.deadline_ms = milliseconds("deadline", deadline)
    call.options = options.encode() if options is not None else None
    call.name = name.encode() if name is not None else None
    call.key = key.encode() if key is not None else None
    return call, held


def _pair(send: Any, recv: Any, written: bool = True) -> tuple[Operand, Operand]:
    """written: this rank's recv is."""
    a = operand(send)
    b = a if recv is None or recv is send else operand(recv)
    if written and not b.writable:
        raise ArgumentError("the receive array cannot be written")
    if a.dtype != b.dtype:
        raise ArgumentError(f"send is {DType(a.dtype).name}, recv is {DType(b.dtype).name}")
    return a, b


def _writable(array: Any, dtype: int, what: str) -> Operand:
    found = operand(array)
    if not found.writable:
        raise ArgumentError(f"{what} cannot be written")
    if found.dtype != dtype:
        raise ArgumentError(f"{what} is {DType(found.dtype).name}, not {DType(dtype).name}")
    return found


def _place(memory: Any) -> tuple[int, int]:
    """Where it begins, and its bytes."""
    found = operand(memory)
    return found.buffer.base + found.buffer.offset_bytes, found.count * DTYPE_BYTES[DType(found.dtype)]


def _at_least(have: int, need: int, what: str) -> None:
    if have < need:
        raise ArgumentError(f"{what} has {counted(have, 'element')}, the call needs {need}")


def _sizes(numbers: Sequence[int] | None, n: int, what: str) -> Any:
    if numbers is None:
        return None
    if len(numbers) != n:
        raise ArgumentError(f"{what} has {counted(len(numbers), 'number')}, the comm {counted(n, 'rank')}")
    return _array(what, numbers, ct.c_size_t)


class Comm(Family, Persistent):
    """One rank's handle on a group of ranks.  Made by the functions of this package, never by itself.

    As a context manager it is destroyed at the end of the block, or, when the block raises, aborted: the other ranks
    then get an error instead of waiting.
    """

    def __init__(self, handle: int, held: Any = None) -> None:
        self._handle = handle
        self._kept = held
        self._folds = False  # has used an operator of the caller's
        self._network_of = ""  # who calls the library with this comm by itself, until a block's end
        self.rank: int = lib.choir_comm_rank(handle)
        self.size: int = lib.choir_comm_size(handle)
        _live.add(self)

    # ---- reductions ----

    def allreduce(
        self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", wait: bool = True, **call: Any
    ) -> Any:
        """recv = op over all ranks of send.  ``factor`` is this rank's, for the operator premul_sum."""
        a, b = _pair(send, recv)
        if b is not a:
            _at_least(b.count, a.count, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype, _op(op, self))
        return self._go(lib.choir_allreduce, args, (send, recv), wait, call)

    def allreduce_multi(
        self, tensors: Iterable[Any], op: Op | Operator | str = "sum", wait: bool = True, **call: Any
    ) -> Any:
        """An allreduce of each array of a list, of any data types, as one call.  (send, recv) stands for an array."""
        array, held = _tensors(tensors)
        return self._go(
            lib.choir_allreduce_multi, (self._handle, array, len(array), _op(op, self)), (array, held), wait, call
        )

    def reduce_scatter_multi(
        self, tensors: Iterable[Any], op: Op | Operator | str = "sum", wait: bool = True, **call: Any
    ) -> Any:
        """A reduce_scatter of each (send, recv) of a list, of any data types, as one call."""
        array, held = _tensors(tensors, sends=self.size)
        args = (self._handle, array, len(array), _op(op, self))
        return self._go(lib.choir_reduce_scatter_multi, args, (array, held), wait, call)

    def allgather_multi(self, tensors: Iterable[Any], wait: bool = True, **call: Any) -> Any:
        """An allgather of each (send, recv) of a list, of any data types, as one call."""
        array, held = _tensors(tensors, recvs=self.size)
        return self._go(lib.choir_allgather_multi, (self._handle, array, len(array)), (array, held), wait, call)

    def broadcast_multi(self, tensors: Iterable[Any], root: int = 0, wait: bool = True, **call: Any) -> Any:
        """A broadcast of each array of a list, of any data types, as one call.  (send, recv) stands for an array."""
        array, held = _tensors(tensors, written=lambda recv: recv is not None or self.rank != root)
        args = (self._handle, array, len(array), number("root", root))
        return self._go(lib.choir_broadcast_multi, args, (array, held), wait, call)

    def reduce_multi(self, tensors: Iterable[Any], op: Op | Operator | str = "sum", root: int = 0, wait: bool = True,
                     **call: Any) -> Any:  # fmt: skip
        """A reduce of each array of a list, of any data types, as one call.  (send, recv) stands for an array."""
        array, held = _tensors(tensors, written=lambda _: self.rank == root)
        args = (self._handle, array, len(array), _op(op, self), number("root", root))
        return self._go(lib.choir_reduce_multi, args, (array, held), wait, call)

    def reduce(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", root: int = 0, wait: bool = True,
               **call: Any) -> Any:  # fmt: skip
        """recv of the root = op over all ranks of send.  On the other ranks recv is not looked at."""
        a, b = _pair(send, recv if self.rank == root else None, self.rank == root)
        _at_least(b.count, a.count, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype, _op(op, self), number("root", root))
        return self._go(lib.choir_reduce, args, (send, recv), wait, call)

    def reduce_scatter(
        self, send: Any, recv: Any, op: Op | Operator | str = "sum", wait: bool = True, **call: Any
    ) -> Any:
        """recv = this rank's block of the reduction; send holds a block for each rank."""
        a, b = _pair(send, recv)
        _at_least(a.count, b.count * self.size, "send")
        args = (self._handle, a.buffer, b.buffer, b.count, a.dtype, _op(op, self))
        return self._go(lib.choir_reduce_scatter, args, (send, recv), wait, call)

    def reduce_scatterv(
        self, send: Any, recv: Any, counts: Sequence[int], op: Op | Operator | str = "sum", wait: bool = True,
        **call: Any,
    ) -> Any:  # fmt: skip
        """The same with blocks of counts[r] elements."""
        a, b = _pair(send, recv)
        sizes = _sizes(counts, self.size, "counts")
        _at_least(a.count, sum(counts), "send")
        _at_least(b.count, counts[self.rank], "recv")
        args = (self._handle, a.buffer, b.buffer, sizes, a.dtype, _op(op, self))
        return self._go(lib.choir_reduce_scatterv, args, (send, recv, sizes), wait, call)

    # ---- data that moves ----

    def allgather(self, send: Any, recv: Any, wait: bool = True, **call: Any) -> Any:
        """recv = the blocks of all ranks, one after another."""
        a, b = _pair(send, recv)
        _at_least(b.count, a.count * self.size, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype)
        return self._go(lib.choir_allgather, args, (send, recv), wait, call)

    def reduce_scatter_padded(self, send: Any, recv: Any, op: Op | str = "sum", wait: bool = True, **call: Any) -> Any:
        """recv = this rank's block of the reduction of send, of any length: ceil(length / size) elements, and zeros
        where it ends beyond send."""
        array, held = self._padded([(send, recv)], True)
        one = array[0]
        args = (self._handle, one.send, one.recv, one.count, one.dtype, _op(op, self))
        return self._go(lib.choir_reduce_scatter_padded, args, held, wait, call)

    def allgather_padded(self, send: Any, recv: Any, wait: bool = True, **call: Any) -> Any:
        """The inverse: recv, of any length, gets the blocks of all ranks without the padding."""
        array, held = self._padded([(send, recv)], False)
        one = array[0]
        args = (self._handle, one.send, one.recv, one.count, one.dtype)
        return self._go(lib.choir_allgather_padded, args, held, wait, call)

    def reduce_scatter_padded_multi(self, tensors: Iterable[Any], op: Op | str = "sum", wait: bool = True,
                                    **call: Any) -> Any:  # fmt: skip
        """A reduce_scatter_padded of each (send, recv) of a list, as one call."""
        array, held = self._padded(tensors, True)
        args = (self._handle, array, len(array), _op(op, self))
        return self._go(lib.choir_reduce_scatter_padded_multi, args, (array, held), wait, call)

    def allgather_padded_multi(self, tensors: Iterable[Any], wait: bool = True, **call: Any) -> Any:
        """An allgather_padded of each (send, recv) of a list, as one call."""
        array, held = self._padded(tensors, False)
        return self._go(lib.choir_allgather_padded_multi, (self._handle, array, len(array)), (array, held), wait, call)

    def _padded(self, tensors: Iterable[Any], scatters: bool) -> tuple[Any, Any]:
        pairs = list(tensors)
        buffers: list[Any] = []
        array = (Tensor * len(pairs))()
        for slot, (send, recv) in zip(array, pairs):
            a, b = _pair(send, recv)
            buffers.append((a.buffer, b.buffer))
            count = a.count if scatters else b.count
            shorter, name = (b, "recv") if scatters else (a, "send")
            _at_least(shorter.count, -(-count // self.size), name)
            slot.send, slot.recv, slot.count, slot.dtype = a.buffer, b.buffer, count, a.dtype
        return array, (pairs, buffers)

    def allgatherv(self, send: Any, recv: Any, counts: Sequence[int], displacements: Sequence[int] | None = None,
                   wait: bool = True, **call: Any) -> Any:  # fmt: skip
        """The same with counts[r] elements of rank r, at displacements[r] (left out: one after another)."""
        a, b = _pair(send, recv)
        sizes = _sizes(counts, self.size, "counts")
        places = _sizes(displacements, self.size, "displacements")
        _at_least(a.count, counts[self.rank], "send")
        _at_least(b.count, _end(counts, displacements), "recv")
        args = (self._handle, a.buffer, counts[self.rank], b.buffer, sizes, places, a.dtype)
        return self._go(lib.choir_allgatherv, args, (send, recv, sizes, places), wait, call)

    def alltoall(self, send: Any, recv: Any, wait: bool = True, **call: Any) -> Any:
        """Block p of send goes to rank p; block p of recv comes from rank p."""
        a, b = _pair(send, recv)
        _at_least(b.count, a.count, "recv")
        if a.count % self.size:
            raise ArgumentError(f"send has {counted(a.count, 'element')}, not {self.size} equal blocks")
        args = (self._handle, a.buffer, b.buffer, a.count // self.size, a.dtype)
        return self._go(lib.choir_alltoall, args, (send, recv), wait, call)

    def alltoallv(self, send: Any, send_counts: Sequence[int], recv: Any, recv_counts: Sequence[int],
                  send_displacements: Sequence[int] | None = None, recv_displacements: Sequence[int] | None = None,
                  wait: bool = True, **call: Any) -> Any:  # fmt: skip
        """The same with blocks of any lengths; what a rank receives must be what the other sends."""
        args, held = self._exchange(send, send_counts, recv, recv_counts, send_displacements, recv_displacements)
        return self._go(lib.choir_alltoallv, args, held, wait, call)

    def _exchange(self, send: Any, send_counts: Sequence[int], recv: Any, recv_counts: Sequence[int],
                  send_displacements: Sequence[int] | None,
                  recv_displacements: Sequence[int] | None) -> tuple[Any, Any]:  # fmt: skip
        a, b = _pair(send, recv)
        n = self.size
        sizes = (
            _sizes(send_counts, n, "send_counts"), _sizes(send_displacements, n, "send_displacements"),
            _sizes(recv_counts, n, "recv_counts"), _sizes(recv_displacements, n, "recv_displacements"),
        )  # fmt: skip
        _at_least(a.count, _end(send_counts, send_displacements), "send")
        _at_least(b.count, _end(recv_counts, recv_displacements), "recv")
        args = (self._handle, a.buffer, sizes[0], sizes[1], b.buffer, sizes[2], sizes[3], a.dtype)
        return args, (send, recv, sizes)

    def broadcast(self, array: Any, recv: Any = None, root: int = 0, wait: bool = True, **call: Any) -> Any:
        """The array of every rank = the root's.  With recv the root's array is sent from, and recv is filled."""
        a, b = _pair(array, recv, recv is not None or self.rank != root)
        _at_least(b.count, a.count, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype, number("root", root))
        return self._go(lib.choir_broadcast, args, (array, recv), wait, call)

    def gather(self, send: Any, recv: Any = None, root: int = 0, wait: bool = True, **call: Any) -> Any:
        """The root's recv = the blocks of all ranks, one after another.  Other ranks need no recv; the root may give
        None for send: its block stands in recv."""
        root = number("root", root)
        args, held = self._blocks(send, recv, self.rank == root, "recv")
        return self._go(lib.choir_gather, (self._handle, *args, root), held, wait, call)

    def scatter(self, send: Any, recv: Any = None, root: int = 0, wait: bool = True, **call: Any) -> Any:
        """recv = this rank's block of the root's send.  Other ranks give None for send; the root may leave out recv:
        its block stays in send."""
        root = number("root", root)
        args, held = self._blocks(recv, send, self.rank == root, "send")
        args = (args[1], args[0], *args[2:])
        return self._go(lib.choir_scatter, (self._handle, *args, root), held, wait, call)

    def gatherv(self, send: Any, recv: Any, counts: Sequence[int], displacements: Sequence[int] | None = None,
                root: int = 0, wait: bool = True, **call: Any) -> Any:  # fmt: skip
        """gather with counts[r] elements of rank r, at displacements[r] (left out: one after another)."""
        sizes = _sizes(counts, self.size, "counts")
        places = _sizes(displacements, self.size, "displacements")
        one, whole = self._one_and_whole(send, recv, counts, displacements, root, ("send", "recv"))
        args = (self._handle, one.buffer, counts[self.rank], whole.buffer, sizes, places, one.dtype,
                number("root", root))  # fmt: skip
        return self._go(lib.choir_gatherv, args, (send, recv, sizes, places), wait, call)

    def scatterv(self, send: Any, recv: Any, counts: Sequence[int], displacements: Sequence[int] | None = None,
                 root: int = 0, wait: bool = True, **call: Any) -> Any:  # fmt: skip
        """scatter with counts[r] elements for rank r, from displacements[r] (left out: one after another)."""
        sizes = _sizes(counts, self.size, "counts")
        places = _sizes(displacements, self.size, "displacements")
        one, whole = self._one_and_whole(recv, send, counts, displacements, root, ("recv", "send"))
        args = (self._handle, whole.buffer, sizes, places, one.buffer, counts[self.rank], one.dtype,
                number("root", root))  # fmt: skip
        return self._go(lib.choir_scatterv, args, (send, recv, sizes, places), wait, call)

    def scan(self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", wait: bool = True, **call: Any) -> Any:
        """recv = op over the arrays of the ranks up to this one, folded in rank order."""
        a, b = _pair(send, recv)
        _at_least(b.count, a.count, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype, _op(op, self))
        return self._go(lib.choir_scan, args, (send, recv), wait, call)

    def exscan(
        self, send: Any, recv: Any = None, op: Op | Operator | str = "sum", wait: bool = True, **call: Any
    ) -> Any:
        """recv = op over the arrays of the ranks before this one; rank 0's stays as it is."""
        a, b = _pair(send, recv)
        _at_least(b.count, a.count, "recv")
        args = (self._handle, a.buffer, b.buffer, a.count, a.dtype, _op(op, self))
        return self._go(lib.choir_exscan, args, (send, recv), wait, call)

    def predict(self, collective: str, count: int, dtype: Any = "float32", op: Op | str = "sum", root: int = 0,
                **call: Any) -> tuple[float, str]:  # fmt: skip
        """The seconds that the cost model gives for this call on this comm, and the algorithm that would run."""
        seconds, algorithm = ct.c_double(), ct.c_void_p()
        block, held = _call(**call) if call else (None, None)
        check(lib.choir_predict(self._handle, collective.encode(), size("count", count), int(dtype_of(dtype)),
                                _op(op, self), number("root", root),
                                ct.byref(block) if block is not None else None, ct.byref(seconds),
                                ct.byref(algorithm)))  # fmt: skip
        return seconds.value, ct.string_at(algorithm).decode()

    def barrier(self, wait: bool = True, **call: Any) -> Any:
        """Complete once every rank's has started."""
        return self._go(lib.choir_barrier, (self._handle,), None, wait, call)

    def send(self, array: Any, dest: int, wait: bool = True, **call: Any) -> Any:
        """To one rank; the k-th send of a pair with a tag (``tag=``, 0 if left out) meets its k-th recv with it."""
        a = operand(array)
        args = (self._handle, a.buffer, a.count, a.dtype, number("dest", dest))
        return self._go(lib.choir_send, args, array, wait, call)

    def recv(self, array: Any, source: int, wait: bool = True, **call: Any) -> Any:
        """From one rank, with a tag (``tag=``)."""
        a, _ = _pair(array, None)
        args = (self._handle, a.buffer, a.count, a.dtype, number("source", source))
        return self._go(lib.choir_recv, args, array, wait, call)

    def sendrecv(self, send: Any, dest: int, recv: Any, source: int, wait: bool = True, **call: Any) -> Any:
        """A send and a recv side by side."""
        a, b = _pair(send, recv)
        args = (self._handle, a.buffer, a.count, number("dest", dest), b.buffer, b.count,
                number("source", source), a.dtype)  # fmt: skip
        return self._go(lib.choir_sendrecv, args, (send, recv), wait, call)

    # ---- sparse ----

    def sparse_allreduce(self, indices: Any, values: Any, op: Op | Operator | str = "sum", coalesce: str = "regular",
                         wire: str = "full", make: Callable[[int, str], Any] | None = None, wait: bool = True,
                         **call: Any) -> Any:  # fmt: skip
        """The union of all ranks' indices, ascending, each with op over the rows that were sent for it.

        values holds a row for each index.  Returns (indices, values), or a SparseEvent whose ``wait`` does.  The arrays
        of the result are made by ``make(count, dtype)``, dtype being "int64", "float32" and so on; left out, they are
        NumPy arrays, of rows as wide as values'.
        """
        width = values.shape[1:] if hasattr(values, "shape") else ()
        counts, dtypes, args, kept = self._sparse(indices, values, None, None, op, coalesce, wire)
        block, held = _call(**call) if call else (None, None)
        maker = _numpy_result(width) if make is None else _made_by(make)
        event = SparseEvent((indices, values, kept, held, args), counts, dtypes, maker)
        check(lib.choir_sparse_allreduce(*args, block, event._out))
        return result_of(event, wait)

    def sparse_allreduce_init(self, indices: Any, values: Any, out_indices: Any, out_values: Any,
                              op: Op | Operator | str = "sum", coalesce: str = "regular", wire: str = "full",
                              **call: Any) -> SparseRequest:  # fmt: skip
        """A persistent sparse_allreduce into arrays of the caller's; a start returns how many of each came.

        CapacityError of a start where they are too short; the comm goes on.
        """
        counts, _, args, kept = self._sparse(indices, values, out_indices, out_values, op, coalesce, wire)
        block, held = _call(**call) if call else (None, None)
        made = ct.c_void_p()
        check_made(lib.choir_sparse_allreduce_init(*args, block, _byref(made)), lib.choir_request_free, made.value)
        held = (indices, values, out_indices, out_values, kept, held, args)
        return SparseRequest(made.value or 0, held, self, counts)

    def _sparse(self, indices: Any, values: Any, out_indices: Any, out_values: Any, op: Any, coalesce: str,
                wire: str) -> tuple[Any, tuple[DType, DType], tuple, Any]:  # fmt: skip
        """Counts, data types, the arguments, and what must live as long as they."""
        ind, val = operand(indices), operand(values)
        attr = SparseAttr(ct.sizeof(SparseAttr), None, None, None, Coalesce[coalesce.upper()], SparseWire[wire.upper()])
        to, counts = (NONE, NONE), (ct.c_size_t(0), ct.c_size_t(0))
        if out_indices is not None:
            a, b = _writable(out_indices, ind.dtype, "out_indices"), _writable(out_values, val.dtype, "out_values")
            to, counts = (a.buffer, b.buffer), (ct.c_size_t(a.count), ct.c_size_t(b.count))
        args = (
            self._handle, ind.buffer, ind.count, val.buffer, val.count, to[0], _byref(counts[0]), to[1],
            _byref(counts[1]), ind.dtype, val.dtype, _op(op, self), _byref(attr),
        )  # fmt: skip
        return counts, (DType(ind.dtype), DType(val.dtype)), args, (counts, attr)

    # ---- the comm itself ----

    def alloc(self, n_bytes: int) -> Any:
        """Symmetric memory: n_bytes of each rank, which the others of its machine reach without a copy.

        A ctypes array, for ``numpy.frombuffer(comm.alloc(4096), "float32")``.  Collective.  It is valid until the
        comm is closed.
        """
        pointer, n_bytes = ct.c_void_p(), size("n_bytes", n_bytes)
        check(lib.choir_mem_alloc(self._handle, n_bytes, _byref(pointer), None))
        return (ct.c_ubyte * n_bytes).from_address(pointer.value or 0)

    def free(self, memory: Any) -> None:
        """Frees what ``alloc`` gave, before the comm is closed.  Collective; nothing may use it any more."""
        check(lib.choir_mem_free(self._handle, ct.addressof(memory)))

    def register(self, memory: Any) -> None:
        """Makes an array symmetric memory: it lies in a shared mapping of a file, of /dev/shm for instance.

        Collective; the same size on all ranks.  The array must live until ``deregister``, or until the comm is closed.
        """
        check(lib.choir_mem_register(self._handle, *_place(memory)))

    def deregister(self, memory: Any) -> None:
        """Before the memory is unmapped.  Collective."""
        check(lib.choir_mem_deregister(self._handle, _place(memory)[0]))

    def supports(self, collective: str, dtype: Any = "float32", op: Op | Operator | str = "sum",
                 array: Any = None) -> bool:  # fmt: skip
        """Can a call of that name ("allreduce") be made with this data type and operator, on memory as the array's?"""
        buffer = NONE if array is None else operand(array).buffer
        status = lib.choir_supports(self._handle, collective.encode(), int(dtype_of(dtype)), _op(op, self), buffer)
        if status != Status.UNSUPPORTED:
            check(status)
        return status == Status.SUCCESS

    def flush(self) -> None:
        """Waits until all calls of this rank so far have ended and its messages have left; the comm goes on."""
        check(lib.choir_comm_flush(self._handle))

    def warm(self, dtype: DType | str, op: Op | str) -> None:
        """Builds the kernels of a reduction ahead of its first use."""
        check(lib.choir_comm_warm(self._handle, int(dtype_of(dtype)), _op(op, self)))

    def check(self) -> None:
        """Raises the failure that made the comm unusable, if there was one."""
        check(lib.choir_comm_status(self._handle))

    def describe(self) -> dict[str, Any]:
        """Ranks, nodes, transport, rules."""
        text = ct.c_void_p()
        check(lib.choir_comm_json(self._handle, _byref(text)))
        return json.loads(take_text(text))

    @property
    def nodes(self) -> int:
        """The number of nodes: groups of ranks that share memory."""
        return lib.choir_comm_nodes(self._handle)

    def node_of(self, rank: int) -> int:
        """The node of a rank, -1 if there is no such rank."""
        return lib.choir_comm_node(self._handle, number("rank", rank))

    def node_rank(self, rank: int) -> int:
        """The number of a rank among those of its node, -1 if there is no such rank."""
        return lib.choir_comm_node_rank(self._handle, number("rank", rank))

    def abort(self) -> None:
        """Fails what is in flight, on every rank, and returns at once."""
        check(lib.choir_comm_abort(self._handle))

    def close(self) -> None:
        """Waits for what is in flight, then destroys the comm.  Calls of other ranks that wait for this one fail."""
        if self._network_of:
            raise ArgumentError(f"the comm is the network of {self._network_of}: its block ends before the comm")
        if self._folds and self._handle:  # while the comm can be aborted by what a fold raises
            lib.choir_comm_flush(self._handle)
        handle = take(self)
        status = lib.choir_comm_destroy(handle) if handle else 0
        if status == Status.WOULD_DEADLOCK:  # inside a callback: it has changed nothing
            self._handle = handle
            check(status)
        _live.discard(self)
        sweep()
        check(status)

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        if kind is None:
            self.close()
            return
        abort(self)
        if self._network_of:  # destroyed when the interpreter exits
            return
        handle = take(self)
        if handle:
            lib.choir_comm_destroy(handle)
        self.close()

    def __repr__(self) -> str:
        state = "" if self._handle else ", closed"
        return f"<choir.Comm rank {self.rank} of {self.size}{state}>"

    def _blocks(self, one: Any, whole: Any, is_root: bool, name: str) -> tuple[tuple, Any]:
        """The arguments of a rooted call: the rank's own block, and the root's array of all of them, called `name`."""
        all_blocks = operand(whole) if is_root else None
        if one is None:
            if all_blocks is None:
                raise ArgumentError("the array of the rank's own block is missing")
            if name == "recv" and not all_blocks.writable:
                raise ArgumentError("the receive array cannot be written")
            if all_blocks.count % self.size:
                raise ArgumentError(f"{name} has {counted(all_blocks.count, 'element')}, not {self.size} equal blocks")
            return (NONE, all_blocks.buffer, all_blocks.count // self.size, all_blocks.dtype), whole
        mine = operand(one)
        if all_blocks is not None:
            _at_least(all_blocks.count, mine.count * self.size, name)
            if all_blocks.dtype != mine.dtype:
                raise ArgumentError(f"{name} is {DType(all_blocks.dtype).name}, not {DType(mine.dtype).name}")
        if not (mine if name == "send" else all_blocks or mine).writable and (name == "send" or is_root):
            raise ArgumentError("the receive array cannot be written")
        return (mine.buffer, all_blocks.buffer if all_blocks else NONE, mine.count, mine.dtype), (one, whole)

    def _one_and_whole(self, one: Any, whole: Any, counts: Sequence[int], displacements: Sequence[int] | None,
                       root: int, names: tuple[str, str]) -> tuple[Any, Any]:  # fmt: skip
        """The same with counts."""
        if self.rank != root:
            whole = one
        a, b = operand(one), operand(whole)
        _at_least(a.count, counts[self.rank], names[0])
        if self.rank == root:
            _at_least(b.count, _end(counts, displacements), names[1])
        if a.dtype != b.dtype:
            raise ArgumentError(f"{names[0]} is {DType(a.dtype).name}, {names[1]} is {DType(b.dtype).name}")
        if not (a if names[0] == "recv" else b).writable and (names[0] == "recv" or self.rank == root):
            raise ArgumentError("the receive array cannot be written")
        return a, b

    def _go(self, fn: Any, args: tuple, held: Any, wait: bool, options: dict[str, Any]) -> Any:
        """held: what must live as long as the call, beside the buffers in args."""
        if wait is REQUEST:
            return self._init(getattr(lib, fn.__name__ + "_init"), args, (held, args), options)
        block = None
        if options:
            block, kept = _call(**options)
            held = (held, kept)
        if wait:
            if _group.depth:
                _group.held.append((held, args))
            status = fn(*args, block, None)
            if status or pending:
                check(status)
            return None
        event = Event((held, args))
        check(fn(*args, block, _byref(event._cell)))
        return event

    def _init(self, fn: Any, args: tuple, held: Any, options: dict[str, Any]) -> Request:
        block, kept = _call(**options) if options else (None, None)
        made = ct.c_void_p()
        check_made(fn(*args, block, _byref(made)), lib.choir_request_free, made.value)
        return Request(made.value or 0, (held, kept), self)


def _end(counts: Sequence[int], displacements: Sequence[int] | None) -> int:
    if displacements is None:
        return sum(counts)
    return max((at + n for at, n in zip(displacements, counts) if n), default=0)


def _tensors(tensors: Iterable[Any], sends: int = 1, recvs: int = 1,
             written: Callable[[Any], bool] = lambda recv: True) -> tuple[Any, Any]:  # fmt: skip
    """A choir_tensor of each array; send and recv hold its count so many times.  written: is this recv?"""
    pairs = [one if isinstance(one, tuple) else (one, None) for one in tensors]
    buffers: list[Any] = []
    array = (Tensor * len(pairs))()
    for slot, (send, recv) in zip(array, pairs):
        a, b = _pair(send, recv, written(recv))
        buffers.append((a.buffer, b.buffer))
        count = b.count if sends > 1 else a.count
        _at_least(a.count, count * sends, "send")
        _at_least(b.count, count * recvs, "recv")
        slot.send, slot.recv, slot.count, slot.dtype = a.buffer, b.buffer, count, a.dtype
    return array, (pairs, buffers)


_numpy_names = {
    DType.I8: "int8", DType.U8: "uint8", DType.I16: "int16", DType.U16: "uint16", DType.I32: "int32",
    DType.U32: "uint32", DType.I64: "int64", DType.U64: "uint64", DType.F16: "float16", DType.BF16: "bfloat16",
    DType.F32: "float32", DType.F64: "float64", DType.BOOL: "bool",
    DType.F8E4M3: "float8_e4m3fn", DType.F8E5M2: "float8_e5m2",
}  # fmt: skip


def _made_by(make: Callable[[int, str], Any]) -> Any:
    def result(n_indices: int, n_values: int, dtypes: tuple[DType, DType]) -> Any:
        arrays = make(n_indices, _numpy_names[dtypes[0]]), make(n_values, _numpy_names[dtypes[1]])
        buffers = []
        for array, n, dtype, what in zip(arrays, (n_indices, n_values), dtypes, ("indices", "values")):
            found = _writable(array, dtype, f"make's array of {what}")
            _at_least(found.count, n, f"make's array of {what}")
            buffers.append(found.buffer)
        return arrays, buffers

    return result


def _numpy_result(width: tuple[int, ...]) -> Any:
    def result(n_indices: int, n_values: int, dtypes: tuple[DType, DType]) -> Any:
        import numpy

        name = _numpy_names[dtypes[1]]
        if name == "bfloat16" or name.startswith("float8"):
            import ml_dtypes  # noqa: F401  NumPy knows the type by it
        indices = numpy.empty(n_indices, _numpy_names[dtypes[0]])
        values = numpy.empty(n_values, name)
        buffers = operand(indices).buffer, operand(values).buffer
        told = n_indices * math.prod(width) == n_values  # else rows in an array that is flat, or has no shape
        return (indices, values.reshape((n_indices, *(width if told else (n_values // n_indices,))))), buffers

    return result


def _failure(event: Event) -> ChoirError | None:
    """Waits for the event."""
    try:
        event.wait()
    except ChoirError as error:
        return error
    return None


class group:  # noqa: N801 - reads as a statement
    """``with choir.group():`` the calls of this thread inside are made together at the end of the block.

    So one thread may drive several ranks, and sends may cross.  Blocking calls inside are waited for by the end; those
    that return what they made return their event.  An exception that leaves the block drops the calls, as if they had
    never been made.
    """

    def __enter__(self) -> group:
        check(lib.choir_group_begin())
        if _group.depth == 0:
            _group.held, _group.events = [], []
        _group.depth += 1
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        _group.depth -= 1
        dropped = kind is not None and _group.depth == 0
        status = lib.choir_group_cancel() if dropped else lib.choir_group_end()
        failure = failure_of(status)  # the waits below write over its sentence
        events: list[Event] = []
        if _group.depth == 0:
            events = _group.events
            _group.held, _group.events = [], []
        if kind is not None:
            return
        raise_pending()
        failures = [one for one in [failure, *map(_failure, events)] if one is not None]  # of all: none goes on
        if failures:
            raise failures[0]


def device_array(devices: Sequence[Device]) -> Any:
    """The devices as an array of the library's."""
    return (ct.c_void_p * len(devices))(*[one._handle for one in devices])


def _end_quietly(previous: Callable[[Any], Any], failure: Any) -> None:
    """A daemon thread's traceback that is printed while the interpreter ends can end the process by SIGABRT."""
    if not (failure.thread is not None and failure.thread.daemon and issubclass(failure.exc_type, ChoirError)):
        previous(failure)


@atexit.register
def _close_all() -> None:
    """No thread of the library may meet an interpreter that is gone: Note [callbacks] in _event.py."""
    threading.excepthook = functools.partial(_end_quietly, threading.excepthook)
    for comm in list(_live):
        if any_running():
            abort(comm)
    sweep()  # finds comms whose events were dropped
    while _live:
        for comm in list(_live):
            handle = take(comm)
            _live.discard(comm)
            if handle:
                lib.choir_comm_destroy(handle)
        sweep()
