# SPDX-License-Identifier: MIT
"""The hosts of hosts.sh, two or, for plain and torch, more; no launcher: rank 0 is here, each other rank on a host of
its own; MPI is chosen without being asked for.

usage: hosts.py [plain | torch [TURNS]]: so many starts one after another, each of which must end by itself within its
time; hosts.py lightgbm ARGUMENT...: the example that compares trees; hosts.py lengths: which messages the ranks agree
on; hosts.py killed: rank 1 is killed, and rank 0 is told within a second.   77: the program's package is not there.
"""

import ctypes
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TREES = Path(__file__).parents[2] / "tools" / "python" / "examples" / "lightgbm_trees.py"


def plain():
    import choir
    import numpy as np

    with choir.from_environment(deadline=30) as comm:
        x = np.full(300000, comm.rank + 1)
        comm.allreduce(x)
        y = np.zeros(600000, x.dtype)
        comm.allgather(x, y)
        assert (y == 3).all()
        about = comm.describe()
        assert about["nodes_because"] == APART, about["nodes_because"]
        assert comm.rank > 0 or APART in Path(os.environ["HOSTS_LOG"]).read_text()
        start_is_refused(comm)
        print(f"{comm.nodes} nodes by {about['transport']}")


def start_is_refused(comm):
    """from_gather_start starts no MPI."""
    import choir

    def gather(mine):
        whole = bytearray(comm.size * len(mine))
        comm.allgather(mine, whole)
        return bytes(whole)

    error = None
    try:
        choir.from_gather_start(gather, comm.rank, comm.size).wait()
    except choir.UnsupportedError as caught:
        error = caught
    assert error is not None and "share no memory" in str(error) and APART in str(error), error


def torch():
    """The default group, and groups made of it."""
    import choir.torch  # noqa: F401
    import torch
    import torch.distributed as dist

    dist.init_process_group("choir", "env://")
    rank, size = dist.get_rank(), dist.get_world_size()
    for members in (list(range(size)), [0, size - 1], [1], [0, 1]):
        group = dist.new_group(members)
        if rank not in members:
            continue
        x = torch.full((1000,), rank + 1.0)
        dist.all_reduce(x, group=group)
        assert (x == sum(member + 1 for member in members)).all(), (members, x)
    about = dist.distributed_c10d._get_default_group().comm.describe()
    dist.barrier()
    dist.destroy_process_group()
    print(f"{about['nodes']} nodes by {about['transport']}")


def lengths():
    """Long messages if MPI was asked by both ranks to send them without a rendezvous; what it asked with is gone."""
    import choir
    import numpy as np

    variable = b"UCX_RNDV_THRESH"
    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    before = get(variable)
    with choir.from_environment(deadline=30) as comm:
        assert get(variable) == before, get(variable)
        x = np.arange(100000) + comm.rank
        comm.allreduce(x)
        assert (x == 2 * np.arange(100000) + 1).all()
        print(comm.describe()["message_bytes"])


def die(keyed):
    """Rank 1 is killed while rank 0 waits for its call; told as the program KILLED of test_lightgbm.py tells it."""
    import choir
    import numpy as np

    x = np.ones(1000)
    comm = choir.from_environment(deadline=60, keyed=keyed)
    try:
        for turn in range(20):
            if turn == 10 and comm.rank == 1:
                print(f"died at {time.monotonic()}", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            comm.allreduce(x, key=f"turn {turn}" if keyed else None)
    except choir.PeerDeadError as error:
        print(f"told at {time.monotonic()}: {error}", flush=True)


PROGRAMS = {
    "plain": plain, "torch": torch, "lengths": lengths, "die": lambda: die(False), "die_keyed": lambda: die(True),
}  # fmt: skip
SIZE = len(os.environ.get("HOSTS_LIST", "").split(","))
APART = "processes 0 and 1 of one machine are in different network namespaces"


def start(host, rank, port, program, log, settings_of_1):
    """program: the words of its command; log: a file for rank 0's."""
    settings = dict(MASTER_ADDR="10.77.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(SIZE), RANK=str(rank))
    env = dict(os.environ, **settings, CHOIR_SECRET="0123456789abcdef", OMP_NUM_THREADS="1")
    if rank == 0:
        env.update(CHOIR_LOG=f"warn:{log}", HOSTS_LOG=str(log))
    if rank == 1:
        env.update(settings_of_1)
    command = f"exec {sys.executable} -W ignore {program}"
    return subprocess.Popen(
        [os.environ["HOSTS_RSH"], f"10.77.0.{host}", command], env=env, stdout=subprocess.PIPE, text=True
    )


def run(program, turn=0, status_of_1=0, **settings_of_1):
    """What each rank said; rank 1 has some more settings in its environment."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        port = 29400 + turn % 1000
        all_of_them = [start(rank + 1, rank, port, program, log, settings_of_1) for rank in range(SIZE)]
        try:
            said = [one.communicate(timeout=250)[0] for one in all_of_them]
        finally:
            for one in all_of_them:
                one.kill()
    assert [one.returncode for one in all_of_them] == [0, status_of_1, *[0] * (SIZE - 2)], (turn, said)
    return said


def main(program, turns):
    slowest = 0.0
    for turn in range(turns):
        began = time.monotonic()
        said = run(f"{__file__} {program} rank", turn)
        last = [one.splitlines()[-1] for one in said]
        assert last == [f"{SIZE} nodes by MPI"] * SIZE, (turn, said)
        slowest = max(slowest, time.monotonic() - began)
    print(f"{turns} starts, the slowest took {slowest:.1f} s")


def trees(arguments):
    """Those of LightGBM's own sockets between the two hosts."""
    said = run(" ".join([str(TREES), *arguments]))[0]
    print(said)
    assert "2 nodes by MPI" in said and "the trees are identical" in said


def agree():
    """A rank whose user has set a limit decides for both."""
    program = f"{__file__} lengths rank"
    assert run(program) == ["65536\n"] * 2
    assert run(program, 1, UCX_RNDV_THRESH="32K") == ["16384\n"] * 2


def told(program):
    """The error names the rank within a second, of which a loaded machine may need several tries."""
    for turn in range(5):
        said = run(program, turn, -signal.SIGKILL)
        sentence = re.search(r"told at ([\d.]+): (.*rank 1.* dead.*)", said[0])
        assert sentence, said
        seconds = float(sentence[1]) - float(re.search(r"died at ([\d.]+)", said[1])[1])
        print(f"{seconds:.2f} s: {sentence[2]}")
        if seconds < 1:
            return
    sys.exit(f"told after {seconds} s")


def killed():
    for name in ("die", "die_keyed"):
        told(f"{__file__} {name} rank")
    if importlib.util.find_spec("lightgbm") is None:
        return
    from test_lightgbm import KILLED

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "killed.py"
        program.write_text(KILLED)
        told(str(program))


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if sys.argv[2:] == ["rank"]:
        PROGRAMS[chosen]()
    elif chosen == "lengths":
        agree()
    elif chosen == "killed":
        killed()
    elif chosen != "plain" and importlib.util.find_spec(chosen) is None:
        print(f"skipped: there is no {chosen} here")
        sys.exit(77)
    elif chosen == "lightgbm":
        trees(sys.argv[2:])
    else:
        main(chosen, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
