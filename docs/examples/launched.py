# SPDX-License-Identifier: MIT
"""The program that docs/launching.md starts in many ways: says where its rank is, and sums over all ranks."""

import os

import choir
import numpy as np

with choir.from_environment(deadline=60) as comm:
    x = np.full(1000, comm.rank + 1.0)
    comm.allreduce(x)
    about = comm.describe()
    cores = len(os.sched_getaffinity(0))
    line = f"rank {comm.rank} of {comm.size}: {x[0]:g}; nodes {about['node_sizes']} by {about['transport']}"
    print(f"{line}; {cores} cores\n", end="", flush=True)
    if comm.rank == 0 and "nodes_because" in about:
        print(f"separate nodes: {about['nodes_because']}\n", end="", flush=True)
