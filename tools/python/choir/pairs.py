# SPDX-License-Identifier: MIT
"""Pairs on one device, without a comm: an index and a row of values each.

    indices, values = choir.pairs.select_top(gradient, 1000)
    indices, rows = choir.pairs.coalesce_rows(indices, rows)

Every call takes arrays as the collectives do, and ``after``, ``deps``, ``deadline`` and ``name``.  ``device``: whose
memory the arrays are; left out, host memory alone.  ``out``: arrays for the result; left out, new ones of NumPy.  With
``wait=False`` a call returns an Event, whose ``wait`` returns what the call would have returned.
"""

from __future__ import annotations

import ctypes as ct
import math
from typing import Any, Callable

from ._abi import DTYPE_BYTES, DType, Status
from ._arrays import Operand, operand
from ._comm import _at_least, _call, _numpy_names, _op
from ._device import Device
from ._event import Event
from ._library import check, lib
from ._numbers import counted, size
from ._operator import Operator
from ._request import result_of
from .errors import ArgumentError, ChoirError, error_of

_host: Device | None = None


class PairsEvent(Event):
    """A call that was started; ``wait`` returns its result."""

    __slots__ = ("_result", "_finish", "_operator", "_failures", "_raised")

    def __init__(self, held: Any, finish: Callable[[], Any], op: Any) -> None:
        super().__init__(held)
        self._finish: Callable[[], Any] | None = finish
        self._result: Any = None
        self._operator = op if isinstance(op, Operator) else None
        self._failures = self._operator._failures if self._operator else 0
        self._raised: bool | None = None  # a function of the operator has, between start and end

    def _end(self) -> None:
        """The event is complete: what the operator's functions raise from now on is no failure of this call."""
        if self._raised is None:
            self._raised = self._operator is not None and self._operator._failures != self._failures

    def exception(self) -> ChoirError | None:
        """As of every event.  There is no comm that an operator's function that raised could abort."""
        error = super().exception()
        self._end()
        if error is None and self._raised:
            assert self._operator is not None
            return error_of(Status.ABORTED, f"a function of the operator {self._operator.name} raised")
        return error

    def _outcome(self) -> Any:
        if self._finish is not None:
            super()._outcome()
            self._result, self._finish = self._finish(), None
        return self._result


def _device(device: Any) -> Any:
    global _host
    if device is None:
        if _host is None:
            _host = Device.host()
        return _host
    return device if isinstance(device, Device) else Device.of_queue(device)


def _go(fn: Any, device: Any, args: tuple, held: Any, finish: Callable[[], Any], wait: bool, call: Any,
        op: Any = None) -> Any:  # fmt: skip
    block, kept = _call(**call) if call else (None, None)
    where = _device(device)
    event = PairsEvent((held, kept, where, args), finish, op)
    check(fn(where._handle, *args, block, event._out))
    if event._operator is not None:
        event.add_done_callback(lambda _: event._end())
    return result_of(event, wait)


def _index(what: Operand) -> Operand:
    if DType(what.dtype) not in (DType.I32, DType.I64):
        raise ArgumentError(f"indices are I32 or I64, these are {DType(what.dtype).name}")
    return what


def _written(array: Any, what: str) -> Operand:
    found = operand(array)
    if not found.writable:
        raise ArgumentError(f"{what} cannot be written")
    return found


def _same_dtype(a: Operand, b: Operand, what: str) -> None:
    if a.dtype != b.dtype:
        raise ArgumentError(f"{what}: {DType(a.dtype).name} and {DType(b.dtype).name}")


def _pairs(out: Any, count: int, index: str, values: Operand) -> tuple[Any, Any, Operand, Operand]:
    """Arrays of the result, new ones of NumPy unless given, and their operands."""
    if out is None:
        import numpy

        out = numpy.empty(count, index), numpy.empty(count, _numpy_names[DType(values.dtype)])
    ind, val = _index(_written(out[0], "out[0]")), _written(out[1], "out[1]")
    _same_dtype(values, val, "the values and out[1]")
    return out[0], out[1], ind, val


def select_top(values: Any, k: int, out: Any = None, index: str = "int64", device: Any = None, wait: bool = True,
               **call: Any) -> Any:  # fmt: skip
    """The k elements of largest magnitude: (indices, values), ascending by index; of equal ones the lowest indices."""
    a = operand(values)
    if size("k", k) > a.count:
        raise ArgumentError(f"k is {k}, the array has {counted(a.count, 'element')}")
    ind_array, val_array, ind, val = _pairs(out, k, index, a)
    _at_least(min(ind.count, val.count), k, "out")
    args = (a.buffer, a.count, a.dtype, k, ind.buffer, ind.dtype, val.buffer)
    result = ind_array, val_array
    return _go(lib.choir_select_top, device, args, (values, result), lambda: result, wait, call)


def select_above(values: Any, threshold: float, out: Any = None, room: int | None = None, index: str = "int64",
                 device: Any = None, wait: bool = True, **call: Any) -> Any:  # fmt: skip
    """The elements whose magnitude is at least ``threshold`` (>= 0): (indices, values), ascending by index.

    ``room``: the most pairs of new arrays; left out, as many as there are elements.  CapacityError where more are found
    than there is room for.  Arrays of NumPy are cut to what was found; of others ``wait`` returns (indices, values,
    number of pairs).
    """
    a = operand(values)
    ind_array, val_array, ind, val = _pairs(out, a.count if room is None else size("room", room), index, a)
    pairs = ct.c_size_t(min(ind.count, val.count))
    args = (a.buffer, a.count, a.dtype, threshold, ind.buffer, ind.dtype, val.buffer, ct.byref(pairs))
    finish = _cut(ind_array, val_array, pairs, 1)
    held = (values, ind_array, val_array, pairs)
    return _go(lib.choir_select_above, device, args, held, finish, wait, call)


