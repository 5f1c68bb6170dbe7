# SPDX-License-Identifier: MIT
"""Where comms come from."""

from __future__ import annotations

import atexit
import ctypes as ct
import logging
import os
import sys
from typing import Any, Callable, Sequence

from . import _meet
from ._abi import GATHER, Bootstrap, Status
from ._callback import Callback, is_pending, raise_pending
from ._comm import Comm, device_array
from ._device import as_device
from ._family import CommEvent, abort, make_config
from ._library import check, check_made, failure_of, lib, mpi
from ._numbers import counted, number
from .errors import ArgumentError, ChoirError

_DEADLINE_S = 600.0


def _deadline(settings: dict[str, Any]) -> float:
    given = settings.get("deadline")
    if given is not None:
        return given
    text = os.environ.get("CHOIR_DEADLINE_MS", "")
    return int(text) / 1000 if text.isdigit() and int(text) else _DEADLINE_S


def _gather_call(gather: Callable[[bytes], bytes], size: int) -> Callable[..., int]:
    """The gather as C calls it."""

    def call(ctx: Any, mine: int, n_bytes: int, whole: int) -> int:
        if is_pending():  # an earlier gather was kept from running
            return 1
        data = gather(ct.string_at(mine, n_bytes))
        if len(data) != n_bytes * size:
            raise ArgumentError(f"gather gave {counted(len(data), 'byte')}, the comm needs {n_bytes * size}")
        ct.memmove(whole, data, len(data))
        return 0

    return call


def _bootstrap(gather: Callable[[bytes], bytes], rank: int, size: int) -> Bootstrap:
    """For C; where the gather raises, the library gets a failure."""
    call = Callback(_gather_call(gather, size), result=1)
    return Bootstrap(ct.sizeof(Bootstrap), rank, size, GATHER(call), None)


def _all_have_mpi(gather: Callable[[bytes], bytes], status: int, failure: ChoirError) -> bool:
    """Behind a failed create: every process has libchoir-mpi, and failed for want of a network."""
    reason = b"\0"
    if status == Status.UNSUPPORTED:
        try:
            mpi()
            reason = b"\1"
        except ImportError:
            pass
    try:
        return b"\0" not in gather(reason)
    except Exception as error:
        raise failure from error


def from_gather(gather: Callable[[bytes], bytes], rank: int, size: int, device: Any = None, network: str = "auto",
                **settings: Any) -> Comm:  # fmt: skip
    """A comm of processes that can exchange bytes: ``gather(mine)`` gives the bytes of all, joined in rank order.

    It is called some ten times before this returns, and not later.  ``network``: "auto", where the processes are not
    of one machine and user MPI carries the data, started without mpiexec, if all have libchoir-mpi; "none", never;
    "mpi", MPI is started in any case.  ``device``: see ``as_device``.  settings: deadline, warn (seconds),
    ranks_per_node, rules, name, options, keyed (calls match by ``key=``), order_ranks (the same bits on any layout).
    """
    if network not in ("auto", "none", "mpi"):
        raise ArgumentError(f"network={network!r}: auto, none or mpi")
    _check_rank(rank, size)
    bootstrap = _bootstrap(gather, rank, size)
    devices = [as_device(device)]
    made = ct.c_void_p()
    args = (ct.byref(bootstrap), 1, device_array(devices), ct.byref(make_config(**settings)), ct.byref(made))
    if network != "mpi":
        status = lib.choir_comm_create(*args)
        failure = failure_of(status)
        if failure is None:
            check_made(status, lib.choir_comm_destroy, made.value)
        raise_pending()
        if failure is not None:
            alone = status == Status.ARGUMENT  # refused before the first gather: the others may wait in it
            if network == "none" or size == 1 or alone or not _all_have_mpi(gather, status, failure):
                raise failure
            network = "mpi"
    if network == "mpi":
        _finalize_at_exit()
        check_made(mpi().choir_comm_create_gather(*args), lib.choir_comm_destroy, made.value)
    return Comm(made.value or 0, devices)


