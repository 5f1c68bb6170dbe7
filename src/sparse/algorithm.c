/* SPDX-License-Identifier: MIT */
#include "sparse/algorithm.h"

#include <string.h>

const struct sparse_method sparse_methods[] = {
	{ .name = "allgather", .about = "every rank gets all lists and merges them; few rounds, (P-1) k pairs received",
	  .cost = allgather_cost, .start = allgather_start, .fill = allgather_fill, .start_shared = allgather_start_shared, .fill_shared = allgather_fill },
	{ .name = "split", .about = "ranks own index regions: reduce there, then gather the regions; merging is shared out",
	  .cost = split_cost, .start = split_start, .fill = split_fill, .start_shared = split_start_shared, .fill_shared = split_fill_shared,
	  .raw = true },
};
const int n_sparse_methods = sizeof sparse_methods / sizeof *sparse_methods;

int sparse_method_find(const char *name)
{
	for (int i = 0; i < n_sparse_methods; i++)
		if (strcmp(sparse_methods[i].name, name) == 0)
			return i;
	return -1;
}

const char *sparse_algorithm_name(int row)
{
	return row >= 0 && row < n_sparse_methods ? sparse_methods[row].name : "none";
}

const struct sparse_method *sparse_method_choose(const struct sparse_facts *facts, int n_ranks, uint64_t pair_bytes)
{
	const struct sparse_method *best = NULL;
	double least = 0;

	if (facts->algorithm >= 0 && facts->algorithm < n_sparse_methods)
		return &sparse_methods[facts->algorithm];
	for (int i = 0; i < n_sparse_methods; i++) {
		double cost = sparse_methods[i].cost(facts, n_ranks, pair_bytes);

		if (facts->raw && !sparse_methods[i].raw)
			continue;
		if (best == NULL || cost < least) {
			least = cost;
			best = &sparse_methods[i];
		}
	}
	return best;
}
