/* SPDX-License-Identifier: MIT */
#include "sparse/algorithm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct sparse_method sparse_methods[] = {
	{ .name = "allgather", .about = "every rank gets all lists and merges them; few rounds, (P-1) k pairs received",
	  .cost = allgather_cost, .start = allgather_start, .fill = allgather_fill, .cost_shared = allgather_cost_shared,
	  .start_shared = allgather_start_shared, .fill_shared = allgather_fill, .keeps = true },
	{ .name = "split", .about = "ranks own index regions: reduce there, then gather the regions, each in its shortest format",
	  .cost = split_cost, .start = split_start, .fill = split_fill, .cost_shared = split_cost_shared, .start_shared = split_start_shared,
	  .fill_shared = split_fill_shared, .format = FORMAT_LEAST, .raw = true, .cuts = true },
	{ .name = "split_bitmap", .about = "split, regions gathered as a bit an index and rows; n/32 < K < 0.9 n",
	  .cost = split_bitmap_cost, .start = split_start, .fill = split_fill, .format = FORMAT_BITMAP, .cuts = true, .spans = true },
	{ .name = "split_dense", .about = "split, regions gathered with a row for every index; K near n",
	  .cost = split_dense_cost, .start = split_start, .fill = split_fill, .format = FORMAT_DENSE, .cuts = true, .spans = true },
	{ .name = "recursive_doubling", .about = "partners swap lists and merge, log2 P times; tiny lists; floats add up pairwise",
	  .cost = recursive_cost, .start = recursive_start, .fill = recursive_fill, .regroups = true },
	{ .name = "mask", .about = "indices gathered, then a dense sum of the union's rows; wide rows that most ranks share",
	  .cost = mask_cost, .start = mask_start, .fill = mask_fill },
	{ .name = "dense", .about = "a row for every index of the range, summed; K near n, small n",
	  .cost = densify_cost, .start = densify_start, .fill = densify_fill, .spans = true },
};
const int n_sparse_methods = sizeof sparse_methods / sizeof *sparse_methods;

/* What a rank may be asked to hold for the sake of the range alone. */
#define MOST_SPAN_BYTES 4294967296.0

int sparse_method_find(const char *name)
{
	for (int i = 0; i < n_sparse_methods; i++)
		if (strcmp(sparse_methods[i].name, name) == 0)
			return i;
	return -1;
}

const char *sparse_method_names(char *text, size_t bytes)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n_sparse_methods && at < bytes; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%s", i == 0 ? "" : ", ", sparse_methods[i].name);
	return text;
}

const char *sparse_algorithm_name(int row)
{
	return row >= 0 && row < n_sparse_methods ? sparse_methods[row].name : "none";
}

static double span_bytes(const struct cost *cost)
{
	return cost->span * (cost->row + 0.125);
}

static double time_of(const struct sparse_method *method, const struct sparse_facts *facts, const struct cost *cost)
{
	return facts->shared && method->cost_shared != NULL ? method->cost_shared(cost) : method->cost(cost);
}

static bool may_be_chosen(const struct sparse_method *method, const struct sparse_facts *facts, const struct cost *cost, choir_coalesce mode)
{
	if ((facts->raw && !method->raw) || (mode == CHOIR_COALESCE_DISABLE && !method->keeps))
		return false;
	if (facts->shared && method->start_shared == NULL)
		return false;
	if (method->spans && span_bytes(cost) > MOST_SPAN_BYTES)
		return false;
	return !method->regroups || cost->exact;
}

choir_status sparse_method_choose(const struct sparse_facts *facts, const struct cost *cost, choir_coalesce mode,
                                  const struct sparse_method **out_p, double *ns_p)
{
	const struct sparse_method *best = NULL;

	if (facts->algorithm >= 0 && facts->algorithm < n_sparse_methods) {
		best = &sparse_methods[facts->algorithm];
		if (best->spans && span_bytes(cost) > MOST_SPAN_BYTES)
			return error_set(CHOIR_UNSUPPORTED,
					 "sparse_allreduce: algorithm %s has a row for each of the indices %" PRId64 " to %" PRId64
					 ", %.0f MB: more than %.0f MB",
					 best->name, facts->range.lo, facts->range.hi, span_bytes(cost) / 1e6, MOST_SPAN_BYTES / 1e6);
		*ns_p = time_of(best, facts, cost);
		*out_p = best;
		return CHOIR_SUCCESS;
	}
	for (int i = 0; i < n_sparse_methods; i++) {
		const struct sparse_method *method = &sparse_methods[i];
		double ns;

		if (!may_be_chosen(method, facts, cost, mode))
			continue;
		ns = time_of(method, facts, cost);
		if (best == NULL || ns < *ns_p) {
			*ns_p = ns;
			best = method;
		}
	}
	*out_p = best;
	return CHOIR_SUCCESS;
}
