/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include <string.h>

const struct bench_case *const bench_cases[] = {
	&case_allreduce, &case_reduce_scatter, &case_allgather, &case_allgatherv, &case_broadcast, &case_reduce, &case_barrier, &case_sendrecv,
};
const int n_bench_cases = sizeof bench_cases / sizeof *bench_cases;

const struct bench_case *case_find(const char *name)
{
	for (int i = 0; i < n_bench_cases; i++)
		if (strcmp(bench_cases[i]->name, name) == 0)
			return bench_cases[i];
	return NULL;
}

double bus_factor_one(int n)
{
	(void)n;
	return 1;
}

double bus_factor_share(int n)
{
	return (n - 1.0) / n;
}

void shape_whole(struct job *job, size_t bytes)
{
	job->count = bytes / job->elem_bytes > 0 ? bytes / job->elem_bytes : 1;
	job->bytes = job->count * job->elem_bytes;
	job->send_count = job->recv_count = job->count;
	job->send_at = job->recv_at = 0;
}

bool span_reduced_whole(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = SPAN_REDUCED };
	return k == 0;
}
