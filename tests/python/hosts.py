# SPDX-License-Identifier: MIT
"""Two hosts of hosts.sh, no launcher: rank 0 here, rank 1 on the other; MPI is chosen without being asked for.

usage: hosts.py [TURNS]: so many starts one after another; each must end by itself within its time.
"""

import os
import subprocess
import sys
import time

import choir
import numpy as np


def rank():
    with choir.from_environment(deadline=30) as comm:
        x = np.full(300000, comm.rank + 1)
        comm.allreduce(x)
        y = np.zeros(600000, x.dtype)
        comm.allgather(x, y)
        assert (y == 3).all()
        print(f"{comm.nodes} nodes by {comm.describe()['transport']}")


def start(host, rank, port):
    settings = dict(MASTER_ADDR="10.77.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", CHOIR_SECRET="0123456789abcdef")
    env = dict(os.environ, **settings, RANK=str(rank))
    command = [os.environ["HOSTS_RSH"], f"10.77.0.{host}", f"exec {sys.executable} {__file__} rank"]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def main(turns):
    slowest = 0.0
    for turn in range(turns):
        began = time.monotonic()
        both = [start(rank + 1, rank, 29400 + turn % 1000) for rank in range(2)]
        try:
            said = [one.communicate(timeout=60)[0] for one in both]
        finally:
            for one in both:
                one.kill()
        assert [one.returncode for one in both] == [0, 0], (turn, said)
        assert said == ["2 nodes by MPI\n"] * 2, (turn, said)
        slowest = max(slowest, time.monotonic() - began)
    print(f"{turns} starts, the slowest took {slowest:.1f} s")


if __name__ == "__main__":
    rank() if sys.argv[1:] == ["rank"] else main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
