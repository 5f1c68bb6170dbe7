# SPDX-License-Identifier: MIT
"""What a report of a fault should begin with."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import TextIO

from . import _library

_PACKAGES = ("numpy", "pyopencl", "tinygrad", "torch", "lightgbm", "mpi4py")


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _mpi() -> str:
    try:
        _library.mpi()
    except ImportError as error:
        return f"not there: {error}"
    return _paths("libchoir-mpi")


def _paths(part: str) -> str:
    return ", ".join(_library.loaded(part)) or "not loaded"


def show_versions(file: TextIO | None = None) -> None:
    """Prints versions, and the files of the libraries that were loaded."""
    rows = [
        ("choir", _library.lib.choir_version().decode()),
        ("libchoir", _paths("libchoir.so")),
        ("libchoir-mpi", _mpi()),
        ("libmpich", _paths("libmpich")),
        ("OpenCL loader", _paths("libOpenCL")),
        ("Python", f"{platform.python_version()}, {sys.executable}"),
        ("system", platform.platform()),
        *((name, _package(name)) for name in _PACKAGES),
    ]
    for name, text in rows:
        print(f"{name:14s} {text}", file=file if file is not None else sys.stdout)
