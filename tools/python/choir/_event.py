# SPDX-License-Identifier: MIT
"""Events: the end of a collective, waited for, asked for, awaited, or chained to.

Note [arrays in flight].  A collective reads and writes arrays until its event is complete.  The event holds them.  It
is made before the library starts the call and fills in the handle, so that no exception comes between.  One that is
dropped earlier goes to ``_orphans`` with its arrays, which later calls look through; so no thread of the library ever
has to enter Python to let go of them.

Note [callbacks].  Threads of the library run Python for ``add_done_callback`` and for callables of operators.  All
comms are destroyed when the interpreter begins to exit, and destroying waits for both, so none comes later.
"""

from __future__ import annotations

import ctypes as ct
import itertools
import logging
import os
import threading
import weakref
from collections import deque
from typing import Any, Callable, Generator, Iterable

from ._abi import EVENT_FN, DType, SparseStats, Status, members
from ._arrays import address_of
from ._callback import Callback, pending, raise_first, raise_pending
from ._library import check, lib
from .errors import ChoirError, DeadlineError, error_of

_SLICE_MS = 100  # a signal's handler runs between two waits of this length

_lock = threading.Lock()
_waiting: dict[int, Event] = {}  # events with callbacks, by the number that the library hands back
_running: dict[int, object] = {}  # whose callbacks are being called, and by which call of _run_callbacks
_numbers = itertools.count(1)
_orphans: deque[tuple[int, Any]] = deque()
_open: weakref.WeakSet[Event] = weakref.WeakSet()


def _forget() -> None:
    """Collectives in flight are those of the process before fork, and so is who holds the lock."""
    global _lock
    _lock = threading.Lock()
    everything: tuple[Any, ...] = (_waiting, _running, _orphans, _open, pending)
    for each in everything:
        each.clear()


os.register_at_fork(after_in_child=_forget)


class Unclaimed:
    """What the event of a comm in the making holds.  Where it is dropped the comm is one that nobody names."""

    def __init__(self, held: Any, make: Callable[[], Any]) -> None:
        self.held = held
        self.make = make


def sweep() -> None:
    """Lets go of what dropped events still hold, as far as those are complete."""
    for _ in range(len(_orphans)):
        try:
            handle, held = _orphans.popleft()
        except IndexError:  # another thread was faster
            return
        if lib.choir_event_status(handle) == Status.RUNNING:
            _orphans.append((handle, held))
            continue
        lib.choir_event_release(handle)
        if isinstance(held, Unclaimed):
            held.make()


def _run_callbacks(number: int, status: int) -> None:
    """One that a signal's handler ends leaves the event where ``_run_missed`` finds it."""
    mine = object()
    failures: list[BaseException] = []
    try:
        if _running.setdefault(number, mine) is mine:
            _run_each(number, failures)
    except BaseException as error:  # noqa: BLE001 - it joins what the callbacks raised
        failures.append(error)
    finally:
        if _running.get(number) is mine:
            del _running[number]
    if failures:
        raise_first(failures)


def _run_each(number: int, failures: list[BaseException]) -> None:
    with _lock:
        event = _waiting.get(number)
        if event is None:
            return
        event._fired = True
    while event._callbacks:
        try:
            event._call(event._callbacks[0])
        except BaseException as error:  # noqa: BLE001 - the next one is called all the same
            failures.append(error)
        del event._callbacks[0]
    event._callbacks = None
    _waiting.pop(number, None)


def _run_missed() -> None:
    """A call by the library that a signal's handler has kept from entering Python."""
    for number, event in list(_waiting.items()):
        if lib.choir_event_status(event._handle) != Status.RUNNING:
            _run_callbacks(number, 0)


_completed = EVENT_FN(Callback(_run_callbacks, _run_missed))


