/* SPDX-License-Identifier: MIT */
/* A job: one row of the table, as one rank sees it. */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include "bench/args/args.h"
#include "bench/data/memory.h"
#include "bench/data/values.h"

#include <choir/choir.h>

enum { JOB_MAX_RANKS = 256 };

struct bench_case;
struct world;

struct job {
	const struct args *args;
	const struct bench_case *what;
	struct world *world;
	choir_device *device;
	choir_comm *comm;
	int rank, n;
	choir_dtype dtype;
	struct memory_source memory;
	choir_op op; /* CHOIR_OP_LOCAL where nothing is reduced */
	int root;
	bool in_place;
	size_t elem_bytes;
	/* Set by the case's shape(): */
	size_t bytes;                  /* what the size column shows */
	size_t count;                  /* elements, as given to the call */
	size_t send_count, recv_count; /* elements of this rank's buffers; 0 = none */
	size_t send_at, recv_at;       /* in place: where the two begin in the shared buffer, in elements */
	size_t recv_counts[JOB_MAX_RANKS]; /* where blocks differ: every rank's; alltoallv: what I get from each */
	size_t send_counts[JOB_MAX_RANKS]; /* alltoallv: what I send to each */
};

static inline struct values job_values(const struct job *job)
{
	return (struct values){ .dtype = job->dtype, .op = job->op, .seed = 1, .n_ranks = job->n };
}

#endif
