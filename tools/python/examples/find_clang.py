# SPDX-License-Identifier: MIT
"""tinygrad copies by its CPU device, which compiles by CC or "clang"; PoCL's package brings a clang of another name."""

import os
import shutil


def find_clang():
    """Sets CC to the first clang of the path, unless it is set: before tinygrad is imported."""
    names = ("clang", *(f"clang-{version}" for version in range(30, 12, -1)))
    os.environ.setdefault("CC", next(filter(shutil.which, names), "clang"))