class Event:
    """A collective that was started.  Its arrays belong to it until it is complete.

    ``wait`` returns when it is complete and raises its error; ``done`` looks; ``await event`` awaits.  The event may
    be given to other calls (``after=``), and to OpenCL queues (``choir.queue_wait``).
    """

    __slots__ = ("_cell", "_held", "_callbacks", "_fired", "_registered", "__weakref__")

    def __init__(self, held: Any) -> None:
        self._cell = ct.c_void_p()
        self._held = held
        self._callbacks: list[Callable[[Event], Any]] | None = []
        self._fired = False
        self._registered = False
        if _orphans:
            sweep()
        _open.add(self)

    @property
    def _handle(self) -> int:
        return self._cell.value or 0

    @property
    def _out(self) -> Any:
        """For the library's call that starts the collective."""
        return ct.byref(self._cell)

    def done(self) -> bool:
        """True once the collective ended, well or not.  Does not block, and drives nothing."""
        done = ct.c_int()
        check(lib.choir_event_test(self._cell, ct.byref(done)))
        return bool(done.value)

    def wait(self, timeout: float | None = None) -> Any:
        """Waits until the collective is complete, at most ``timeout`` seconds; raises its error.

        Without a time-out the collective's own deadline ends the wait.  DeadlineError of the wait itself changes
        nothing: the collective goes on and the event may be waited for again.
        """
        left = float("inf") if timeout is None else max(timeout, 0) * 1000
        while True:
            status = lib.choir_event_wait(self._cell, int(min(left, _SLICE_MS)))
            if pending:
                raise_pending()
            if status != Status.TIMEOUT or lib.choir_event_status(self._cell) != Status.RUNNING:
                break
            left -= _SLICE_MS
            if left <= 0:
                raise DeadlineError(f"the collective is not complete after {timeout} s; it goes on")
        if status == Status.WOULD_DEADLOCK:
            check(status)
        return self._outcome()

    def _outcome(self) -> Any:
        error = self.exception()
        self._held = None
        if error is not None:
            raise error
        return None

    def exception(self) -> ChoirError | None:
        """The error of a complete event, None if it ended well.  RunningError before that."""
        status = lib.choir_event_status(self._cell)
        if status == Status.SUCCESS:
            return None
        text = lib.choir_event_error(self._cell).decode(errors="replace")
        if status == Status.RUNNING:
            raise error_of(status, "the collective is not complete yet")
        return error_of(status, text)

    def add_done_callback(self, fn: Callable[[Event], Any]) -> None:
        """Calls ``fn(event)`` once the event is complete: here at once if it is, else on a thread of the library, or on
        one that waits for a call of choir.

        It must not block, and a blocking collective inside raises WouldDeadlockError.  An Exception of it is logged; a
        KeyboardInterrupt or SystemExit is raised by the call of choir that the thread is in.
        """
        with _lock:
            fired, register = self._fired, not self._fired and not self._registered
            if not fired:
                assert self._callbacks is not None
                self._callbacks.append(fn)
                self._registered = True
                if register:
                    number = next(_numbers)
                    _waiting[number] = self
        if fired:
            self._call(fn)
        elif register:
            status = lib.choir_event_on_complete(self._cell, _completed, number)
            if status:
                _waiting.pop(number, None)
                check(status)

    def _call(self, fn: Callable[[Event], Any]) -> None:
        try:
            fn(self)
        except Exception:  # noqa: BLE001 - nobody is there to catch it
            logging.getLogger("choir").exception("a callback of an event raised")

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def finish() -> None:
            if not future.done():
                future.set_result(None)

        def done(event: Event) -> None:
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:  # the loop was closed: nobody awaits any more
                pass

        self.add_done_callback(done)
        yield from future.__await__()
        return self.wait()

    def to_cl(self) -> int:
        """A cl_event that completes with this event, as a number; the caller releases it.

        PyOpenCL: ``pyopencl.Event.from_int_ptr(event.to_cl(), retain=False)``.  It completes after a failure too: ask
        the event.
        """
        made = ct.c_void_p()
        check(lib.choir_event_to_cl(self._cell, ct.byref(made)))
        return made.value or 0

    @property
    def algorithm(self) -> str:
        """The algorithm that ran; "" while unknown."""
        return lib.choir_event_algorithm(self._cell).decode()

    @property
    def wire_bytes(self) -> int:
        """Bytes that this rank sent to other nodes so far."""
        return lib.choir_event_wire_bytes(self._cell)

    def __del__(self) -> None:
        if self._handle:
            _orphans.append((self._handle, self._held))


class SparseEvent(Event):
    """A sparse collective that was started; ``wait`` returns its result: indices and values."""

    __slots__ = ("_make", "_result", "_counts", "_dtypes")

    def __init__(self, held: Any, counts: Any, dtypes: tuple[DType, DType], make: Any) -> None:
        super().__init__(held)
        self._counts = counts
        self._dtypes = dtypes
        self._make = make
        self._result: Any = None

    def _outcome(self) -> Any:
        """The rows are fetched into arrays of the length that the library found."""
        if self._result is not None:
            return self._result
        status = lib.choir_event_status(self._cell)
        if status not in (Status.SUCCESS, Status.CAPACITY):
            return super()._outcome()
        indices, values = self._counts
        arrays, operands = self._make(indices.value, values.value, self._dtypes)
        if status == Status.CAPACITY:
            check(
                lib.choir_sparse_fetch(
                    self._cell, operands[0], ct.byref(indices), operands[1], ct.byref(values)
                )
            )
        self._result = arrays
        self._held = None
        return arrays

    def exception(self) -> ChoirError | None:
        """As of every event; that the result is still to be fetched is no error."""
        if lib.choir_event_status(self._cell) == Status.CAPACITY:
            return None
        return super().exception()

    def stats(self) -> dict[str, Any]:
        """What the collective did: algorithm, pairs, bytes.  The event must be complete."""
        out = SparseStats(struct_size=ct.sizeof(SparseStats))
        check(lib.choir_event_sparse_stats(self._cell, ct.byref(out)))
        return members(out)


def handles(events: Iterable[Event]) -> Any:
    """The events as an array of the library's."""
    numbers = [one._handle for one in events]
    return (ct.c_void_p * len(numbers))(*numbers)


def queue_wait(queue: Any, *events: Event) -> None:
    """Commands that are enqueued on the OpenCL queue from now on wait for the events.

    The queue is PyOpenCL's, or a cl_command_queue as a number or ctypes pointer.  It goes on after a failure too: ask
    the events.
    """
    check(lib.choir_queue_wait(address_of(queue), len(events), handles(events)))


def any_running() -> bool:
    """True while a collective that this process started is not complete."""
    running = [one._handle for one in list(_open)] + [handle for handle, _ in list(_orphans)]
    return any(handle and lib.choir_event_status(handle) == Status.RUNNING for handle in running)
