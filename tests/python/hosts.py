# SPDX-License-Identifier: MIT
"""Two hosts of hosts.sh, no launcher: rank 0 here, rank 1 on the other; MPI is chosen without being asked for.

usage: hosts.py [PROGRAM [TURNS]]: plain, torch or lightgbm; so many starts one after another, each of which must end by
itself within its time.   77: the program's package is not there.
"""

import importlib.util
import os
import subprocess
import sys
import time


def plain():
    import choir
    import numpy as np

    with choir.from_environment(deadline=30) as comm:
        x = np.full(300000, comm.rank + 1)
        comm.allreduce(x)
        y = np.zeros(600000, x.dtype)
        comm.allgather(x, y)
        assert (y == 3).all()
        print(f"{comm.nodes} nodes by {comm.describe()['transport']}")


def torch():
    """The default group, and groups made of it."""
    import choir.torch  # noqa: F401
    import torch
    import torch.distributed as dist

    dist.init_process_group("choir", "env://")
    rank = dist.get_rank()
    for group in (None, dist.new_group([0, 1]), dist.new_group([1])):
        if group is dist.GroupMember.NON_GROUP_MEMBER:
            continue
        x = torch.full((1000,), rank + 1.0)
        dist.all_reduce(x, group=group)
        assert x[0] == (3 if dist.get_world_size(group) == 2 else 2)
    about = dist.distributed_c10d._get_default_group().comm.describe()
    dist.barrier()
    dist.destroy_process_group()
    print(f"{about['nodes']} nodes by {about['transport']}")


def lightgbm():
    """The trees of both ranks are the same, and learnt something."""
    import choir
    import choir.lightgbm
    import lightgbm
    import numpy as np

    with choir.from_environment(deadline=60) as comm, choir.lightgbm.network(comm):
        x = np.random.default_rng(comm.rank).standard_normal((2000, 5))
        y = (x[:, 0] * x[:, 1] > 0).astype(float)
        params = {"objective": "binary", "verbosity": -1, "num_threads": 1, **choir.lightgbm.parameters(comm)}
        booster = lightgbm.train(params, lightgbm.Dataset(x, y), 20)
        trees = np.frombuffer(booster.model_to_string().partition("parameters:")[0].encode(), np.uint8).copy()
        first = trees.copy()
        comm.broadcast(first)
        assert (first == trees).all()
        assert ((booster.predict(x) > 0.5) == y).mean() > 0.9
        print(f"{comm.nodes} nodes by {comm.describe()['transport']}")


PROGRAMS = {"plain": plain, "torch": torch, "lightgbm": lightgbm}


def start(host, rank, port, program):
    settings = dict(MASTER_ADDR="10.77.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", CHOIR_SECRET="0123456789abcdef")
    env = dict(os.environ, **settings, RANK=str(rank), OMP_NUM_THREADS="1")
    command = f"exec {sys.executable} -W ignore {__file__} {program} rank"
    return subprocess.Popen(
        [os.environ["HOSTS_RSH"], f"10.77.0.{host}", command], env=env, stdout=subprocess.PIPE, text=True
    )


def main(program, turns):
    slowest = 0.0
    for turn in range(turns):
        began = time.monotonic()
        both = [start(rank + 1, rank, 29400 + turn % 1000, program) for rank in range(2)]
        try:
            said = [one.communicate(timeout=250)[0] for one in both]
        finally:
            for one in both:
                one.kill()
        assert [one.returncode for one in both] == [0, 0], (turn, said)
        last = [one.splitlines()[-1] for one in said]
        assert last == ["2 nodes by MPI"] * 2, (turn, said)
        slowest = max(slowest, time.monotonic() - began)
    print(f"{turns} starts, the slowest took {slowest:.1f} s")


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if sys.argv[2:] == ["rank"]:
        PROGRAMS[chosen]()
    elif chosen != "plain" and importlib.util.find_spec(chosen) is None:
        print(f"skipped: there is no {chosen} here")
        sys.exit(77)
    else:
        main(chosen, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
