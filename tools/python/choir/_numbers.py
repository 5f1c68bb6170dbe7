# SPDX-License-Identifier: MIT
"""Integers on their way to C: ctypes would keep the low bits of one that does not fit, and say nothing."""

from __future__ import annotations

import ctypes as ct
import operator
from typing import Any, Sequence


def _limits(kind: Any) -> tuple[int, int]:
    bits = 8 * ct.sizeof(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind(-1).value < 0 else (0, (1 << bits) - 1)


INT, INT64, SIZE = _limits(ct.c_int), _limits(ct.c_int64), _limits(ct.c_size_t)


def number(name: str, value: Any, limits: tuple[int, int] = INT) -> int:
    """The value as an int.  ArgumentError unless it is an integer within the limits."""
    if type(value) is int and limits[0] <= value <= limits[1]:
        return value
    try:
        found = operator.index(value)
        if limits[0] <= found <= limits[1]:
            return found
    except TypeError:
        pass
    from .errors import ArgumentError

    raise ArgumentError(f"{name} is {value!r}, it must be an integer from {limits[0]} to {limits[1]}")


def counted(n: int, noun: str) -> str:
    """The number and the regular noun: "1 rank", "2 ranks"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def size(name: str, value: Any) -> int:
    """A size_t: a count of elements or bytes."""
    return number(name, value, SIZE)


def array(name: str, values: Sequence[Any], kind: Any) -> Any:
    """An array of the C type, of integers that it holds."""
    try:
        made = (kind * len(values))(*values)
        if made[:] == list(values):
            return made
    except TypeError:
        pass
    return (kind * len(values))(*[number(f"{name}[{i}]", one, _limits(kind)) for i, one in enumerate(values)])


def milliseconds(name: str, seconds: Any) -> int:
    """Seconds as an int64 of milliseconds, at least one."""
    try:
        return number(name, max(1, int(seconds * 1000)), INT64)
    except (OverflowError, TypeError, ValueError):
        from .errors import ArgumentError

        raise ArgumentError(f"{name} is {seconds!r}, it must be a number of seconds") from None
