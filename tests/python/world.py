# SPDX-License-Identifier: MIT
"""choir.world(): two processes of mpiexec.  usage: world.py MPIEXEC, which runs itself again on the ranks"""

import os
import signal
import subprocess
import sys

import choir
import numpy as np


def fork_child():
    """One that ends as programs do, and leaves MPI alone."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


def rank():
    with choir.world(deadline=30) as comm:
        x = np.full(1000, comm.rank + 1)
        event = comm.allreduce(x, wait=False)
        fork_child()
        event.wait()
        print(f"rank {comm.rank} of {comm.size}: {x[999]}\n", end="", flush=True)


def main(mpiexec):
    command = [mpiexec, "-n", "2", sys.executable, __file__, "rank"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2: 3", "rank 1 of 2: 3"], done.stdout
    assert "choir" not in done.stderr, done.stderr


if __name__ == "__main__":
    rank() if sys.argv[1] == "rank" else main(sys.argv[1])
