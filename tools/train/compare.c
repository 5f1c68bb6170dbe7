/* SPDX-License-Identifier: MIT */
/* All algorithms get the same buffers and start behind a barrier.  Each step begins with another of them, so that none
 * always comes first after the training's kernels; the memory of the result is filled with ones before each, so that
 * nothing passes that was not written. */
#include "compare.h"
#include "lib/stats.h"
#include "sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names that choir_call.options knows: docs/sparse.md. */
static const struct {
	const char *name;
	int regroups;
} algorithms[] = {
	{ "allgather", 0 }, { "split", 0 }, { "split_bitmap", 0 },       { "split_dense", 0 },
	{ "mask", 0 },      { "dense", 0 }, { "recursive_doubling", 1 },
};

enum { N_ALGORITHMS = sizeof algorithms / sizeof *algorithms, N_TABLES = 2 };

struct compare {
	struct ocl *ocl;
	choir_comm *comm;
	const struct bucket *tables[N_TABLES];
	struct compare_row rows[N_TABLES * N_ALGORITHMS]; /* table by table */
	size_t n_steps;
	cl_mem index, values; /* of a sum; room for the larger table's */
	int32_t *want_index, *got_index;
	float *want_values, *got_values;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void find_tables(struct compare *compare, const struct bucket *buckets)
{
	int n = 0;

	for (int i = 0; i < N_BUCKETS && n < N_TABLES; i++)
		if (buckets[i].index)
			compare->tables[n++] = buckets + i;
	for (int i = 0; i < n * N_ALGORITHMS; i++)
		compare->rows[i] = (struct compare_row){ .table = compare->tables[i / N_ALGORITHMS]->name,
			                                 .algorithm = algorithms[i % N_ALGORITHMS].name,
			                                 .regroups = algorithms[i % N_ALGORITHMS].regroups };
}

static choir_status make_room(struct compare *compare)
{
	size_t n = larger(compare->tables[0]->room, compare->tables[1]->room);
	size_t n_values = larger(compare->tables[0]->room * compare->tables[0]->width,
	                         compare->tables[1]->room * compare->tables[1]->width);

	compare->want_index = malloc(n * sizeof *compare->want_index);
	compare->got_index = malloc(n * sizeof *compare->got_index);
	compare->want_values = malloc(n_values * sizeof *compare->want_values);
	compare->got_values = malloc(n_values * sizeof *compare->got_values);
	if (!compare->want_index || !compare->got_index || !compare->want_values || !compare->got_values)
		return fail_memory("a gradient's sums", 2 * (n * sizeof(int32_t) + n_values * sizeof(float)));
	TRY(ocl_buffer(compare->ocl, n * sizeof(int32_t), &compare->index));
	return ocl_buffer(compare->ocl, n_values * sizeof(float), &compare->values);
}

choir_status compare_create(struct ocl *ocl, choir_comm *comm, const struct bucket *buckets, struct compare **out_p)
{
	struct compare *compare = calloc(1, sizeof *compare);
	choir_status st;

	if (!compare)
		return fail_memory("the comparison", sizeof *compare);
	compare->ocl = ocl;
	compare->comm = comm;
	find_tables(compare, buckets);
	st = make_room(compare);
	if (st != CHOIR_SUCCESS)
		compare_destroy(compare);
	else
		*out_p = compare;
	return st;
}

void compare_destroy(struct compare *compare)
{
	if (!compare)
		return;
	for (int i = 0; i < N_TABLES * N_ALGORITHMS; i++)
		free(compare->rows[i].us);
	if (compare->index)
		clReleaseMemObject(compare->index);
	if (compare->values)
		clReleaseMemObject(compare->values);
	free(compare->want_index);
	free(compare->got_index);
	free(compare->want_values);
	free(compare->got_values);
	free(compare);
}

static choir_status finish(struct compare *compare)
{
	cl_int rc = clFinish(compare->ocl->queue);

	return rc ? fail_cl("clFinish", rc) : CHOIR_SUCCESS;
}

static choir_status read_sums(struct compare *compare, const struct bucket *table, cl_mem index, cl_mem values,
                              size_t n, int32_t *to_index, float *to_values)
{
	TRY(ocl_read(compare->ocl, index, 0, n * sizeof *to_index, to_index));
	return ocl_read(compare->ocl, values, 0, n * table->width * sizeof *to_values, to_values);
}

static choir_status spoil(struct compare *compare, const struct bucket *table)
{
	const cl_uint ones = ~0u;
	cl_int rc = clEnqueueFillBuffer(compare->ocl->queue, compare->index, &ones, sizeof ones, 0,
	                                table->room * sizeof(int32_t), 0, NULL, NULL);

	if (!rc)
		rc = clEnqueueFillBuffer(compare->ocl->queue, compare->values, &ones, sizeof ones, 0,
		                         table->room * table->width * sizeof(float), 0, NULL, NULL);
	return rc ? fail_cl("clEnqueueFillBuffer", rc) : finish(compare);
}

static choir_status add_time(struct compare_row *row, double us)
{
	if (row->n_calls == row->room) {
		size_t room = row->room ? 2 * row->room : 64;
		double *more = realloc(row->us, room * sizeof *more);

		if (!more)
			return fail_memory("the times", room * sizeof *more);
		row->us = more;
		row->room = room;
	}
	row->us[row->n_calls++] = us;
	return CHOIR_SUCCESS;
}

/* UNSUPPORTED, which all ranks find alike, is an answer too. */
static choir_status ended(struct compare_row *row, choir_status st, const char *sentence)
{
	if (st == CHOIR_UNSUPPORTED) {
		snprintf(row->why_not, sizeof row->why_not, "%s", sentence);
		return CHOIR_SUCCESS;
	}
	return st == CHOIR_SUCCESS
	           ? st
	           : failure(st, "%s by %s: %s: %s", row->table, row->algorithm, choir_status_name(st), sentence);
}

static choir_status note(struct compare_row *row, choir_event *event, int64_t ns)
{
	choir_sparse_stats stats = { .struct_size = sizeof stats };
	choir_status st = choir_event_sparse_stats(event, &stats);

	if (st != CHOIR_SUCCESS)
		return fail_choir("choir_event_sparse_stats", st);
	row->predicted_us += stats.predicted_us;
	row->wire_bytes += (double)stats.wire_bytes;
	return add_time(row, (double)ns * 1e-3);
}

/* *n_p = the rows of the sum. */
static choir_status exchange(struct compare *compare, const struct bucket *table, struct compare_row *row, size_t *n_p)
{
	size_t n = table->room, n_values = table->room * table->width;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	char options[64];
	int64_t begin;
	choir_status st;

	snprintf(options, sizeof options, "algorithm=%s", row->algorithm);
	call.options = options;
	call.name = table->name;
	begin = stamp_clock();
	st = choir_sparse_allreduce(compare->comm, choir_mem(table->index, 0), table->n_rows,
	                            choir_mem(table->values, 0), table->n_rows * table->width,
	                            choir_mem(compare->index, 0), &n, choir_mem(compare->values, 0), &n_values,
	                            CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, &call, &event);
	if (st != CHOIR_SUCCESS)
		return ended(row, st, choir_last_error());
	st = choir_event_wait(event, -1);
	begin = stamp_clock() - begin;
	*n_p = n;
	st = st == CHOIR_SUCCESS ? note(row, event, begin) : ended(row, st, choir_event_error(event));
	choir_event_release(event);
	return st;
}

static void judge(struct compare *compare, const struct bucket *table, struct compare_row *row, size_t n)
{
	struct sums want = { compare->want_index, compare->want_values, table->n_results };
	struct sums got = { compare->got_index, compare->got_values, n };
	double off;
	enum sums_verdict verdict = sums_compare(&want, &got, table->width, &off);

	if (verdict == SUMS_SAME)
		return;
	row->off = fmax(row->off, off);
	if (verdict == SUMS_ROUNDED && row->regroups)
		row->n_rounded++;
	else
		row->n_wrong++;
}

static choir_status try_row(struct compare *compare, const struct bucket *table, struct compare_row *row)
{
	size_t n = 0;
	choir_status st;

	if (table->algorithm && strcmp(table->algorithm, row->algorithm) == 0)
		row->picked++;
	if (row->why_not[0])
		return CHOIR_SUCCESS;
	TRY(spoil(compare, table));
	st = choir_barrier(compare->comm, NULL, NULL);
	if (st != CHOIR_SUCCESS)
		return fail_choir("choir_barrier", st);
	TRY(exchange(compare, table, row, &n));
	if (row->why_not[0])
		return CHOIR_SUCCESS;
	TRY(read_sums(compare, table, compare->index, compare->values, n, compare->got_index, compare->got_values));
	judge(compare, table, row, n);
	return CHOIR_SUCCESS;
}

choir_status compare_step(struct compare *compare, int64_t *ns_p)
{
	int64_t begin;

	TRY(finish(compare));
	begin = stamp_clock();
	for (int t = 0; t < N_TABLES; t++) {
		const struct bucket *table = compare->tables[t];

		TRY(read_sums(compare, table, table->result_index, table->result_rows, table->n_results,
		              compare->want_index, compare->want_values));
		for (size_t i = 0; i < N_ALGORITHMS; i++)
			TRY(try_row(compare, table,
			            compare->rows + t * N_ALGORITHMS + (compare->n_steps + i) % N_ALGORITHMS));
	}
	compare->n_steps++;
	*ns_p = stamp_clock() - begin;
	return CHOIR_SUCCESS;
}

static choir_status slowest(struct compare *compare, double *values, size_t n)
{
	choir_status st = choir_allreduce(compare->comm, choir_host(values), choir_host(values), n, CHOIR_F64,
	                                  CHOIR_OP_MAX, NULL, NULL);

	return st == CHOIR_SUCCESS ? st : fail_choir("choir_allreduce", st);
}

static choir_status end_row(struct compare *compare, struct compare_row *row)
{
	double most[] = { row->wire_bytes, row->off, (double)row->n_rounded, (double)row->n_wrong };

	if (row->n_calls == 0)
		return CHOIR_SUCCESS;
	TRY(slowest(compare, row->us, row->n_calls));
	TRY(slowest(compare, most, 4));
	row->median_us = stats_of(row->us, row->n_calls).p50;
	row->predicted_us /= (double)row->n_calls;
	row->wire_bytes = most[0] / (double)row->n_calls;
	row->off = most[1];
	row->n_rounded = (size_t)most[2];
	row->n_wrong = (size_t)most[3];
	return CHOIR_SUCCESS;
}

choir_status compare_end(struct compare *compare)
{
	for (int i = 0; i < N_TABLES * N_ALGORITHMS; i++)
		TRY(end_row(compare, compare->rows + i));
	return CHOIR_SUCCESS;
}

const struct compare_row *compare_rows(const struct compare *compare, size_t *n_p)
{
	*n_p = N_TABLES * N_ALGORITHMS;
	return compare->rows;
}
