# SPDX-License-Identifier: MIT
"""What a call costs from Python: a blocking allreduce of one float, beside a loop in C on the same comm.

    python tools/python/examples/overhead.py                       # one rank
    python -m choir -n 2 tools/python/examples/overhead.py         # two processes

The loops take turns.  The loop in C is compiled by CC, or cc, with the headers of the project; it is left out where
there is none.
"""

import argparse
import ctypes as ct
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import choir
import numpy as np
from choir._library import lib

LOOP = """
#include <choir/choir.h>
int loop(__typeof__(choir_allreduce) *call, choir_comm *comm, float *x, int n)
{
	choir_buffer buffer = { .kind = CHOIR_BUFFER_HOST, .base = x };
	int failed = 0;
	for (int i = 0; i < n; i++)
		failed |= call(comm, buffer, buffer, 1, CHOIR_F32, CHOIR_OP_MAX, NULL, NULL) != CHOIR_SUCCESS;
	return failed;
}
"""
INCLUDE = Path(__file__).parents[3] / "include"


def compiled_loop():
    """The C function, or None."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "loop.c", Path(folder) / "loop.so"
        source.write_text(LOOP)
        command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", f"-I{INCLUDE}", source, "-o", library]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no loop in C: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
            return None
        loop = ct.CDLL(str(library)).loop
    loop.argtypes = [ct.c_void_p, ct.c_void_p, ct.c_void_p, ct.c_int]
    return loop


def start_comm(**settings):
    """The launcher's ranks, or one."""
    return choir.from_environment(**settings) if "RANK" in os.environ else choir.threads(1, **settings)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10000, help="a round")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    loop = compiled_loop()
    with start_comm(deadline=60) as comm:
        x = np.ones(1, np.float32)
        request = comm.allreduce_init(x, op="max")

        def in_c(n):
            call = ct.cast(lib.choir_allreduce, ct.c_void_p)
            if loop(call, comm._handle, x.ctypes.data, n):
                raise RuntimeError(lib.choir_last_error().decode())

        def in_python(n):
            for _ in range(n):
                comm.allreduce(x, op="max")

        def by_request(n):
            for _ in range(n):
                request.start()

        runs = {"Python": in_python, "Python, request.start()": by_request, "C": in_c}
        have_c = np.array([loop is not None], np.int32)
        comm.allreduce(have_c, op="min")  # all ranks make the same calls
        if not have_c[0]:
            del runs["C"]
        took = {name: [] for name in runs}
        for _ in range(given.rounds + 1):  # the first does not count
            for name, run in runs.items():
                comm.barrier()
                start = time.perf_counter()
                run(given.calls)
                took[name].append((time.perf_counter() - start) / given.calls * 1e6)
        request.close()
        if comm.rank == 0:
            medians = {name: statistics.median(some[1:]) for name, some in took.items()}
            print(f"allreduce of 4 B, {comm.size} ranks: us a call, medians of {given.rounds} x {given.calls}")
            for name, us in medians.items():
                more = f", {us - medians['C']:.2f} above C" if "C" in medians and name != "C" else ""
                print(f"  {name:24s} {us:7.2f}{more}")
        return 0 if x[0] == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
