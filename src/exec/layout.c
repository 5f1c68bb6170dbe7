/* SPDX-License-Identifier: MIT */
#include "exec/layout.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void layout_free(struct layout *layout)
{
	free((void *)layout->node_of);
	free((void *)layout->local_rank_of);
	free((void *)layout->node_size);
	free((void *)layout->node_first);
	free((void *)layout->node_ranks);
	memset(layout, 0, sizeof *layout);
}

/* Gives nodes the numbers 0.. in order of first appearance; returns how many. */
static int renumber(int n, const int *given, int *node_of)
{
	int n_nodes = 0;

	for (int r = 0; r < n; r++) {
		int first = 0;

		while (given[first] != given[r])
			first++;
		node_of[r] = first == r ? n_nodes++ : node_of[first];
	}
	return n_nodes;
}

choir_status layout_build(int n, const int *given, struct layout *out)
{
	size_t room = (size_t)n + 1;
	int *node_of = calloc(room, sizeof(int)), *local_rank_of = calloc(room, sizeof(int)),
	    *size = calloc(room, sizeof(int)), *first = calloc(room, sizeof(int)), *ranks = calloc(room, sizeof(int));
	struct layout layout = { .n = n,
		                 .node_of = node_of,
		                 .local_rank_of = local_rank_of,
		                 .node_size = size,
		                 .node_first = first,
		                 .node_ranks = ranks };

	if (node_of == NULL || local_rank_of == NULL || size == NULL || first == NULL || ranks == NULL) {
		layout_free(&layout);
		return error_no_memory("a layout", 5 * room * sizeof(int));
	}
	layout.n_nodes = renumber(n, given, node_of);
	for (int r = 0; r < n; r++)
		local_rank_of[r] = size[node_of[r]]++;
	layout.min_node_size = layout.max_node_size = size[0];
	for (int g = 0; g < layout.n_nodes; g++) {
		first[g + 1] = first[g] + size[g];
		layout.min_node_size = size[g] < layout.min_node_size ? size[g] : layout.min_node_size;
		layout.max_node_size = size[g] > layout.max_node_size ? size[g] : layout.max_node_size;
	}
	for (int r = 0; r < n; r++)
		ranks[first[node_of[r]] + local_rank_of[r]] = r;
	*out = layout;
	return CHOIR_SUCCESS;
}
