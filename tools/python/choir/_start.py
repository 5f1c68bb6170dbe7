# SPDX-License-Identifier: MIT
"""Comms that are made on a thread of the library, which calls the caller's gather.

Note [exit].  No thread of the library may enter an interpreter that is gone, and a gather cannot be ended from outside.
So at exit a create in flight is waited for until it is complete or in its gather, and a gather that comes back later
stays at ``_gate`` until the process ends.
"""

from __future__ import annotations

import atexit
import ctypes as ct
import os
import threading
import time
from typing import Any, Callable

from ._abi import GATHER, Bootstrap
from ._comm import Comm, device_array
from ._create import _check_rank, _gather_call
from ._device import as_device
from ._family import CommEvent, make_config
from ._library import check, lib
from .errors import ChoirError

_gate = threading.Lock()  # a gather goes through it on its way back to the library
_in_flight: set[_Gather] = set()


class _Gather:
    """A gather as C calls it; what it raises is kept for the event."""

    def __init__(self, call: Callable[..., int]) -> None:
        self._call = call
        self.is_running = False
        self.raised: BaseException | None = None

    def __call__(self, *args: Any) -> int:
        self.is_running = True
        try:
            return self._call(*args)
        except BaseException as error:  # noqa: BLE001 - it cannot leave by way of C
            self.raised = error
            return 1
        finally:
            with _gate:
                self.is_running = False


class _GatherEvent(CommEvent):
    """The cause of its error is what the gather raised."""

    __slots__ = ("_gather",)

    def __init__(self, held: Any, make: Callable[[], Any], gather: _Gather) -> None:
        super().__init__(held, make)
        self._gather = gather

    def exception(self) -> ChoirError | None:
        error = super().exception()
        if error is not None and self._gather.raised is not None:
            error.__cause__ = self._gather.raised
        return error


def from_gather_start(gather: Callable[[bytes], bytes], rank: int, size: int, device: Any = None,
                      **settings: Any) -> CommEvent:  # fmt: skip
    """``from_gather``, at once: an event whose ``wait`` returns the comm.  The gather is called on another thread.

    The processes are of one machine and user: no network is started.  Where the gather raises, the event fails, and
    what it raised is the cause of the error.
    """
    _check_rank(rank, size)
    made, devices, call = ct.c_void_p(), [as_device(device)], _Gather(_gather_call(gather, size))
    bootstrap = Bootstrap(ct.sizeof(Bootstrap), rank, size, GATHER(call), None)
    event = _GatherEvent((made, devices, bootstrap), lambda: Comm(made.value, devices) if made.value else None, call)
    handles, config = device_array(devices), make_config(**settings)
    start = lib.choir_comm_create_start
    _in_flight.add(call)
    try:
        check(start(ct.byref(bootstrap), 1, handles, ct.byref(config), ct.byref(made), event._out))
    except ChoirError:
        _in_flight.discard(call)
        raise
    event.add_done_callback(lambda _: _in_flight.discard(call))
    return event


@atexit.register
def _close_gate() -> None:
    """Note [exit]."""
    _gate.acquire()
    while not all(one.is_running for one in list(_in_flight)):
        time.sleep(0.001)


def _forget() -> None:
    """Creates in flight are those of the process before fork."""
    global _gate
    _gate = threading.Lock()
    _in_flight.clear()


os.register_at_fork(after_in_child=_forget)
