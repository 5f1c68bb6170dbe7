# SPDX-License-Identifier: MIT
"""LightGBM trains data-parallel, through choir and through its own sockets in turns; the trees are compared.

    python -m choir -n 2 tools/python/examples/lightgbm_trees.py --turns 5

Prints a table of training times; exit status 1 if the trees (2 ranks) or the AUC differ.
"""

import argparse
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


def ports(comm):
    """A free port of this machine for each rank, as LightGBM wants to be told them."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        mine = np.array([sock.getsockname()[1]], np.int32)
    found = np.zeros(comm.size, np.int32)
    comm.allgather(mine, found)
    return [int(one) for one in found]


def train(comm, given, turn, machines=None):
    """The model as text, the AUC on rows that nobody trained on, and the seconds."""
    params = {"objective": "binary", "num_leaves": given.leaves, "verbosity": -1, "num_threads": 1, "seed": turn,
              **choir.lightgbm.parameters(comm)}  # fmt: skip
    if machines is not None:
        params.update(machines=",".join(f"127.0.0.1:{one}" for one in machines), local_listen_port=machines[comm.rank])
    x, y = data(given.rows, 100 * turn + comm.rank)
    comm.barrier()
    start = time.perf_counter()
    booster = lgb.train(params, lgb.Dataset(x, y), given.trees)
    seconds = time.perf_counter() - start
    if machines is not None:
        booster.free_network()
    x, y = data(20000, -turn % 1000 + 1000)
    return booster.model_to_string().partition("parameters:")[0], auc(y, booster.predict(x)), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--leaves", type=int, default=31)
    given = parser.parse_args()
    rows, same, worst = [], True, 0.0
    with choir.from_environment(deadline=300) as comm:
        for turn in range(given.turns):
            found = {}
            for name in sorted(("choir", "sockets"), reverse=turn % 2):
                if name == "sockets":
                    found[name] = train(comm, given, turn, ports(comm))
                    continue
                with choir.lightgbm.network(comm):
                    found[name] = train(comm, given, turn)
            ours, theirs = found["choir"], found["sockets"]
            rows.append((ours[2], theirs[2]))
            same &= ours[0] == theirs[0]
            worst = max(worst, abs(ours[1] - theirs[1]))
        if comm.rank == 0:
            print(f"LightGBM {lgb.__version__}, {comm.size} ranks: seconds of training {given.trees} trees")
            print("  choir  ", *(f"{one[0]:7.2f}" for one in rows))
            print("  sockets", *(f"{one[1]:7.2f}" for one in rows))
            print(f"  the trees are {'identical' if same else 'not identical'}; AUC {ours[1]:.4f}, apart {worst:.1e}")
        return 0 if (same or comm.size > 2) and worst < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
