/* SPDX-License-Identifier: MIT */
/* What the steps of a sparse script have in common: turns of the engine, tables of numbers, the lists in shared
 * memory. */
#include "sparse/state.h"

#include <stdlib.h>
#include <string.h>

void script_wait(struct script_turn *turn)
{
	turn->what = SCRIPT_AGAIN;
}

choir_status script_plan(struct sparse *sparse, struct script_turn *turn, struct algo_in *in, const void *send,
                         uint64_t send_bytes, void *recv, uint64_t recv_bytes, sparse_step then)
{
	const struct algorithm *algorithm;

	in->layout = sparse->env.layout;
	in->me = sparse->env.me;
	in->slot_bytes = sparse->env.slot_bytes;
	in->message_bytes = sparse->env.message_bytes;
	in->send_direct = in->recv_direct = true;
	algorithm = algo_default(in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "sparse_allreduce: no algorithm for its %s on this comm",
				 collective_name(in->collective));
	TRY(script_take_plan(sparse->env.plans, algorithm, in, &sparse->plan));
	turn->what = SCRIPT_PLAN;
	turn->plan = &sparse->plan->plan;
	turn->send = script_host((void *)send, send_bytes);
	turn->send.write = false;
	turn->recv = script_host(recv, recv_bytes);
	sparse->step = then;
	return CHOIR_SUCCESS;
}

const struct share_address *sparse_pairs_at(const struct sparse *sparse, int r)
{
	return &sparse->headers[r].pairs_at;
}

struct pairs sparse_own_pairs(const struct sparse *sparse)
{
	if (sparse->own_ptr != NULL)
		return block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	return (struct pairs){ .ind = sparse->ind,
		               .rows = sparse->val,
		               .count = sparse->header.pairs,
		               .form = { .bytes = sparse->ind_bytes } };
}

struct pairs sparse_shared_pairs(const struct sparse *sparse, int r)
{
	const struct sparse_header *header = &sparse->headers[r];
	const void *block = header->pairs == 0 || r == sparse->env.me ? NULL : share_view_ptr(sparse->views[r]);

	if (r == sparse->env.me)
		return sparse_own_pairs(sparse);
	return block_pairs(block, index_form_of((struct index_range){ .lo = header->lo, .hi = header->hi }),
	                   header->pairs);
}

choir_status sparse_open(struct sparse *sparse, struct share_view **views,
                         const struct share_address *(*at)(const struct sparse *, int))
{
	for (int r = 0; r < sparse->env.layout->n; r++)
		if (r != sparse->env.me && at(sparse, r)->nonce != 0) {
			choir_status st = share_open(at(sparse, r), &views[r]);

			/* A failure of this rank alone, but a dead rank is one for all. */
			sparse->failure_is_local &= st != CHOIR_PEER_DEAD;
			if (st != CHOIR_SUCCESS)
				return error_prefix(
				    st,
				    st == CHOIR_PEER_DEAD ? "rank %d is dead, and its pairs cannot be read" : "rank %d",
				    r);
		}
	return CHOIR_SUCCESS;
}

void sparse_close(struct sparse *sparse, struct share_view **views)
{
	for (int r = 0; views != NULL && r < sparse->env.layout->n; r++) {
		share_close(views[r]);
		views[r] = NULL;
	}
}

choir_status sparse_table(struct sparse *sparse, uint64_t **table, bool pairs)
{
	size_t n = (size_t)sparse->env.layout->n, cells = pairs ? n * n : n;

	free(*table);
	*table = calloc(cells, sizeof **table);
	return *table != NULL ? CHOIR_SUCCESS : error_no_memory("the counts of all ranks", cells * sizeof **table);
}

void sparse_set_imbalance(struct sparse *sparse, uint64_t most, uint64_t all)
{
	sparse->stats.imbalance = all == 0 ? 1 : (double)most * sparse->env.layout->n / (double)all;
}

void sparse_note_work(struct sparse *sparse, const uint64_t *counts)
{
	int n = sparse->env.layout->n;
	uint64_t most = 0, all = 0;

	for (int d = 0; d < n; d++) {
		uint64_t work = 0;

		for (int s = 0; s < n; s++)
			work += counts[s * n + d];
		most = work > most ? work : most;
		all += work;
	}
	sparse_set_imbalance(sparse, most, all);
}
