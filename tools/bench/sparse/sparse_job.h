/* SPDX-License-Identifier: MIT */
/* A sparse row of the table, as one rank sees it. */
#ifndef BENCH_SPARSE_JOB_H
#define BENCH_SPARSE_JOB_H

#include "bench/ways/contender.h"
#include "bench/cases/job.h"
#include "bench/data/memory.h"
#include "sparse_data.h"

struct sparse_job {
	const struct job *job;
	struct sparse_shape shape;
	struct sparse_rows mine, expected;
	size_t all_rows;             /* of all ranks, as they send them */
	size_t ind_bytes, row_bytes; /* of one index, of one row of values */
};

/* The four buffers of a call, guarded like check.h's. */
struct sparse_buffers {
	struct memory send_ind, send_val, recv_ind, recv_val;
	unsigned char *scratch;
};

bool sparse_buffers_init(struct sparse_buffers *buffers, const struct sparse_job *sparse);
void sparse_buffers_fini(struct sparse_buffers *buffers);

/* sparse_buffers_fill: inputs written, outputs all sentinel.  sparse_buffers_count: wrong rows and broken sentinels,
 * given the number of rows that came out. */
bool sparse_buffers_fill(struct sparse_buffers *buffers, const struct sparse_job *sparse);
bool sparse_buffers_count(struct sparse_buffers *buffers, const struct sparse_job *sparse, size_t rows,
                          uint64_t *wrong_p);

/* sparse_ours_open: choir; algorithm NULL = the model chooses; the name is the caller's.  sparse_ours_fits: makes one
 * call; false, on all ranks, if it failed.  Collective. */
struct contender *sparse_ours_open(const struct sparse_job *sparse, const char *algorithm);
bool sparse_ours_fits(struct contender *ours);
const char *sparse_ours_algorithm(const struct contender *ours);
const choir_sparse_stats *sparse_ours_stats(const struct contender *ours); /* of the first call */

/* sparse_vs_open: way: "mpi", "staged", "bound" or "dense".  NULL where it cannot do this, why_not says why. */
struct contender *sparse_vs_open(const struct sparse_job *sparse, const char *way, const char **why_not);

/* sparse_dense_open: --vs dense: an allreduce of the whole tensor, as who has no sparse one would make it.  NULL if
 * there is no memory. */
struct contender *sparse_dense_open(const struct sparse_job *sparse);

/* sparse_bound_open: --vs bound: bare loops.  NULL, on all ranks, if there is no memory.  sparse_bound_unfit: NULL, or
 * why they cannot do this. */
const char *sparse_bound_unfit(const struct sparse_job *sparse);
struct contender *sparse_bound_open(const struct sparse_job *sparse);

#endif
