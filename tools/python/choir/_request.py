# SPDX-License-Identifier: MIT
"""Persistent calls and recorded sequences of them."""

from __future__ import annotations

import ctypes as ct
import threading
import weakref
from typing import Any, Iterable

from ._abi import Status
from ._event import Event
from ._library import check, check_made, lib
from .errors import ArgumentError

#: in place of ``wait``: the call is kept as a Request instead of being made
REQUEST: Any = object()


class _Group(threading.local):
    """The groups that this thread is in, and what their end holds and waits for."""

    depth = 0
    held: list[Any]
    events: list[Event]


group_now = _Group()


def result_of(event: Any, wait: bool) -> Any:
    """What a call returns: its event's result; the event without ``wait``, and in a group, whose end waits for it."""
    if wait and not group_now.depth:
        return event.wait()
    if wait:
        group_now.events.append(event)
    return event


class Request:
    """A persistent call: checked once, made by every ``start``.  A context manager; ``close`` lets go of it."""

    def __init__(self, handle: int, held: Any, comm: Any) -> None:
        self._handle = handle
        self._held = held
        self._comm = comm

    def start(self, wait: bool = True, **call: Any) -> Any:
        """Makes the call once: blocks, or returns an Event.  Takes after, deps and deadline."""
        return self._comm._go(lib.choir_start, (self._handle,), self._held, wait, call)

    def close(self) -> None:
        """Frees it; what was started goes on."""
        handle, self._handle = self._handle, 0
        lib.choir_request_free(handle)
        self._held = None

    def __enter__(self) -> Request:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class SparseRequest(Request):
    """A persistent sparse_allreduce: a start, or its event's ``wait``, returns how many indices and values came."""

    def __init__(self, handle: int, held: Any, comm: Any, counts: Any) -> None:
        super().__init__(handle, held, comm)
        self._counts = counts
        self._last: weakref.ref[CountsEvent] | None = None

    def start(self, wait: bool = True, **call: Any) -> Any:
        """Makes the call once.  CapacityError, with the sizes that are needed, where the arrays are too short.

        Inside ``choir.group()`` the counts are not known yet: it returns the event with ``wait=True`` too, and the
        group's end waits for that.
        """
        last = self._last() if self._last is not None else None
        if last is not None:
            last.keep_counts()
        in_group = wait and group_now.depth > 0
        event = super().start(wait and not in_group, **call)
        if event is not None:
            made = CountsEvent.of(event, self._counts)
            self._last = weakref.ref(made)
            if in_group:
                group_now.events.append(made)
            return made
        return tuple(one.value for one in self._counts)


class CountsEvent(Event):
    """The event of a SparseRequest."""

    __slots__ = ("_counts", "_result")
    _counts: Any
    _result: tuple[int, ...] | None

    @classmethod
    def of(cls, event: Event, counts: Any) -> CountsEvent:
        """Takes the place of an event."""
        made = cls(event._held)
        made._counts, made._result = counts, None
        made._cell, event._cell = event._cell, made._cell
        return made

    def keep_counts(self) -> None:
        """The next start of the request counts anew."""
        if self._result is None and lib.choir_event_status(self._cell) == Status.SUCCESS:
            self._result = tuple(one.value for one in self._counts)

    def _outcome(self) -> Any:
        if self._result is None:
            super()._outcome()
            self._result = tuple(one.value for one in self._counts)
        return self._result


class Sequence:
    """Requests that are started together: each when the one before it is complete, which it may read from.

    All ranks start the same calls in the same order.  A context manager; close it before its requests.
    """

    def __init__(self, requests: Iterable[Request]) -> None:
        self._handle = 0
        self._requests = list(requests)
        if not self._requests:
            raise ArgumentError("a sequence has one request at least")
        self._check_open()
        made = ct.c_void_p()
        handles = (ct.c_void_p * len(self._requests))(*[one._handle for one in self._requests])
        status = lib.choir_sequence_create(handles, len(handles), ct.byref(made))
        check_made(status, lib.choir_sequence_free, made.value)
        self._handle = made.value or 0
        self._held = [one._held for one in self._requests]

    def _check_open(self) -> None:
        for i, request in enumerate(self._requests):
            if not request._handle:
                raise ArgumentError(f"request {i} of the sequence is closed")

    def start(self, wait: bool = True, **call: Any) -> Any:
        """Blocks, or returns an Event of the last one.  Takes after, deps and deadline."""
        self._check_open()
        return self._requests[0]._comm._go(lib.choir_sequence_start, (self._handle,), self._held, wait, call)

    def close(self) -> None:
        """Frees it; what was started goes on."""
        handle, self._handle = self._handle, 0
        lib.choir_sequence_free(handle)
        self._held = []

    def __enter__(self) -> Sequence:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
