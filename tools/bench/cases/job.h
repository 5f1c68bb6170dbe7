/* SPDX-License-Identifier: MIT */
/* A job: one row of the table, as one rank sees it. */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include "bench/args/args.h"
#include "bench/data/memory.h"
#include "lib/collective_data.h"

struct world;

struct job {
	const struct args *args;
	const struct collective_row *what;
	struct world *world;
	choir_device *device;
	choir_comm *comm;
	bool keyed; /* the comm is: calls have keys */
	int rank, n;
	choir_dtype dtype;
	struct memory_source memory;
	choir_op op; /* CHOIR_OP_LOCAL where nothing is reduced */
	int root;
	bool in_place;
	size_t elem_bytes;
	/* Set by job_size: */
	size_t bytes; /* what the size column shows */
	struct collective_shape shape;
	struct collective_layout layout;
};

/* job_size: the sizes of a job of so many bytes in all, or of one element a block if that is more. */
void job_size(struct job *job, size_t bytes);

/* job_args: the call's arguments; they point into the job. */
struct collective_args job_args(const struct job *job, choir_buffer send, choir_buffer recv);

/* job_data: its check data, of which the shape is the job's. */
struct collective_data job_data(const struct job *job);

/* job_rule_bytes: what rules compare: what the call is given; of uneven blocks all of them, or of alltoallv the mean.
 */
size_t job_rule_bytes(const struct job *job);

/* job_by_elements: any piece of the data is the same collective on less. */
bool job_by_elements(const struct job *job);

/* job_bus_factor: busbw / algbw. */
double job_bus_factor(const struct job *job);

#endif
