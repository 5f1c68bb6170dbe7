# SPDX-License-Identifier: MIT
"""Finds and loads libchoir, and libchoir-mpi where it is asked for.

CHOIR_LIBRARY says where: unset, the library of the wheel, else the system's; ``system``, the system's alone; else a
folder that holds libchoir.so.0, or that file.
"""

from __future__ import annotations

import ctypes as ct
import os
from pathlib import Path
from typing import Any, Callable

from . import _abi
from ._callback import pending, raise_pending
from .errors import ChoirError, error_of

SONAME = "libchoir.so.0"
MPI_SONAME = "libchoir-mpi.so.0"
_own = Path(__file__).parent / "lib"


def _candidates(soname: str) -> list[str]:
    wanted = os.environ.get("CHOIR_LIBRARY", "")
    if wanted in ("", "system"):
        own = _own / soname
        return [str(own), soname] if wanted == "" and own.exists() else [soname]
    path = Path(wanted).absolute()  # with a slash in it: else the loader searches its own folders
    return [str((path.parent if path.is_file() else path) / soname)]


def _open(soname: str, *more: Path) -> ct.CDLL:
    """more: files to try where the library is not where libchoir is."""
    tried = []
    for candidate in [*_candidates(soname), *map(str, more)]:
        try:
            return ct.CDLL(candidate)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        f"{soname} cannot be loaded: {'; '.join(tried)}.  CHOIR_LIBRARY=FOLDER names a folder that has it"
    )


def _declare(library: ct.CDLL, prototypes: dict) -> None:
    for name, (result, arguments) in prototypes.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"{library._name} has no {name}: it is of another version than this package; "
                "CHOIR_LIBRARY=FOLDER names another"
            ) from None
        function.restype = result
        function.argtypes = arguments


def _check_version(name: str, found: str) -> None:
    """A library of another version would read the structures of this package otherwise."""
    if found.split(".")[:2] != [str(one) for one in _abi.VERSION]:
        raise ImportError(
            f"{name} is of version {found}, this package of {'.'.join(map(str, _abi.VERSION))}; "
            "CHOIR_LIBRARY=FOLDER names another"
        )


lib = _open(SONAME)
_declare(lib, _abi.PROTOTYPES)
_check_version(lib._name, lib.choir_version().decode())
_mpi: ct.CDLL | None = None


def mpi() -> ct.CDLL:
    """libchoir-mpi, loaded by the first call.  ImportError, with the reason, where it is not there."""
    global _mpi
    if _mpi is None:
        library = _open(MPI_SONAME)
        _declare(library, _abi.MPI_PROTOTYPES)
        for path in loaded(MPI_SONAME):
            found = path.rpartition(".so.")[2]
            if found.count(".") == 2:  # it has no function that tells, but the file's own name does
                _check_version(path, found)
        _mpi = library
    return _mpi


def failure_of(status: int) -> ChoirError | None:
    """The exception of this thread's last call, with its sentence; None for SUCCESS."""
    return error_of(status, lib.choir_last_error().decode(errors="replace")) if status else None


def check(status: int) -> None:
    """Raises what callbacks raised during this thread's call, else the call's exception unless it is SUCCESS."""
    if pending:
        raise_pending()
    failure = failure_of(status)
    if failure is not None:
        raise failure


def check_made(status: int, free: Callable[[int], Any], *handles: int | None) -> None:
    """The same behind a call that has made these handles; where it raises, ``free`` gets them back."""
    try:
        check(status)
    except BaseException:
        for handle in handles:
            if handle:
                free(handle)
        raise


_free = ct.CDLL(None).free
_free.argtypes = [ct.c_void_p]
_free.restype = None


def take_text(pointer: ct.c_void_p) -> str:
    """A text that the library allocated; frees it."""
    text = ct.string_at(pointer).decode(errors="replace")
    _free(pointer)
    return text


def loaded(part: str) -> list[str]:
    """The files with ``part`` in their name that are mapped into this process."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and part in os.path.basename(fields[5]) and fields[5] not in found:
            found.append(fields[5])
    return found
