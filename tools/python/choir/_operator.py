# SPDX-License-Identifier: MIT
"""Reduction operators of the caller's own (<choir/op.h>)."""

from __future__ import annotations

import ctypes as ct
from typing import Any, Callable, Iterable
from weakref import WeakSet

from . import _abi
from ._abi import DType, OpConfig
from ._callback import Callback
from ._family import abort
from ._library import check, check_made, lib
from .errors import ArgumentError

_kinds = {"i": "int", "u": "uint", "f": "float"}

# Calls under way may still call these after ``close``.
_kept: list[Any] = []


def _numpy_dtype(dtype: int) -> Any:
    """Of a pair: NumPy's structure of a value and an index."""
    import numpy

    name = DType(dtype).name.lower()
    value = _kinds[name[0]] + name[1:].partition("_")[0] if name != "bool" else name
    return numpy.dtype([("value", value), ("index", "int32")] if "_" in name else value, align=True)


def _array(address: int, count: int, dtype: int) -> Any:
    import numpy

    kind = _numpy_dtype(dtype)
    return numpy.frombuffer((ct.c_char * (count * kind.itemsize)).from_address(address), kind)


def _forms(given: Any, what: str) -> tuple[Callable | None, str | None]:
    """The function and the text of a callable, a text, or a pair of both."""
    both = given if isinstance(given, tuple) else (given,)
    function = next((one for one in both if callable(one)), None)
    text = next((one for one in both if isinstance(one, str)), None)
    if given is not None and (len(both) > 2 or (function is not None) + (text is not None) != len(both)):
        raise ArgumentError(f"{what} is a callable, a text of OpenCL C, or a pair of both")
    return function, text


class Operator:
    """An operator for ``op=`` of reductions: ``fold(a, b)`` of NumPy arrays returns a op b, or a text of OpenCL C.

    ``fold``, ``raw(a)``, ``final(a, ranks)`` and ``identity()`` are callables that return arrays or numbers, texts such
    as "a + b", or pairs of both.  Types of 16 and 8 bit floats come as float32, pairs of a value and an index as
    structures with these fields.  An exception of one aborts the comms that use the operator, and the call that it
    works for raises it.  Every rank makes an operator of the same name, texts and set of callables.  Use it as a
    context manager, or call ``close``.
    """

    def __init__(self, name: str, fold: Any, *, raw: Any = None, final: Any = None, identity: Any = None,
                 source: str | None = None, commutative: bool = True,
                 dtypes: Iterable[DType] = ()) -> None:  # fmt: skip
        fold_fn, fold_text = _forms(fold, "fold")
        raw_fn, raw_text = _forms(raw, "raw")
        final_fn, final_text = _forms(final, "final")
        identity_fn, identity_text = _forms(identity, "identity")

        def folds(function: Callable) -> Callable:
            def fold(_: Any, acc: int, src: int, count: int, dtype: int) -> None:
                to = _array(acc, count, dtype)
                to[:] = function(to, _array(src, count, dtype))

            return fold

        def each(function: Callable) -> Callable:
            def change(_: Any, data: int, count: int, ranks: int, dtype: int) -> None:
                to = _array(data, count, dtype)
                to[:] = function(to, ranks)

            return change

        def called(form: Any, function: Callable) -> Any:
            return form(Callback(function, self._abort))

        self._comms: WeakSet[Any] = WeakSet()
        self._failures = 0
        config = OpConfig(ct.sizeof(OpConfig), name.encode(), commutative=int(commutative))
        if fold_fn is not None:
            config.fold = called(_abi.OP_FOLD_FN, folds(fold_fn))
        if raw_fn is not None:
            config.raw = called(_abi.OP_EACH_FN, each(lambda a, _, raw=raw_fn: raw(a)))
        if final_fn is not None:
            config.final = called(_abi.OP_EACH_FN, each(final_fn))
        if identity_fn is not None:
            config.identity = called(_abi.OP_EACH_FN, each(lambda *_, identity=identity_fn: identity()))
        texts = {"source": source, "fold_text": fold_text, "raw_text": raw_text, "final_text": final_text,
                 "identity_text": identity_text}  # fmt: skip
        for member, text in texts.items():
            if text is not None:
                setattr(config, member, text.encode())
        for dtype in dtypes:
            config.dtypes |= 1 << int(dtype)
        self._number: int | None = None
        number = ct.c_int32()
        status = lib.choir_op_create(ct.byref(config), ct.byref(number))
        check_made(status, lib.choir_op_destroy, number.value)
        _kept.append(config)
        self.name, self._number = name, number.value

    def _abort(self) -> None:
        """What was not folded is no rank's result."""
        self._failures += 1
        for comm in list(self._comms):
            abort(comm)

    def __int__(self) -> int:
        if self._number is None:
            raise ArgumentError(f"the operator {self.name} is closed")
        return self._number

    def close(self) -> None:
        """Later calls with it fail; calls under way go on.  Silent the second time."""
        number, self._number = self._number, None
        if number is not None:
            check(lib.choir_op_destroy(number))

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<choir.Operator {self.name}>"
