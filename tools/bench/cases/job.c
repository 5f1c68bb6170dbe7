/* SPDX-License-Identifier: MIT */
#include "job.h"

/* What shape.count is. */
static size_t count_of(const struct job *job, size_t elements)
{
	size_t n = (size_t)job->n, pieces = n;

	if (job->what->kind == SPREAD_WHOLE)
		pieces = 1;
	else if (job->what->padded || (job->what->uneven && job->what->kind != SPREAD_EXCHANGE))
		return elements > n ? elements : n;
	else if (job->what->uneven)
		pieces = n * (n + 1) / 2; /* blocks of 1 to n units */
	return elements > pieces ? elements / pieces : 1;
}

void job_size(struct job *job, size_t bytes)
{
	struct collective_layout whole; /* of a rank that has all blocks: the same number on all ranks */
	size_t all;

	job->shape = (struct collective_shape){
		.what = job->what, .n = job->n, .root = job->root, .count = count_of(job, bytes / job->elem_bytes)
	};
	collective_lay_out(&job->shape, job->rank, &job->layout);
	collective_lay_out(&job->shape, job->what->rooted ? job->root : job->rank, &whole);
	all = job->what->kind == SPREAD_WHOLE    ? whole.count
	      : job->what->kind == SPREAD_GATHER ? whole.recv_count
	                                         : whole.send_count;
	job->bytes = all * job->elem_bytes;
}

struct collective_args job_args(const struct job *job, choir_buffer send, choir_buffer recv)
{
	struct collective_args args = collective_args_of(&job->shape, &job->layout, job->comm, job->rank);

	args.send = send;
	args.recv = recv;
	args.dtype = job->dtype;
	args.op = job->op;
	return args;
}

struct collective_data job_data(const struct job *job)
{
	return (struct collective_data){ .shape = &job->shape, .dtype = job->dtype, .op = job->op };
}

size_t job_rule_bytes(const struct job *job)
{
	if (!job->what->uneven)
		return job->layout.count * job->elem_bytes;
	return job->what->kind == SPREAD_EXCHANGE ? job->bytes / (size_t)job->n : job->bytes;
}

bool job_by_elements(const struct job *job)
{
	return job->what->kind == SPREAD_WHOLE;
}

double job_bus_factor(const struct job *job)
{
	return job->what->bus_rounds > 0 ? job->what->bus_rounds * (job->n - 1.0) / job->n : 1;
}
