/* SPDX-License-Identifier: MIT */
/* Whether what the others read is made in place or aside: Note [aside] in share.c says what each costs, Note [past the cache] how the first rank of a node learns
 * which is faster just now: here from the least time of whole calls.  Ranks may differ, or follow late: a block's address says where it is, and both ways write
 * the same. */
#include "exec/progress.h"
#include "sparse/state.h"

/* Scalars or rows, short or long. */
enum { SHORT_BYTES = 256 * 1024 };

void aside_begin(struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;
	struct aside *aside = &sparse->aside;
	bool rows = call->send_val_count > call->send_ind_count;

	*aside = (struct aside){ .yes = true, .entry = -1, .bytes = call->send_ind_count * sparse->ind_bytes + call->send_val_count * sparse->elem_bytes };
	if (!sparse->shares || aside->bytes < STORES_BYTES)
		return;
	aside->entry = STORES_PLANS + 2 * rows + (aside->bytes >= SHORT_BYTES);
	aside->yes = stores_is_past(&sparse->env.stores, aside->entry);
	if (sparse->env.stores.entries != NULL)
		aside->since_ns = progress_now_ns();
}

choir_status aside_take(struct sparse *sparse, uint64_t bytes, struct share_block **out_p)
{
	sparse->aside.matters |= share_has_ways(bytes);
	return share_take(bytes, sparse->aside.yes, out_p);
}

void aside_end(struct sparse *sparse)
{
	const struct aside *aside = &sparse->aside;

	if (aside->entry >= 0 && aside->matters && sparse->env.stores.entries != NULL)
		stores_took(&sparse->env.stores, aside->entry, aside->yes, aside->bytes, progress_now_ns() - aside->since_ns);
}
