# SPDX-License-Identifier: MIT
"""LightGBM trains data-parallel, through choir and through its own sockets in turns; the trees are compared.

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

import lightgbm as lgb
import numpy as np

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


def train(comm, given, turn, sockets=None):
    """The model as text, the AUC on rows that nobody trained on, and the seconds."""
    params = {"objective": "binary", "num_leaves": given.leaves, "verbosity": -1, "num_threads": 1, "seed": turn,
              "device_type": given.device, "max_bin": given.bins, "gpu_use_dp": given.double,
              **choir.lightgbm.parameters(comm, given.learner)}  # fmt: skip
    if sockets is not None:
        params["machines"] = ",".join(f"{address}:{port}" for address, port in sockets)
        params["local_listen_port"] = sockets[comm.rank][1]
    x, y = data(given.rows, 100 * turn + comm.rank)
    comm.barrier()
    start = time.perf_counter()
    booster = lgb.train(params, lgb.Dataset(x, y), given.trees)
    seconds = time.perf_counter() - start
    if sockets is not None:
        booster.free_network()
    x, y = data(20000, -turn % 1000 + 1000)
    return booster.model_to_string().partition("parameters:")[0], auc(y, booster.predict(x)), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--bins", type=int, default=255, help="max_bin (255); OpenCL kernels for 15 are built soonest")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="LightGBM's learner (cpu)")
    parser.add_argument("--double", action="store_true", help="the OpenCL learner sums in float64")
    parser.add_argument("--learner", choices=("data", "voting"), default="data", help="tree_learner (data)")
    given = parser.parse_args()
    rows, same, worst = [], True, 0.0
    with choir.from_environment(deadline=300) as comm:
        with choir.lightgbm.network(comm):
            train(comm, given, 0)  # not timed: OpenCL's kernels are built
        for turn in range(given.turns):
            found = {}
            for name in sorted(("choir", "sockets"), reverse=turn % 2):
                if name == "sockets":
                    found[name] = train(comm, given, turn, machines(comm))
                    continue
                with choir.lightgbm.network(comm):
                    found[name] = train(comm, given, turn)
            ours, theirs = found["choir"], found["sockets"]
            rows.append((ours[2], theirs[2]))
            same &= ours[0] == theirs[0]
            worst = max(worst, abs(ours[1] - theirs[1]))
        if comm.rank == 0:
            where = f"{comm.size} ranks, {comm.nodes} nodes by {comm.describe()['transport']}"
            print(f"LightGBM {lgb.__version__}, {given.device}, {where}: seconds of training {given.trees} trees")
            print("  choir  ", *(f"{one[0]:7.2f}" for one in rows))
            print("  sockets", *(f"{one[1]:7.2f}" for one in rows))
            print(f"  choir is ahead in {sum(a < b for a, b in rows)} of {given.turns}")
            print(f"  the trees are {'identical' if same else 'not identical'}; AUC {ours[1]:.4f}, apart {worst:.1e}")
        if given.device == "gpu":
            return 0 if worst < (1e-9 if given.double else 1e-2) else 1
        return 0 if (same or comm.size > 2) and worst < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
