# SPDX-License-Identifier: MIT
"""Exceptions: one class for each status, with the library's sentence as their text."""

from __future__ import annotations

from ._abi import Status


class ChoirError(RuntimeError):
    """A call failed; ``status`` says how, the text says which rank, call and value."""

    status: Status = Status.ARGUMENT


class ArgumentError(ChoirError, ValueError):
    """A bad argument: nothing was sent, nothing has changed."""


class MismatchError(ChoirError):
    """The ranks' calls differ."""

    status = Status.MISMATCH


class DeadlineError(ChoirError, TimeoutError):
    """A deadline passed, of a collective or of a wait."""

    status = Status.TIMEOUT


class PeerDeadError(ChoirError, ConnectionError):
    """The process of another rank ended."""

    status = Status.PEER_DEAD


class OpenCLError(ChoirError):
    """An OpenCL function failed."""

    status = Status.OPENCL


class TransportError(ChoirError, ConnectionError):
    """Processes could not reach each other."""

    status = Status.TRANSPORT


class NoMemoryError(ChoirError, MemoryError):
    """There was no memory."""

    status = Status.NO_MEMORY


class AbortedError(ChoirError):
    """The comm was aborted or destroyed, by this rank or another."""

    status = Status.ABORTED


class UnsupportedError(ChoirError, NotImplementedError):
    """The call cannot be made with these arguments or on this device."""

    status = Status.UNSUPPORTED


class WouldDeadlockError(ChoirError):
    """The call would wait for something that only its own thread can do."""

    status = Status.WOULD_DEADLOCK


class CapacityError(ChoirError):
    """A receive buffer is too small."""

    status = Status.CAPACITY


class RunningError(ChoirError):
    """The collective is not complete yet."""

    status = Status.RUNNING


_classes = {
    one.status: one
    for one in (
        ArgumentError, MismatchError, DeadlineError, PeerDeadError, OpenCLError, TransportError, NoMemoryError,
        AbortedError, UnsupportedError, WouldDeadlockError, CapacityError, RunningError,
    )
}  # fmt: skip


def error_of(status: int, text: str) -> ChoirError:
    """The exception of a status that is not SUCCESS."""
    try:
        return _classes[Status(status)](text)
    except ValueError:  # a library newer than this package
        error = ChoirError(f"status {status}: {text}")
        error.status = status  # type: ignore[assignment]
        return error
