# SPDX-License-Identifier: MIT
"""choir.from_mpi4py and from_mpi4py_start: two processes of mpiexec.  usage: mpi4py_ranks.py MPIEXEC LIBCHOIR-MPI,
which runs itself on the ranks.

mpi4py's wheel asks for libmpi.so.12, the name of MPICH's library wherever it is not Debian's: a link says that it is.
"""

import os
import re
import subprocess
import sys
import tempfile


def rank():
    import choir
    import numpy as np
    from mpi4py import MPI

    with choir.from_mpi4py(MPI.COMM_WORLD, deadline=30) as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        reverse = MPI.COMM_WORLD.Split(0, -comm.rank)
        with choir.from_mpi4py_start(reverse, deadline=30).wait() as other:
            said = f"rank {comm.rank} of {comm.size}: {x[999]}, {other.rank} of {other.size}"
    print(said + "\n", end="", flush=True)


def main(mpiexec, library):
    linked = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    mpich = re.search(r"=> (\S*/lib(?:mpich|mpi)\.so\.12)", linked)
    if mpich is None:
        print("skipped: libchoir-mpi's MPI is not of MPICH's ABI 12, as mpi4py's wheel is")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(mpich.group(1), f"{folder}/libmpi.so.12")
        env = dict(os.environ, LD_LIBRARY_PATH=folder)
        command = [mpiexec, "-n", "2", sys.executable, __file__, "rank"]
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100, env=env).stdout
    assert sorted(out.splitlines()) == ["rank 0 of 2: 3, 1 of 2", "rank 1 of 2: 3, 0 of 2"], out


if __name__ == "__main__":
    rank() if sys.argv[1] == "rank" else main(*sys.argv[1:])
