# SPDX-License-Identifier: MIT
"""Top-k gradients with error feedback: docs/topk.md of the project has the algorithms."""

from __future__ import annotations

import ctypes as ct
from typing import Any, Iterable, Sequence

from ._abi import DType, TopkConfig, TopkOut, TopkStats, TopkThreshold, members
from ._arrays import dtype_of, operand
from ._comm import Comm, _at_least, _call, _op, _tensors
from ._event import Event
from ._library import check, check_made, lib
from ._numbers import size
from ._request import Request, result_of
from .errors import ArgumentError


class TopKEvent(Event):
    """A top-k allreduce that was started; ``wait`` returns the pairs of the result, if they were asked for."""

    __slots__ = ("_pairs", "_counts")

    def __init__(self, held: Any, pairs: Any, counts: Any) -> None:
        super().__init__(held)
        self._pairs = pairs
        self._counts = counts

    def _outcome(self) -> Any:
        super()._outcome()
        if self._pairs is None:
            return None
        indices, values = self._pairs
        n = self._counts.value
        if type(indices).__module__ == type(values).__module__ == "numpy":
            return indices[:n], values[:n]
        return indices, values, n

    def stats(self) -> dict[str, Any]:
        """What the call did: algorithm, k, selected, pairs, thresholds, bytes.  The event must be complete."""
        out = TopkStats(struct_size=ct.sizeof(TopkStats))
        check(lib.choir_event_topk_stats(self._cell, ct.byref(out)))
        return members(out)


