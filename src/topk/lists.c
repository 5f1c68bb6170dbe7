/* SPDX-License-Identifier: MIT */
/* topka, topka2, topk-opt, gaussiank, gaussiank-concat: everyone gets all lists and adds them in rank order.
 * Two allgathervs of indices and of values (concat: one of both), 2 k (P-1) words received; any P.  Shi et al. 2019
 * (topka, gtopk), gaussiank: Shi et al. 2019, arXiv:1911.08772.
 * topka2 keeps the k largest sums: all ranks have all sums, so all keep the same, and entries that were not kept stay
 * in the residuals of the ranks that sent them. */
#include "topk/algorithm.h"

static choir_status keep_largest(struct topk_run *run, struct script_turn *turn)
{
	struct select_limit limit;

	(void)turn;
	run->step = run->deliver;
	TRY(list_top(&run->kept, &run->types, run->k, &limit));
	list_keep(&run->kept, &run->types, limit);
	return CHOIR_SUCCESS;
}

static choir_status arrived(struct topk_run *run, struct script_turn *turn)
{
	topk_step then = run->algorithm->keeps_k ? keep_largest : run->deliver;

	(void)turn;
	if (run->request.rank_pairs_p != NULL)
		TRY(topk_join(run, &run->as_sent));
	return run->on->merge(run, &run->kept, run->lists, (uint32_t)run->env.layout->n, then);
}

choir_status topk_lists_start(struct topk_run *run, struct script_turn *turn)
{
	for (int r = 0; r < run->env.layout->n; r++)
		run->row[r] = run->headers[r].selected;
	return topk_gather(run, turn, list_pairs(&run->selected, &run->types), run->row, run->algorithm->apart,
	                   arrived);
}
