# SPDX-License-Identifier: MIT
"""choir: collective operations on arrays, in host memory and on OpenCL devices.

    import choir, numpy

    with choir.from_environment() as comm:
        x = numpy.full(4, comm.rank + 1.0, numpy.float32)
        comm.allreduce(x)

started by ``python -m choir -n 2 program.py``.  docs/python.md of the project tells the rest.
"""

from __future__ import annotations

from . import chunks, pairs
from ._abi import Coalesce, DType, MemoryClass, Op, SparseWire, Status
from ._arrays import View
from ._comm import Comm, group
from ._create import (
    Threads,
    from_environment,
    from_gather,
    from_mpi4py,
    from_mpi4py_start,
    from_store,
    on_this_machine,
    over_tcp,
    threads,
    world,
)
from ._device import Device
from ._event import Event, SparseEvent, queue_wait
from ._family import GroupPlace, group_text
from ._library import lib as _lib
from ._operator import Operator
from ._request import Request, Sequence, SparseRequest
from ._start import from_gather_start
from ._topk import TopK, TopKEvent
from ._versions import show_versions
from .errors import (
    AbortedError,
    ArgumentError,
    CapacityError,
    ChoirError,
    DeadlineError,
    MismatchError,
    NoMemoryError,
    OpenCLError,
    PeerDeadError,
    RunningError,
    TransportError,
    UnsupportedError,
    WouldDeadlockError,
)

__version__: str = _lib.choir_version().decode()

__all__ = [
    "AbortedError", "ArgumentError", "CapacityError", "ChoirError", "Coalesce", "Comm", "DType", "DeadlineError",
    "Device", "Event", "GroupPlace", "MemoryClass", "MismatchError", "NoMemoryError", "Op", "OpenCLError", "Operator",
    "PeerDeadError", "Request", "RunningError", "Sequence", "SparseEvent", "SparseRequest", "SparseWire", "Status",
    "Threads", "TopK", "TopKEvent", "TransportError", "UnsupportedError", "View", "WouldDeadlockError", "__version__",
    "chunks", "from_environment", "from_gather", "from_gather_start", "from_mpi4py", "from_mpi4py_start", "from_store",
    "group", "group_text", "on_this_machine", "over_tcp", "pairs", "queue_wait", "show_versions", "threads", "world",
]  # fmt: skip