class TopK:
    """The residual of one tensor on one rank, and the calls that reduce its gradients.  A context manager.

        with choir.TopK(comm, gradient.size, density=0.01) as state:
            state.allreduce(gradient)          # in place: the mean of what was sent, zero elsewhere

    All ranks create their states alike, and call them in the same order.  algorithm: "oktopk" (the default), "topka",
    "gtopk", "spardl", "dense" and the others of docs/topk.md.  ``density`` or ``k`` of the entries are kept; or
    ``densities``, a new one every ``calls_per_density`` calls.  threshold: how entries are selected: "auto" (as the
    algorithm does), "exact", "reuse" (with a period, a band of k and a factor), "gaussian", "sampled".
    wire_dtype: "float16" or choir.DType.BF16: how values travel; what rounding loses stays in the residual.
    """

    def __init__(self, comm: Comm, count: int, dtype: Any = "float32", algorithm: str | None = None,
                 density: float = 0.0, k: int = 0, densities: Sequence[float] = (), calls_per_density: int = 0,
                 dense_calls: int = 0, preset: str | None = None, decay: float = 1.0, scale: float = 1.0,
                 momentum: float = 0.0, op: Any = "mean", nan_fails: bool = False,
                 threshold: str = "auto", threshold_period: int = 0, threshold_band: Sequence[float] = (0.0, 0.0),
                 threshold_factor: float = 0.0, wire_dtype: Any = None, sends_in_flight: int = 0) -> None:  # fmt: skip
        self._handle = 0
        self.count = count
        self.dtype = dtype_of(dtype)
        self._comm = comm
        low, high = threshold_band
        given = (ct.c_double * len(densities))(*densities)
        config = TopkConfig(
            struct_size=ct.sizeof(TopkConfig), count=size("count", count), dtype=int(self.dtype), density=density,
            k=size("k", k), n_densities=len(densities), densities=given,
            calls_per_density=size("calls_per_density", calls_per_density),
            dense_calls=size("dense_calls", dense_calls),
            decay=decay, scale=scale, momentum=momentum, op=_op(op, comm), nan_fails=int(nan_fails),
            threshold=_policy(threshold), threshold_period=size("threshold_period", threshold_period),
            threshold_low=low, threshold_high=high,
            threshold_factor=threshold_factor, wire_dtype=0 if wire_dtype is None else int(dtype_of(wire_dtype)),
            sends_in_flight=size("sends_in_flight", sends_in_flight),
        )  # fmt: skip
        config.algorithm = None if algorithm is None else algorithm.encode()
        config.preset = None if preset is None else preset.encode()
        made = ct.c_void_p()
        check_made(lib.choir_topk_create(comm._handle, ct.byref(config), ct.byref(made)), lib.choir_topk_destroy,
                   made.value)  # fmt: skip
        self._handle = made.value or 0

    def allreduce(self, gradient: Any, dense: Any = None, pairs: Any = None, involved: Any = None,
                  rank_pairs: Any = None, wait: bool = True, indices: Any = None, **call: Any) -> Any:  # fmt: skip
        """Collective.  The result goes to ``dense`` (left out, and without pairs: to the gradient, in place).

        pairs: (indices of int32 or int64, values): the result as pairs too, ascending; they are returned, cut to what
        came for NumPy, else with their number.  CapacityError on all ranks where one rank's are too short.
        rank_pairs: a NumPy array of uint64, one for each rank: the pairs come as the ranks sent them, not added, one
        rank's behind the other's; so many of each rank (topka, topk-opt, gaussiank, gaussiank-concat).
        involved: an array of uint32: a bit for each element, 1 where the result has this rank's entry.
        indices: the caller's own selection, int32 or int64 in any order, in place of the algorithm's; on all ranks.
        """
        a = operand(gradient)
        if a.count != self.count or a.dtype != self.dtype:
            raise ArgumentError(
                f"the gradient is {a.count} of {DType(a.dtype).name}, the state's {self.count} of {self.dtype.name}"
            )
        out, room, buffers = TopkOut(struct_size=ct.sizeof(TopkOut)), ct.c_size_t(0), [a.buffer]
        if dense is not None or pairs is None:
            b = a if dense is None else operand(dense)
            _writable(b, self.dtype, "dense")
            _at_least(b.count, self.count, "dense")
            out.dense = b.buffer
            buffers.append(b.buffer)
        if pairs is not None:
            ind, val = operand(pairs[0]), operand(pairs[1])
            _writable(ind, DType(ind.dtype), "pairs[0]")
            _writable(val, self.dtype, "pairs[1]")
            room.value = min(ind.count, val.count)
            out.ind, out.val, out.ind_dtype, out.pairs_p = ind.buffer, val.buffer, ind.dtype, ct.pointer(room)
            buffers += [ind.buffer, val.buffer]
        if involved is not None:
            bits = operand(involved)
            _writable(bits, DType.U32, "involved")
            _at_least(bits.count, (self.count + 31) // 32, "involved")
            out.involved = bits.buffer
            buffers.append(bits.buffer)
        if rank_pairs is not None:
            counts = operand(rank_pairs)
            _writable(counts, DType.U64, "rank_pairs")
            _at_least(counts.count, self._comm.size, "rank_pairs")
            out.rank_pairs_p = ct.cast(rank_pairs.ctypes.data, ct.POINTER(ct.c_size_t))
        block, kept = _call(**call) if call else (None, None)
        held = (gradient, dense, pairs, involved, rank_pairs, indices, room, kept, self, buffers)
        event = TopKEvent(held, pairs, room)
        if indices is None:
            check(lib.choir_topk_allreduce(self._handle, a.buffer, ct.byref(out), block, event._out))
        else:
            own = operand(indices)
            buffers.append(own.buffer)
            args = (self._handle, a.buffer, own.buffer, own.count, own.dtype, ct.byref(out))
            check(lib.choir_topk_allreduce_at(*args, block, event._out))
        return result_of(event, wait)

    def allreduce_multi(self, tensors: Iterable[Any], wait: bool = True, **call: Any) -> Any:
        """Collective.  The gradients of a list as one tensor, one behind the other; in place, or (gradient, dense)."""
        array, held = _tensors(tensors)
        args = (self._handle, array, len(array), None)
        return self._comm._go(lib.choir_topk_allreduce_multi, args, (array, held, self), wait, call)

    def allreduce_init(self, gradient: Any, dense: Any = None, **call: Any) -> Request:
        """A persistent allreduce: in place, or to ``dense``."""
        array, held = _tensors([gradient if dense is None else (gradient, dense)])
        if array[0].count != self.count or array[0].dtype != self.dtype:
            raise ArgumentError(f"the gradient is {array[0].count}, the state's {self.count} of {self.dtype.name}")
        out = TopkOut(struct_size=ct.sizeof(TopkOut), dense=array[0].recv)
        args = (self._handle, array[0].send, ct.byref(out))
        return self._comm._init(lib.choir_topk_allreduce_init, args, (held, self), call)

    def allreduce_multi_init(self, tensors: Iterable[Any], **call: Any) -> Request:
        """A persistent allreduce_multi."""
        array, held = _tensors(tensors)
        args = (self._handle, array, len(array), None)
        return self._comm._init(lib.choir_topk_allreduce_multi_init, args, (held, self), call)

    def residual(self) -> Any:
        """What was not sent yet: a NumPy array of float32 (float64 for float64)."""
        import numpy

        out = numpy.empty(self.count, "float64" if self.dtype == DType.F64 else "float32")
        check(lib.choir_topk_residual(self._handle, out.ctypes.data))
        return out

    def to_bytes(self) -> bytes:
        """The state, for a checkpoint."""
        size = ct.c_size_t(0)
        check(lib.choir_topk_export(self._handle, None, ct.byref(size)))
        data = ct.create_string_buffer(size.value)
        check(lib.choir_topk_export(self._handle, data, ct.byref(size)))
        return data.raw[: size.value]

    def from_bytes(self, data: bytes) -> None:
        """Into a state of the same shape: calls go on bit for bit.  All ranks must, or none."""
        check(lib.choir_topk_import(self._handle, data, len(data)))

    def reset(self) -> None:
        """As it was when it was made."""
        check(lib.choir_topk_reset(self._handle))

    def close(self) -> None:
        """Frees it; a call under way goes on."""
        handle, self._handle = self._handle, 0
        if handle:
            lib.choir_topk_destroy(handle)

    def __enter__(self) -> TopK:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _policy(name: str) -> int:
    try:
        return int(TopkThreshold[name.upper()])
    except KeyError:
        names = ", ".join(one.name.lower() for one in TopkThreshold)
        raise ArgumentError(f"threshold is {name!r}, which is none of {names}") from None


def _writable(what: Any, dtype: DType, name: str) -> None:
    if not what.writable:
        raise ArgumentError(f"{name} cannot be written")
    if what.dtype != dtype:
        raise ArgumentError(f"{name} is {DType(what.dtype).name}, not {dtype.name}")
