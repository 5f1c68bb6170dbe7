/* SPDX-License-Identifier: MIT */
/* Sizes of the buffers, and what must come out. */
#include "case_columns.h"

int next_rank(const struct job *job)
{
	return (job->rank + 1) % job->n;
}

int previous_rank(const struct job *job)
{
	return (job->rank + job->n - 1) % job->n;
}

static size_t sum_of(const size_t *counts, int n)
{
	size_t sum = 0;

	for (int r = 0; r < n; r++)
		sum += counts[r];
	return sum;
}

static size_t block_of(const struct job *job, size_t bytes)
{
	size_t block = bytes / job->elem_bytes / (size_t)job->n;

	return block > 0 ? block : 1;
}

void shape_none(struct job *job, size_t bytes)
{
	(void)bytes;
	job->bytes = job->count = job->send_count = job->recv_count = job->send_at = job->recv_at = 0;
}

void shape_whole(struct job *job, size_t bytes)
{
	job->count = bytes / job->elem_bytes > 0 ? bytes / job->elem_bytes : 1;
	job->bytes = job->count * job->elem_bytes;
	job->send_count = job->recv_count = job->count;
	job->send_at = job->recv_at = 0;
}

void shape_gather(struct job *job, size_t bytes)
{
	job->count = job->send_count = block_of(job, bytes);
	job->recv_count = job->count * (size_t)job->n;
	job->bytes = job->recv_count * job->elem_bytes;
	job->send_at = (size_t)job->rank * job->count;
	job->recv_at = 0;
}

/* Uneven on purpose: rank r's share of the whole is proportional to r + 1, and the last takes what is left over. */
static void share_out(struct job *job, size_t bytes)
{
	size_t n = (size_t)job->n, total = bytes / job->elem_bytes, parts = n * (n + 1) / 2;

	total = total > n ? total : n;
	for (size_t r = 0; r + 1 < n; r++)
		job->recv_counts[r] = total / parts * (r + 1);
	job->recv_counts[n - 1] = total - sum_of(job->recv_counts, job->n - 1);
	job->bytes = total * job->elem_bytes;
	job->count = job->recv_counts[job->rank];
}

void shape_gatherv(struct job *job, size_t bytes)
{
	share_out(job, bytes);
	job->send_count = job->count;
	job->recv_count = job->bytes / job->elem_bytes;
	job->send_at = sum_of(job->recv_counts, job->rank);
	job->recv_at = 0;
}

void shape_scatter(struct job *job, size_t bytes)
{
	job->count = job->recv_count = block_of(job, bytes);
	job->send_count = job->count * (size_t)job->n;
	job->bytes = job->send_count * job->elem_bytes;
	job->send_at = 0;
	job->recv_at = (size_t)job->rank * job->count;
}

void shape_scatterv(struct job *job, size_t bytes)
{
	share_out(job, bytes);
	job->recv_count = job->count;
	job->send_count = job->bytes / job->elem_bytes;
	job->send_at = 0;
	job->recv_at = sum_of(job->recv_counts, job->rank);
}

void shape_alltoall(struct job *job, size_t bytes)
{
	job->count = block_of(job, bytes);
	job->send_count = job->recv_count = job->count * (size_t)job->n;
	job->bytes = job->send_count * job->elem_bytes;
	job->send_at = job->recv_at = 0;
}

/* Every rank sends the same in all, in blocks of 1 to n units; what ranks get differs where n is even. */
static size_t exchanged(const struct job *job, int from, int to)
{
	size_t n = (size_t)job->n;

	return job->count * ((2 * (size_t)from + (size_t)to) % n + 1);
}

void shape_alltoallv(struct job *job, size_t bytes)
{
	size_t n = (size_t)job->n, units = n * (n + 1) / 2, unit = bytes / job->elem_bytes / units;

	job->count = unit > 0 ? unit : 1;
	for (int r = 0; r < job->n; r++) {
		job->send_counts[r] = exchanged(job, job->rank, r);
		job->recv_counts[r] = exchanged(job, r, job->rank);
	}
	job->send_count = sum_of(job->send_counts, job->n);
	job->recv_count = sum_of(job->recv_counts, job->n);
	job->bytes = job->send_count * job->elem_bytes;
	job->send_at = job->recv_at = 0;
}

bool span_reduced(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = SPAN_REDUCED };
	return k == 0;
}

bool span_reduced_at_root(const struct job *job, int k, struct span *out)
{
	return job->rank == job->root && span_reduced(job, k, out);
}

bool span_reduced_block(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .from = job->recv_at, .rank = SPAN_REDUCED };
	return k == 0;
}

bool span_of_root(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = job->root };
	return k == 0;
}

bool span_of_previous(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .count = job->count, .rank = previous_rank(job) };
	return k == 0;
}

bool span_gathered(const struct job *job, int k, struct span *out)
{
	*out = (struct span){ .at = (size_t)k * job->count, .count = job->count, .rank = k };
	return k < job->n;
}

bool span_gatheredv(const struct job *job, int k, struct span *out)
{
	if (k >= job->n)
		return false;
	*out = (struct span){ .at = sum_of(job->recv_counts, k), .count = job->recv_counts[k], .rank = k };
	return true;
}

bool span_exchanged(const struct job *job, int k, struct span *out)
{
	*out = (struct span){
		.at = (size_t)k * job->count, .count = job->count, .from = (size_t)job->rank * job->count, .rank = k
	};
	return k < job->n;
}

bool span_exchangedv(const struct job *job, int k, struct span *out)
{
	if (k >= job->n)
		return false;
	*out = (struct span){ .at = sum_of(job->recv_counts, k), .count = job->recv_counts[k], .rank = k };
	for (int r = 0; r < job->rank; r++)
		out->from += exchanged(job, k, r);
	return true;
}
