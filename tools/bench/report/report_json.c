/* SPDX-License-Identifier: MIT */
#include "report.h"
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* jansson returns NULL only when memory ran out; a bench then has nothing left to say. */
static json_t *must(json_t *value)
{
	if (value == NULL)
		abort();
	return value;
}

static json_t *times_of(const struct stats *us)
{
	return must(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "min", us->min, "p50", us->p50, "p95", us->p95, "p99",
	                      us->p99, "max", us->max, "mean", us->mean));
}

static json_t *vs_of(const struct result *row)
{
	json_t *all = must(json_object());

	for (int i = 0; i < row->n_vs; i++)
		if (row->vs[i].ran)
			json_object_set_new(
			    all, row->vs[i].name,
			    must(json_pack("{s:f, s:f}", "p50_us", row->vs[i].p50_us, "ratio", row->vs[i].ratio)));
	return all;
}

static json_t *sparse_of(const struct result_sparse *sparse)
{
	return must(json_pack(
	    "{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "index", sparse->index, "distribution",
	    sparse->distribution, "workload", sparse->workload, "predicted_us", sparse->predicted_us, "imbalance",
	    sparse->imbalance, "rows_merged", (json_int_t)sparse->rows_merged, "rows_in", (json_int_t)sparse->rows_in,
	    "rows_out", (json_int_t)sparse->rows_out, "width", (json_int_t)sparse->width, "range",
	    (json_int_t)sparse->range, "density_in", sparse->density_in, "density_out", sparse->density_out));
}

static json_t *kernel_of(const struct result_kernel *kernel)
{
	return must(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "index", kernel->index,
	                      "distribution", kernel->distribution, "unit", kernel->unit, "items",
	                      (json_int_t)kernel->items, "items_out", (json_int_t)kernel->items_out, "range",
	                      (json_int_t)kernel->range, "width", (json_int_t)kernel->width, "lists",
	                      (json_int_t)kernel->lists, "moved_bytes", (json_int_t)kernel->moved_bytes, "items_per_s",
	                      kernel->items_per_s));
}

static json_t *topk_of(const struct result_topk *topk)
{
	return must(json_pack(
	    "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "values", topk->values,
	    "result", topk->form, "overlap", topk->overlap, "density", topk->density, "density_in", topk->density_in,
	    "density_out", topk->density_out, "select_us", topk->select_us, "exchange_us", topk->exchange_us,
	    "merge_us", topk->merge_us, "update_us", topk->update_us, "words", topk->words, "formula", topk->formula,
	    "local_threshold", topk->local, "global_threshold", topk->global, "imbalance", topk->imbalance));
}

static json_t *overlap_of(const struct result_overlap *overlap)
{
	return must(json_pack("{s:f, s:f, s:f, s:f}", "compute_us", overlap->compute_us, "alone_us", overlap->alone_us,
	                      "exposed_us", overlap->exposed_us, "hidden", overlap->hidden));
}

static json_t *row_of(const struct result *row)
{
	json_t *all = must(json_pack("{s:s, s:I, s:I, s:s, s:s, s:s, s:b, s:s, s:i}", "collective", row->collective,
	                             "bytes", (json_int_t)row->bytes, "count", (json_int_t)row->count, "dtype",
	                             row->dtype, "op", row->op, "memory", row->memory, "inplace", row->in_place,
	                             "algorithm", row->algorithm, "in_flight", row->in_flight));

	json_object_set_new(all, "time_us", times_of(&row->us));
	json_object_set_new(all, "first_us", json_real(row->first_us));
	json_object_set_new(all, "algbw_GBps", json_real(row->algbw_GBps));
	json_object_set_new(all, "busbw_GBps", json_real(row->busbw_GBps));
	json_object_set_new(all, "wrong", json_integer((json_int_t)row->wrong));
	json_object_set_new(all, "checked", json_integer((json_int_t)row->checked));
	json_object_set_new(all, "wire_bytes", json_integer((json_int_t)row->wire_bytes));
	json_object_set_new(all, "vs", vs_of(row));
	if (row->fresh)
		json_object_set_new(all, "fresh", json_true());
	if (row->tensors > 0)
		json_object_set_new(all, "tensors", json_integer(row->tensors));
	if (row->among_all)
		json_object_set_new(all, "chosen", json_boolean(row->chosen));
	if (row->kind == RESULT_OVERLAP)
		json_object_set_new(all, "overlap", overlap_of(&row->overlap));
	if (row->kind == RESULT_SPARSE)
		json_object_set_new(all, "sparse", sparse_of(&row->sparse));
	if (row->kind == RESULT_TOPK)
		json_object_set_new(all, "topk", topk_of(&row->topk));
	if (row->kind == RESULT_KERNEL)
		json_object_set_new(all, "kernel", kernel_of(&row->kernel));
	return all;
}

/* Where, over the densities of sparse rows like the first, another becomes the fastest. */
static json_t *crossings_of(const struct results *results)
{
	json_t *all = must(json_array());
	struct sweep sweep;

	if (results->n == 0 || !sweep_of(results, &results->rows[0], &sweep))
		return all;
	for (int i = 0; i < sweep.n_crossings; i++) {
		const struct sweep_crossing *at = &sweep.crossing[i];

		json_array_append_new(
		    all, must(json_pack("{s:f, s:f, s:s, s:s}", "density", at->density, "us", at->us, "from",
		                        sweep.line[at->from].name, "to", sweep.line[at->to].name)));
	}
	return all;
}

json_t *report_json_of(const json_t *header, const struct results *results)
{
	json_t *run = must(json_deep_copy(header)), *rows = must(json_array());

	for (size_t i = 0; i < results->n; i++)
		json_array_append_new(rows, row_of(&results->rows[i]));
	json_object_set_new(run, "results", rows);
	json_object_set_new(run, "crossings", crossings_of(results));
	return run;
}

bool report_json_write(const char *path, const json_t *run)
{
	size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);

	errno = 0;
	if (strcmp(path, "-") != 0)
		return json_dump_file(run, path, flags) == 0;
	if (json_dumpf(run, stdout, flags) != 0 || fputc('\n', stdout) == EOF)
		return false;
	return fflush(stdout) == 0;
}