def threads(n: int, device: Any = None, **settings: Any) -> Threads:
    """n ranks of this process, for a thread each: ``with choir.threads(2) as comms:``.

    One thread may drive them all, inside ``choir.group()`` or by events.  ``device`` is that of all, or a list.
    """
    number("n", n)
    devices = [as_device(one) for one in device] if isinstance(device, (list, tuple)) else [as_device(device)] * n
    if len(devices) != n:
        raise ArgumentError(f"device is a list of {len(devices)} for {counted(n, 'rank')}")
    made = (ct.c_void_p * n)()
    status = lib.choir_comm_create_local(n, device_array(devices), ct.byref(make_config(**settings)), made)
    check_made(status, lib.choir_comm_destroy, *made)
    return Threads([Comm(one or 0, devices) for one in made])


class Threads(list[Comm]):
    """The comms of ranks of one process; as a context manager it closes them all."""

    def __init__(self, comms: Sequence[Comm]) -> None:
        super().__init__(comms)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        if kind is not None:
            for comm in self:
                abort(comm)
        for comm in self:
            if kind is None:
                comm.close()
            else:
                comm.__exit__(kind, *exc)


def on_this_machine(rank: int, size: int, folder: str | os.PathLike, device: Any = None, **settings: Any) -> Comm:
    """A comm of processes of one machine and user, which meet in a private folder: one folder a job."""
    _check_rank(rank, size)
    if size == 1:
        return from_gather(bytes, 0, 1, device, **settings)
    with _meet.over_unix(rank, size, folder, _deadline(settings)) as meeting:
        return from_gather(meeting.gather, rank, size, device, **settings)


def over_tcp(rank: int, size: int, host: str, port: int, secret: str | bytes, device: Any = None,
             **settings: Any) -> Comm:  # fmt: skip
    """A comm of processes that meet at rank 0's host and port, and prove that they know a secret."""
    _check_rank(rank, size)
    number("port", port, (1, 65535))
    if size == 1:
        return from_gather(bytes, 0, 1, device, **settings)
    key = secret.encode() if isinstance(secret, str) else secret
    with _meet.over_tcp(rank, size, host, port, key, _deadline(settings)) as meeting:
        return from_gather(meeting.gather, rank, size, device, **settings)


def from_store(store: Any, rank: int, size: int, device: Any = None, prefix: str = "choir", **settings: Any) -> Comm:
    """A comm of processes that share a torch.distributed Store.

    All of the ranks make the comms of one prefix in the same order; tries that failed count.  The ranks wait for each
    other until the deadline of the settings, not the store's."""
    _check_rank(rank, size)
    with _meet.StoreMeeting(store, rank, size, prefix, _deadline(settings)) as meeting:
        return from_gather(meeting.gather, rank, size, device, **settings)


def _check_rank(rank: int, size: int) -> None:
    if not 0 <= number("rank", rank) < number("size", size):
        raise ArgumentError(f"there is no rank {rank} of {size}")


_SLURM = ("SLURM_PROCID", "SLURM_NTASKS")
_STEP = "SLURM_STEP_ID"  # of a process that srun has started; a batch script has none
_MPI_RANKS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def _numbers(rank: str, size: str) -> tuple[int, int] | None:
    """What the two variables say, None if they are not both there."""
    env = os.environ
    if rank not in env or size not in env:
        return None
    try:
        return int(env[rank]), int(env[size])
    except ValueError:
        raise ArgumentError(f"{rank}={env[rank]}, {size}={env[size]}: not two numbers") from None


def _rank_of_environment() -> tuple[int, int]:
    found = _numbers("RANK", "WORLD_SIZE")
    if found is None:
        slurm = _numbers(*_SLURM)
        found = slurm if _STEP in os.environ else None
        for rank, size in _MPI_RANKS:
            mpi_says = _numbers(rank, size)
            if mpi_says not in (None, found):  # mpiexec's processes inherit the variables of one process of Slurm's
                raise ArgumentError(f"{rank} and {size} are an MPI launcher's: choir.world() is for those")
        if found is None and slurm is not None:
            raise ArgumentError(f"{_SLURM[0]} is there without {_STEP}: srun starts a process for each rank")
    if found is None:
        raise ArgumentError("the environment has neither RANK and WORLD_SIZE nor SLURM_PROCID and SLURM_NTASKS")
    _check_rank(*found)
    return found


