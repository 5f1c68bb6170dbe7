# SPDX-License-Identifier: MIT
"""LightGBM trains data-parallel, through choir and through its own sockets, a tree of each in turns, and the trees are
compared.

    python -m choir -n 2 tools/python/examples/lightgbm_trees.py --turns 5

Prints a table of training times; exit status 1 if the AUC differ, or the trees of 2 ranks.  --device gpu: histograms by
OpenCL, PoCL's for instance, in float32, whose sums may differ from run to run, or with --double in float64; then only
the AUC are compared.
"""

import argparse
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import lightgbm as lgb
import numpy as np
from lightgbm.basic import _LIB, _safe_call

import choir
import choir.lightgbm


def data(rows, seed):
    """Rows of 28 columns, and labels that depend on some of them."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, 28)).astype(np.float32)
    score = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + 0.5 * x[:, 3] + 0.3 * random.standard_normal(rows)
    return x, (score > 0).astype(np.float32)


def auc(label, score):
    """The area under the curve, by ranks of the scores."""
    order = score.argsort(kind="stable").argsort() + 1
    n = label.sum()
    return (order[label > 0].sum() - n * (n + 1) / 2) / (n * (len(label) - n))


def machines(comm):
    """An address and a free port for each rank, as LightGBM wants to be told them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((os.environ.get("MASTER_ADDR", "127.0.0.1"), 9))  # sends nothing, and shows the address
        address = socket.inet_aton(sock.getsockname()[0])
    with socket.socket() as sock:
        sock.bind(("", 0))
        mine = np.array([*address, *divmod(sock.getsockname()[1], 256)], np.uint8)
    found = np.zeros((comm.size, 6), np.uint8)
    comm.allgather(mine, found)
    return [(".".join(map(str, one[:4])), 256 * int(one[4]) + int(one[5])) for one in found]


@contextmanager
def sockets(comm):
    """LightGBM's own network on this thread, connected."""
    found = machines(comm)
    listed = ",".join(f"{address}:{port}" for address, port in found)
    _safe_call(_LIB.LGBM_NetworkInit(listed.encode(), found[comm.rank][1], 120, comm.size))
    try:
        yield
    finally:
        _safe_call(_LIB.LGBM_NetworkFree())


class Trainer:
    """Trains on a thread of its own, since LightGBM keeps its network by thread."""

    def __init__(self, comm, given, seed, network):
        self.comm, self.network, self.seconds = comm, network(comm), 0.0
        self.params = {"objective": "binary", "num_leaves": given.leaves, "verbosity": -1, "num_threads": 1,
                       "seed": seed, "device_type": given.device, "max_bin": given.bins, "gpu_use_dp": given.double,
                       **choir.lightgbm.parameters(comm, given.learner)}  # fmt: skip
        self.rows = data(given.rows, 100 * seed + comm.rank)
        self.thread = ThreadPoolExecutor(1)

    def __enter__(self):
        self.thread.submit(self.network.__enter__).result()
        return self

    def __exit__(self, *error):
        self.thread.submit(self.network.__exit__, *error).result()
        self.thread.shutdown()

    def construct(self):
        self.booster = lgb.Booster(self.params, lgb.Dataset(*self.rows, params=self.params))

    def timed(self, work):
        self.comm.barrier()
        start = time.perf_counter()
        work()
        self.seconds += time.perf_counter() - start

    def step(self, tree):
        self.thread.submit(self.timed, self.booster.update if tree else self.construct).result()

    def found(self, x, y):
        """The model as text, the AUC on rows that nobody trained on, and the seconds."""
        return self.booster.model_to_string().partition("parameters:")[0], auc(y, self.booster.predict(x)), self.seconds


def turn(comm, given, seed):
    """Both networks train the same trees, a tree of each in turns."""
    with Trainer(comm, given, seed, choir.lightgbm.network) as ours, Trainer(comm, given, seed, sockets) as theirs:
        for step in range(given.repeat * (given.trees + 1)):
            for trainer in (ours, theirs) if (step + seed) % 2 else (theirs, ours):
                trainer.step(step % (given.trees + 1))
        rows = data(20000, 10**9 + seed)
        bins = max(map(ours.booster.train_set.feature_num_bin, range(28)))
        return ours.found(*rows), theirs.found(*rows), bins


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=1, help="trainings a turn, their times summed (1)")
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--bins", type=int, default=255, help="max_bin (255); OpenCL kernels for 15 are built soonest")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="LightGBM's learner (cpu)")
    parser.add_argument("--double", action="store_true", help="the OpenCL learner sums in float64")
    parser.add_argument("--learner", choices=("data", "voting"), default="data", help="tree_learner (data)")
    given = parser.parse_args()
    rows, same, worst = [], True, 0.0
    with choir.from_environment(deadline=300) as comm:
        turn(comm, given, 0)  # not timed: OpenCL's kernels are built
        for seed in range(given.turns):
            ours, theirs, bins = turn(comm, given, seed)
            rows.append((ours[2], theirs[2]))
            same &= ours[0] == theirs[0]
            worst = max(worst, abs(ours[1] - theirs[1]))
        if comm.rank == 0:
            where = f"{comm.size} ranks, {comm.nodes} nodes by {comm.describe()['transport']}"
            trees = f"seconds of training {given.repeat * given.trees} trees"
            print(f"LightGBM {lgb.__version__}, {given.device}, {bins} bins, {where}: {trees}")
            print("  choir  ", *(f"{one[0]:7.2f}" for one in rows))
            print("  sockets", *(f"{one[1]:7.2f}" for one in rows))
            print(f"  choir is ahead in {sum(a < b for a, b in rows)} of {given.turns}")
            print(f"  the trees are {'identical' if same else 'not identical'}; AUC {ours[1]:.4f}, apart {worst:.1e}")
        if given.device == "gpu":
            return 0 if worst < (1e-9 if given.double else 1e-2) else 1
        return 0 if (same or comm.size > 2) and worst < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
