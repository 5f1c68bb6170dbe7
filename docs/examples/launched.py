# SPDX-License-Identifier: MIT
"""The program that docs/launching.md starts by each launcher: says where its rank is, and sums over all ranks."""

import os

import choir
import numpy as np

# A launcher of MPI's tells the rank to MPI alone, all others tell it in RANK and WORLD_SIZE or Slurm's variables.
by_mpi = "PMI_RANK" in os.environ and "RANK" not in os.environ
with choir.world(deadline=60) if by_mpi else choir.from_environment(deadline=60) as comm:
    x = np.full(1000, comm.rank + 1.0)
    comm.allreduce(x)
    about = comm.describe()
    cores = len(os.sched_getaffinity(0))
    line = f"rank {comm.rank} of {comm.size}: {x[0]:g}; nodes {about['node_sizes']} by {about['transport']}"
    print(f"{line}; {cores} cores\n", end="", flush=True)
    if comm.rank == 0 and "nodes_because" in about:
        print(f"separate nodes: {about['nodes_because']}\n", end="", flush=True)