def from_environment(device: Any = None, **settings: Any) -> Comm:
    """A comm of the processes that a launcher started.

    RANK and WORLD_SIZE (or SLURM_PROCID and SLURM_NTASKS of srun's processes) say who this is.  The processes meet

    - in the folder CHOIR_MEETING, which ``python -m choir`` sets: one machine;
    - in torchrun's own store, under torchrun;
    - else at MASTER_ADDR and MASTER_PORT, with the secret that stands in CHOIR_SECRET (16 characters at least).
    """
    env = os.environ
    rank, size = _rank_of_environment()
    if size == 1:
        return from_gather(bytes, 0, 1, device, **settings)
    if env.get("CHOIR_MEETING"):
        return on_this_machine(rank, size, env["CHOIR_MEETING"], device, **settings)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not env.get(name):
            raise ArgumentError(f"{name} is not set, nor CHOIR_MEETING: the {size} processes do not know where to meet")
    host, port = env["MASTER_ADDR"], env["MASTER_PORT"]
    if not port.isdigit():
        raise ArgumentError(f"MASTER_PORT={port}: not a number")
    if env.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return _under_torchrun(rank, size, host, int(port), device, settings)
    secret = env.get("CHOIR_SECRET", "")
    if len(secret) < _meet.MIN_SECRET:
        raise ArgumentError(
            f"CHOIR_SECRET has {len(secret)} characters: the processes prove to each other that they know it, so give "
            f"all of them the same {_meet.MIN_SECRET} or more (openssl rand -hex 16)"
        )
    return over_tcp(rank, size, host, int(port), secret, device, **settings)


def _under_torchrun(rank: int, size: int, host: str, port: int, device: Any, settings: dict[str, Any]) -> Comm:
    from datetime import timedelta

    from torch.distributed import TCPStore

    store = TCPStore(host, port, size, False, timedelta(seconds=_deadline(settings)))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return from_store(store, rank, size, device, f"choir/{attempt}", **settings)


def _from_mpi(create: Callable[..., int], parent: tuple, device: Any, settings: dict[str, Any]) -> Comm:
    made = ct.c_void_p()
    devices = [as_device(device)]
    status = create(*parent, 1, device_array(devices), ct.byref(make_config(**settings)), ct.byref(made))
    check_made(status, lib.choir_comm_destroy, made.value)
    return Comm(made.value or 0, devices)


def world(device: Any = None, **settings: Any) -> Comm:
    """A comm of MPI's world: programs started by mpiexec.  Initialises MPI if nobody has; it needs libchoir-mpi."""
    library = mpi()
    _finalize_at_exit()
    return _from_mpi(library.choir_comm_create_world, (), device, settings)


def _finalize_at_exit() -> None:
    """Once.  Before a create, which may start MPI and fail nevertheless."""
    atexit.unregister(_finalize_world)
    atexit.register(_finalize_world)


def _forget() -> None:
    """MPI is that of the process before fork."""
    atexit.unregister(_finalize_world)


os.register_at_fork(after_in_child=_forget)


def _finalize_world() -> None:
    from ._comm import _close_all

    _close_all()
    if mpi().choir_finalize_world():  # nobody is there to catch it
        logging.getLogger("choir").error("%s", lib.choir_last_error().decode(errors="replace"))


def _mpi_handle(comm: Any) -> int:
    package = sys.modules[type(comm).__module__.partition(".")[0]]
    size = package.MPI._sizeof(package.MPI.Comm)
    if size != ct.sizeof(ct.c_int):
        raise ArgumentError("this mpi4py was built with Open MPI; libchoir-mpi is of the MPICH family")
    return int(ct.c_int.from_address(package.MPI._addressof(comm)).value)


def from_mpi4py(comm: Any, device: Any = None, **settings: Any) -> Comm:
    """A comm of the processes of an mpi4py communicator.  mpi4py must be of the MPICH family, as libchoir-mpi is."""
    return _from_mpi(mpi().choir_comm_create_mpi, (_mpi_handle(comm),), device, settings)


def from_mpi4py_start(comm: Any, device: Any = None, **settings: Any) -> CommEvent:
    """The same, at once: an event whose ``wait`` returns the comm.  MPI needs MPI_THREAD_MULTIPLE."""
    made, devices = ct.c_void_p(), [as_device(device)]
    event = CommEvent((made, devices), lambda: Comm(made.value, devices) if made.value else None)
    handles, config = device_array(devices), make_config(**settings)
    start = mpi().choir_comm_create_mpi_start
    check(start(_mpi_handle(comm), 1, handles, ct.byref(config), ct.byref(made), event._out))
    return event