def _cut(indices: Any, values: Any, pairs: Any, width: int) -> Callable[[], Any]:
    def finish() -> Any:
        n = pairs.value
        if type(indices).__module__ == type(values).__module__ == "numpy":
            return indices[:n], values[: n if values.ndim > 1 or width == 1 else n * width]
        return indices, values, n

    return finish


def _rows_of(table: Any, what: Operand, rows: int | None, name: str) -> tuple[int, int]:
    """Rows and width of a table."""
    shape = getattr(table, "shape", ())
    if rows is None:
        if not shape:
            raise ArgumentError(f"{name} does not tell its number of rows")
        rows = int(shape[0])
    if size("rows", rows) == 0 or what.count % rows:
        raise ArgumentError(f"{name} has {counted(what.count, 'element')}, not {counted(rows, 'row')}")
    return rows, what.count // rows


def gather_rows(indices: Any, table: Any, out: Any = None, rows: int | None = None, device: Any = None,
                wait: bool = True, **call: Any) -> Any:  # fmt: skip
    """Row i of the result = row indices[i] of the table.  ``rows``: of a table that has no shape."""
    ind, a = _index(operand(indices)), operand(table)
    n_rows, width = _rows_of(table, a, rows, "the table")
    if out is None:
        import numpy

        row = tuple(getattr(table, "shape", ()))[1:]
        if math.prod(row) != width:
            row = (width,)
        out = numpy.empty((ind.count, *row), _numpy_names[DType(a.dtype)])
    b = _written(out, "out")
    _same_dtype(a, b, "the table and out")
    _at_least(b.count, ind.count * width, "out")
    args = (ind.buffer, ind.count, ind.dtype, a.buffer, n_rows, width, a.dtype, b.buffer)
    return _go(lib.choir_gather_rows, device, args, (indices, table, out), lambda: out, wait, call)


def scatter_rows(indices: Any, values: Any, table: Any, rows: int | None = None, device: Any = None,
                 wait: bool = True, **call: Any) -> Any:  # fmt: skip
    """Row indices[i] of the table = row i of values; the other rows stay.  Returns the table."""
    ind, a, b = _index(operand(indices)), operand(values), _written(table, "the table")
    n_rows, width = _rows_of(table, b, rows, "the table")
    _same_dtype(a, b, "the values and the table")
    _at_least(a.count, ind.count * width, "values")
    args = (ind.buffer, ind.count, ind.dtype, a.buffer, b.buffer, n_rows, width, a.dtype)
    return _go(lib.choir_scatter_rows, device, args, (indices, values, table), lambda: table, wait, call)


def intersect(indices: Any, among: Any, out: Any = None, device: Any = None, wait: bool = True, **call: Any) -> Any:
    """A byte for each index: 1 where it is one of ``among``."""
    a, b = _index(operand(indices)), _index(operand(among))
    _same_dtype(a, b, "indices and among")
    if out is None:
        import numpy

        out = numpy.empty(a.count, "bool")
    found = _written(out, "out")
    if DTYPE_BYTES[DType(found.dtype)] != 1:
        raise ArgumentError(f"out has {DTYPE_BYTES[DType(found.dtype)]} bytes an element, and one is written")
    _at_least(found.count, a.count, "out")
    args = (a.buffer, a.count, b.buffer, b.count, a.dtype, found.buffer)
    return _go(lib.choir_intersect, device, args, (indices, among, out), lambda: out, wait, call)


def coalesce_rows(indices: Any, values: Any, op: Any = "sum", out: Any = None, device: Any = None, wait: bool = True,
                  **call: Any) -> Any:  # fmt: skip
    """Pairs in any order to ascending distinct indices: (indices, rows), rows of one index reduced by op in order.

    The result is cut as that of ``select_above``.
    """
    a, b = _index(operand(indices)), operand(values)
    if a.count and b.count % a.count:
        raise ArgumentError(f"values has {counted(b.count, 'element')}, not {counted(a.count, 'row')}")
    width = b.count // a.count if a.count else 1
    if out is None:
        import numpy

        shape = tuple(values.shape) if hasattr(values, "shape") else (b.count,)
        out = numpy.empty(a.count, _numpy_names[DType(a.dtype)]), numpy.empty(shape, _numpy_names[DType(b.dtype)])
    to_ind, to_val = _index(_written(out[0], "out[0]")), _written(out[1], "out[1]")
    _same_dtype(a, to_ind, "indices and out[0]")
    _same_dtype(b, to_val, "the values and out[1]")
    pairs = ct.c_size_t(min(to_ind.count, to_val.count // max(width, 1)))
    args = (a.buffer, a.count, b.buffer, b.count, a.dtype, b.dtype, _op(op), to_ind.buffer, to_val.buffer,
            ct.byref(pairs))  # fmt: skip
    finish = _cut(out[0], out[1], pairs, width)
    return _go(lib.choir_coalesce_rows, device, args, (indices, values, out, pairs), finish, wait, call, op)
