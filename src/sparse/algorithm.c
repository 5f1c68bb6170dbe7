/* SPDX-License-Identifier: MIT */
#include "sparse/algorithm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct sparse_method sparse_methods[] = {
	{ .name = "allgather",
	  .about = "every rank gets all lists and merges them; few rounds, (P-1) k pairs received",
	  .cost = allgather_cost,
	  .start = allgather_start,
	  .fill = allgather_fill,
	  .cost_shared = allgather_cost_shared,
	  .start_shared = allgather_start_shared,
	  .fill_shared = allgather_fill,
	  .start_device = allgather_start_device,
	  .keeps = true },
	{ .name = "split",
	  .about = "ranks own index regions: reduce there, then gather the regions, each in its shortest format",
	  .cost = split_cost,
	  .start = split_start,
	  .fill = split_fill,
	  .cost_shared = split_cost_shared,
	  .start_shared = split_start_shared,
	  .fill_shared = split_fill_shared,
	  .format = FORMAT_LEAST,
	  .raw = true,
	  .cuts = true },
	{ .name = "split_bitmap",
	  .about = "split, regions gathered as a bit an index and rows; n/32 < K < 0.9 n",
	  .cost = split_bitmap_cost,
	  .start = split_start,
	  .fill = split_fill,
	  .format = FORMAT_BITMAP,
	  .cuts = true,
	  .spans = true },
	{ .name = "split_dense",
	  .about = "split, regions gathered with a row for every index; K near n",
	  .cost = split_dense_cost,
	  .start = split_start,
	  .fill = split_fill,
	  .format = FORMAT_DENSE,
	  .cuts = true,
	  .spans = true },
	{ .name = "recursive_doubling",
	  .about = "partners swap lists and merge, log2 P times; tiny lists; floats add up pairwise",
	  .cost = recursive_cost,
	  .start = recursive_start,
	  .fill = recursive_fill,
	  .regroups = true },
	{ .name = "mask",
	  .about = "indices gathered, then a dense sum of the union's rows; wide rows that most ranks share",
	  .cost = mask_cost,
	  .start = mask_start,
	  .fill = mask_fill,
	  .fills = true },
	{ .name = "dense",
	  .about = "a row for every index of the range, summed; K near n, small n",
	  .cost = densify_cost,
	  .start = densify_start,
	  .fill = densify_fill,
	  .spans = true,
	  .fills = true },
};
const int n_sparse_methods = sizeof sparse_methods / sizeof *sparse_methods;

/* A method that holds a row for each index of the range may take no more memory. */
#define MOST_SPAN_BYTES 4294967296.0

/* The method of the last call is kept while it is predicted to take at most so many times the least: the choice does
 * not change from call to call between two that are nearly equal. */
#define KEPT_RATIO 1.1

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

const char *sparse_method_refusal(const struct sparse_method *method, const struct user_op *user)
{
	if (user == NULL)
		return NULL;
	if (method->regroups && !user->config.commutative)
		return "does not fold in rank order, which an operator that is not commutative asks for";
	if ((method->regroups || method->fills) && user->config.fold == NULL)
		return "folds on the host, and the operator has no fold function";
	return NULL;
}

static double span_bytes(const struct cost *cost)
{
	return cost->span * (cost->row + 0.125);
}

static struct sparse_choice judge(const struct sparse_method *method, const struct sparse_facts *facts,
                                  const struct cost *cost, const struct link_costs *costs)
{
	struct sparse_choice choice = { .method = method };

	choice.work = facts->shared && method->cost_shared != NULL ? method->cost_shared(cost) : method->cost(cost);
	choice.ns = cost_ns(cost, costs, &choice.work);
	return choice;
}

static bool may_be_chosen(const struct sparse_method *method, const struct sparse_facts *facts, const struct cost *cost,
                          choir_coalesce mode)
{
	if ((facts->raw && !method->raw) || (mode == CHOIR_COALESCE_DISABLE && !method->keeps))
		return false;
	if (facts->on_device && method->start_device == NULL)
		return false;
	if ((facts->shared && method->start_shared == NULL) || sparse_method_refusal(method, facts->user) != NULL)
		return false;
	if (method->spans && span_bytes(cost) > MOST_SPAN_BYTES)
		return false;
	return !method->regroups || cost->exact;
}

static choir_status check_forced(const struct sparse_method *method, const struct sparse_facts *facts,
                                 const struct cost *cost)
{
	if (!method->spans || span_bytes(cost) <= MOST_SPAN_BYTES)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_UNSUPPORTED,
	                 "sparse_allreduce: algorithm %s has a row for each of the indices %" PRId64 " to %" PRId64
	                 ", %.0f MB: more than %.0f MB",
	                 method->name, facts->range.lo, facts->range.hi, span_bytes(cost) / 1e6, MOST_SPAN_BYTES / 1e6);
}

static bool is_row(int row)
{
	return row >= 0 && row < n_sparse_methods;
}

choir_status sparse_method_choose(const struct sparse_facts *facts, const struct cost *cost,
                                  const struct link_costs *costs, choir_coalesce mode, struct sparse_choice *out)
{
	struct sparse_choice best = { .method = NULL };

	if (is_row(facts->algorithm)) {
		TRY(check_forced(&sparse_methods[facts->algorithm], facts, cost));
		*out = judge(&sparse_methods[facts->algorithm], facts, cost, costs);
		return CHOIR_SUCCESS;
	}
	for (int i = 0; i < n_sparse_methods; i++) {
		struct sparse_choice choice = judge(&sparse_methods[i], facts, cost, costs);

		if (may_be_chosen(choice.method, facts, cost, mode) && (best.method == NULL || choice.ns < best.ns))
			best = choice;
	}
	if (is_row(facts->last) && may_be_chosen(&sparse_methods[facts->last], facts, cost, mode)) {
		struct sparse_choice last = judge(&sparse_methods[facts->last], facts, cost, costs);

		last.kept = last.method != best.method;
		if (last.ns <= KEPT_RATIO * best.ns)
			best = last;
	}
	*out = best;
	return CHOIR_SUCCESS;
}
