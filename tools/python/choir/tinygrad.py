# SPDX-License-Identifier: MIT
"""tinygrad's tensors on CL (and CPU): gradients are reduced on the device's queue, without a wait of the host.

    comm = choir.from_environment(device=choir.tinygrad.device())
    loss.backward()
    event = choir.tinygrad.allreduce_gradients(comm, parameters)
    optimizer.step()                     # its kernels wait for the event, the host does not
"""

from __future__ import annotations

import ctypes as ct
from typing import Any, Iterable

from ._abi import Buffer, BufferKind, DType
from ._arrays import Operand, dtype_of
from ._comm import Comm
from ._device import Device
from ._event import Event, queue_wait
from .errors import ArgumentError, UnsupportedError


def queue(name: str = "CL") -> Any:
    """The OpenCL queue, in order, on which tinygrad runs its kernels."""
    from tinygrad import Device as Devices

    return Devices[name].queue


def device(name: str = "CL") -> Device:
    """The choir device of tinygrad's: for comms of tensors on CL."""
    return Device.of_queue(queue(name))


def _operand(tensor: Any) -> Operand:
    uop = tensor.uop
    if isinstance(tensor.device, tuple):
        devices = ", ".join(tensor.device)
        raise UnsupportedError(f"a tinygrad Tensor is sharded over {devices}: choir takes those on one device")
    if not uop.is_realized:
        raise ArgumentError("a tinygrad Tensor that is not realized has no memory: realize() it first")
    if not uop.has_buffer_identity():
        raise ArgumentError(
            "a tinygrad Tensor's elements do not lie one after another: contiguous().realize() it first"
        )
    buffer = uop.buffer
    dtype: DType = dtype_of(buffer.dtype)
    name = buffer.device.partition(":")[0]
    if name == "CL":
        handle = ct.cast(buffer._buf, ct.c_void_p).value
        return Operand(Buffer(int(BufferKind.MEM), handle, buffer.offset), buffer.size, int(dtype), True)
    if name == "CPU":
        return Operand(Buffer(int(BufferKind.HOST), buffer._buf.va_addr, 0), buffer.size, int(dtype), True)
    raise UnsupportedError(f"a tinygrad Tensor on {buffer.device}: choir takes those on CL and CPU")


def allreduce(comm: Comm, tensors: Iterable[Any], op: str = "mean") -> Event:
    """The tensors, realized and all on one device, reduced over all ranks, in place and as one call.

    It starts when tinygrad's queue has computed them, and what tinygrad enqueues from now on waits for it.  The host
    does not, on CL.  Ask the event, at the latest when the loss is read: ``event.exception()``.
    """
    listed = list(tensors)
    for one in listed:
        _operand(one)  # or its sentence
    where = {one.uop.buffer.device for one in listed}
    if len(where) != 1:
        raise ArgumentError(f"the tensors are on {', '.join(sorted(where)) or 'no device'}: they must be on one")
    (name,) = where
    if name.partition(":")[0] == "CPU":  # no queue: tinygrad has finished when it says so
        from tinygrad import Device as Devices

        Devices[name].synchronize()
        event = comm.allreduce_multi(listed, op, wait=False)
        event.wait()
        return event
    event = comm.allreduce_multi(listed, op, wait=False, after=queue(name))
    queue_wait(queue(name), event)
    return event


def allreduce_gradients(comm: Comm, parameters: Iterable[Any], op: str = "mean") -> Event:
    """``allreduce`` of the gradients of the parameters that have one."""
    from tinygrad import Tensor

    having = [one for one in parameters if one.grad is not None]
    for one in having:
        one.grad = one.grad.contiguous()
    gradients = [one.grad for one in having]
    Tensor.realize(*gradients)
    return allreduce(comm, gradients, op)
