# SPDX-License-Identifier: MIT
"""The selections of choir beside torch.topk, on one tensor: a row each, with the median of their times.

    python3 tools/python/examples/select_table.py --n 14700000 --density 0.02

choir selects from a buffer of the default OpenCL device (CHOIR_DEVICE chooses another) into buffers there, or with
--host from and into NumPy arrays; torch.topk from the same values on the CPU.  What they select is compared with what
NumPy says.  The calls take turns, so that whatever else the machine does meets all of them.  Needs NumPy, PyTorch for
the last row.
"""

from __future__ import annotations

import argparse
import ctypes as ct
import ctypes.util
import statistics
import sys
import time
from typing import Any, Callable

import numpy as np

import choir


class Memory:
    """An array of a call: a cl_mem of the device with these values, or the NumPy array itself."""

    def __init__(self, device: choir.Device | None, array: np.ndarray) -> None:
        self.operand: Any = array
        self._lib, self._mem, self._device, self._dtype = None, None, device, array.dtype
        if device is None:
            return
        self._lib = ct.CDLL(ctypes.util.find_library("OpenCL"))
        create = self._lib.clCreateBuffer
        create.restype, create.argtypes = ct.c_void_p, [ct.c_void_p, ct.c_uint64, ct.c_size_t, ct.c_void_p, ct.c_void_p]
        read_write, copy_host = 1 << 0, 1 << 5
        self._mem = create(device.context, read_write | copy_host, array.nbytes, array.ctypes.data, None)
        if self._mem is None:
            raise MemoryError(f"the device has no room for {array.nbytes} bytes")
        self.operand = choir.View(self._mem, array.dtype, array.size, kind="mem")

    def read(self, count: int) -> np.ndarray:
        """The first elements."""
        if self._device is None:
            return self.operand[:count]
        out = np.empty(count, self._dtype)
        choir.pairs.gather_rows(np.arange(count), self.operand, out, rows=self.operand.count, device=self._device)
        return out

    def __del__(self) -> None:
        if self._mem is not None:
            self._lib.clReleaseMemObject(ct.c_void_p(self._mem))


def median_times(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """In ms.  The first turn, which builds kernels and touches memory, does not count."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if turn > 0:
                took[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(some) for name, some in took.items()}


def torch_call(values: np.ndarray, k: int) -> Callable[[], Any] | None:
    try:
        import torch
    except ImportError:
        print("# no torch here: its row is left out", file=sys.stderr)
        return None
    tensor = torch.from_numpy(values)
    return lambda: torch.topk(tensor.abs(), k, sorted=False)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--n", type=int, default=14_700_000, help="elements, f32, normal")
    options.add_argument("--density", type=float, default=0.02, help="the part of them that is selected")
    options.add_argument("--turns", type=int, default=15)
    options.add_argument("--host", action="store_true", help="NumPy arrays instead of device buffers")
    args = options.parse_args()
    k = max(1, int(args.n * args.density))

    values = np.random.default_rng(1).standard_normal(args.n, np.float32)
    kth = np.partition(np.abs(values), args.n - k)[args.n - k]
    expected = np.flatnonzero(np.abs(values) >= kth)
    device = None if args.host else choir.Device.default()
    tensor = Memory(device, values)
    room = len(expected)  # ties of the k-th
    out = [Memory(device, np.zeros(room, dtype)) for dtype in (np.int32, np.float32)]
    operands = tuple(one.operand for one in out)
    calls: dict[str, Callable[[], Any]] = {
        "choir select_top": lambda: choir.pairs.select_top(tensor.operand, k, out=operands, device=device),
        "choir select_above": lambda: choir.pairs.select_above(tensor.operand, float(kth), out=operands, device=device),
    }
    by_torch = torch_call(values, k)
    if by_torch is not None:
        calls["torch.topk"] = by_torch

    for name, count in ("choir select_top", k), ("choir select_above", room):
        calls[name]()
        found, came = out[0].read(count), out[1].read(count)
        chosen = expected[np.abs(values[expected]) > kth] if count < room else expected
        if not np.isin(chosen, found).all() or not np.array_equal(values[found], came):
            print(f"{name} selected something else than NumPy", file=sys.stderr)
            return 1
    print(f"# {args.n} f32, the {k} largest; {'NumPy arrays' if device is None else device.describe()['name']}")
    for name, ms in median_times(calls, args.turns).items():
        print(f"{name:20} {ms:9.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
