/* SPDX-License-Identifier: MIT */
/* Where the ranks meet outside choir: barriers, the gathering of times, a shared mapping.  Ranks are the processes of
 * MPI or threads of one process.  Every function but rank-local ones is collective over the world and blocks. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of choir-bench. */
enum {
	EXIT_FINE = 0,
	EXIT_WRONG = 1, /* wrong data, or a call failed */
	EXIT_USAGE = 2,
	EXIT_LATE = 3,
	EXIT_SLOW = 4, /* below --min-busbw, or above --fail-over */
	EXIT_NO_DEVICE = 77,
};

struct meeting;

struct world {
	int rank, size;
	int node_rank; /* the place among the ranks of this machine */
	bool one_node;
	bool has_mpi;
	MPI_Comm comm;           /* valid with has_mpi */
	struct meeting *meeting; /* of the ranks of one node; else NULL, and MPI's own barrier it is */
};

/* world_open_mpi: initialises MPI with MPI_THREAD_MULTIPLE; *level_p is what it gave.  world_close_mpi finalises it;
 * the process is to end with that status. */
bool world_open_mpi(struct world *world, int *level_p);
void world_close_mpi(struct world *world, int status);

/* world_run_local: runs fn(world, ctx) in n threads, each bound to a core of its own if there are so many, and returns
 * the largest of their results. */
int world_run_local(int n, int (*fn)(struct world *world, void *ctx), void *ctx);

void world_barrier(struct world *world);

/* world_crowded: whether ranks share cores; false if they are on several nodes. */
bool world_crowded(const struct world *world);

/* world_warn_shared_cores: rank 0 says on standard error which ranks may run on one core, and what to do about it. */
void world_warn_shared_cores(struct world *world);

/* world_gather: every rank's `mine`, in rank order, to `all` on every rank. */
void world_gather(struct world *world, const void *mine, size_t bytes, void *all);

/* world_max: the largest of all ranks' values; elementwise over n of them, in place. */
void world_max(struct world *world, double *values, size_t n);
int world_max_int(struct world *world, int value);

/* world_share: the same zeroed bytes in every rank, NULL on all if one of them cannot have them.  One node only. */
void *world_share(struct world *world, size_t bytes);
void world_unshare(struct world *world, void *shared, size_t bytes);

/* world_fail: ends all ranks with that exit status; not collective. */
_Noreturn void world_fail(struct world *world, int status);

#endif
