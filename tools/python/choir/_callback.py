# SPDX-License-Identifier: MIT
"""Functions that C calls, and what they raise.

Note [exceptions behind C].  ctypes prints what a function raises that C has called, and C goes on.  A signal's handler
may raise even before the function's first line, when the main thread enters Python again.  So a ``Callback`` catches
what its function raises, and ``sys.unraisablehook`` gets the rest.  The exception is kept for the thread, and the call
of choir that it is in raises it on its return (``check`` of _library.py).  A thread of the library has no such call:
there it is logged.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any, Callable
from weakref import WeakSet

#: threads, and what each is to raise
pending: list[tuple[int, BaseException]] = []

_all: WeakSet[Callback] = WeakSet()


def is_pending() -> bool:
    """A callback on this thread has raised, and nobody has raised it again yet."""
    me = threading.get_ident()
    return any(one[0] == me for one in pending)


def raise_pending() -> None:
    """Raises what callbacks on this thread could not."""
    me = threading.get_ident()
    mine = [one for one in pending if one[0] == me]
    for each in mine:
        pending.remove(each)
        del each
    errors = [error for _, error in mine]
    del mine
    if errors:
        raise_first(errors)


def _contexts(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and not any(one is error for one in found):
        found.append(error)
        error = error.__context__
    return found


def _chain(first: BaseException, others: list[BaseException]) -> None:
    """The others become the context of the first."""
    chain = _contexts(first)
    for other in others:
        more = _contexts(other)
        if not any(a is b for a in chain for b in more):
            chain[-1].__context__ = other
            chain += more


def raise_first(errors: list[BaseException]) -> None:
    """Raises the first that is not an Exception, else the first; the others are its context."""
    first, *others = sorted(errors, key=lambda one: isinstance(one, Exception))
    try:
        _chain(first, others)
        raise first
    finally:  # the traceback holds this frame
        errors.clear()
        del first, others


class Callback:
    """A callable for a C function type.  ``failed()`` follows what ``fn`` raised; C gets ``result`` then."""

    def __init__(self, fn: Callable[..., Any], failed: Callable[[], Any] = lambda: None, result: Any = None) -> None:
        self._fn = fn
        self._failed = failed
        self._result = result
        _all.add(self)

    def __call__(self, *args: Any) -> Any:
        try:
            return self._fn(*args)
        except BaseException as error:  # noqa: BLE001 - it cannot leave by way of C
            self._keep(error, sys._getframe().f_back is not None)
            return self._result

    def _keep(self, error: BaseException, in_a_call: bool) -> None:
        if in_a_call:
            pending.append((threading.get_ident(), error))
        else:
            logging.getLogger("choir").error("a function that a thread of choir called raised", exc_info=error)
        self._failed()


def _of(unraisable: Any) -> Callback | None:
    """From Python 3.13 on only the message names the callback."""
    if isinstance(unraisable.object, Callback):
        return unraisable.object
    text = unraisable.err_msg or ""
    return next((one for one in list(_all) if repr(one) in text), None) if "ctypes" in text else None


def _hook(unraisable: Any) -> None:
    callback = _of(unraisable)
    if callback is None:
        _previous(unraisable)
    else:
        error = unraisable.exc_value
        callback._keep(unraisable.exc_type() if error is None else error, sys._getframe().f_back is not None)


_previous, sys.unraisablehook = sys.unraisablehook, _hook
