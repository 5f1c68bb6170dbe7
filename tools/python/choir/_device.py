# SPDX-License-Identifier: MIT
"""Devices: whose memory the arrays of a comm are."""

from __future__ import annotations

import ctypes as ct
import json
import os
from typing import Any

from ._abi import DeviceConfig, MemoryClass, ReduceWhere
from ._arrays import address_of
from ._library import check, check_made, lib, take_text
from ._numbers import number


#: of python -m choir and torchrun, MPICH's mpiexec, Slurm: mpiexec's processes inherit those of one of Slurm's
_LOCAL_RANKS = ("LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def _local_rank() -> int:
    found = (os.environ.get(name, "") for name in _LOCAL_RANKS)
    return next((int(text) for text in found if text.isdigit()), 0)


class Device:
    """What choir keeps for one device.  Comms keep theirs alive, so it may go at any time."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def host(cls) -> Device:
        """Host memory alone: NumPy, PyTorch on the CPU.  Touches no OpenCL."""
        made = ct.c_void_p()
        status = lib.choir_device_create_host(ct.byref(made))
        check_made(status, lib.choir_device_destroy, made.value)
        return cls(made.value or 0)

    @classmethod
    def default(cls, local_rank: int | None = None) -> Device:
        """The local_rank-th GPU of the machine, else a CPU device; CHOIR_DEVICE chooses another.

        Left out: the launcher's, of LOCAL_RANK, MPI_LOCALRANKID or SLURM_LOCALID; 0 without one.
        """
        made = ct.c_void_p()
        if local_rank is None:
            local_rank = _local_rank()
        status = lib.choir_device_create_default(number("local_rank", local_rank), ct.byref(made))
        check_made(status, lib.choir_device_destroy, made.value)
        return cls(made.value or 0)

    @classmethod
    def of_queue(cls, queue: Any, memory_class: str = "auto", reduce: str = "auto") -> Device:
        """The device and context of an OpenCL queue: PyOpenCL's, or a cl_command_queue as a number or pointer."""
        made = ct.c_void_p()
        config = _config(memory_class, reduce)
        status = lib.choir_device_create_queue(address_of(queue), ct.byref(config), ct.byref(made))
        check_made(status, lib.choir_device_destroy, made.value)
        return cls(made.value or 0)

    @classmethod
    def of_context(cls, context: Any, device: Any, memory_class: str = "auto", reduce: str = "auto") -> Device:
        """A device of an OpenCL context: PyOpenCL's, or handles as numbers or pointers."""
        made = ct.c_void_p()
        config = _config(memory_class, reduce)
        status = lib.choir_device_create(address_of(context), address_of(device), ct.byref(config), ct.byref(made))
        check_made(status, lib.choir_device_destroy, made.value)
        return cls(made.value or 0)

    @property
    def context(self) -> int:
        """The cl_context, 0 for host memory."""
        return lib.choir_device_context(self._handle) or 0

    @property
    def device_id(self) -> int:
        """The cl_device_id, 0 for host memory."""
        return lib.choir_device_id(self._handle) or 0

    @property
    def memory_class(self) -> MemoryClass:
        """How the host reaches its memory."""
        return MemoryClass(lib.choir_device_class(self._handle))

    def describe(self) -> dict[str, Any]:
        """What choir-info prints of it."""
        text = ct.c_void_p()
        check(lib.choir_device_json(self._handle, ct.byref(text)))
        return json.loads(take_text(text))

    def __repr__(self) -> str:
        return f"<choir.Device {self.describe()['name']}, class {self.memory_class.name.lower()}>"

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", 0), 0
        if handle:
            lib.choir_device_destroy(handle)


def _config(memory_class: str, reduce: str) -> DeviceConfig:
    return DeviceConfig(ct.sizeof(DeviceConfig), MemoryClass[memory_class.upper()], ReduceWhere[reduce.upper()])


def as_device(what: Any) -> Device:
    """A Device of what a comm is given: None (host memory), a Device, "host", "default" (this rank's), or a queue."""
    if what is None or what == "host":
        return Device.host()
    if isinstance(what, Device):
        return what
    if what == "default":
        return Device.default()
    return Device.of_queue(what)
