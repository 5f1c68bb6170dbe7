/* SPDX-License-Identifier: MIT */
/* Whether what the others read is made in place or aside: Note [aside] in share.c says what each costs, Note [nt stores] how the first rank of a node learns
 * which is faster just now: here from the least time of whole calls.  All ranks' calls of scalars share an entry, and those of short and of long rows, however many each rank brings:
 * the first rank may bring nothing, and yet it times what the others do.  Ranks may differ, or follow late: a block's address says where it is, and
 * both ways write the same. */
#include "exec/nt_plan.h"
#include "exec/progress.h"
#include "sparse/state.h"

#define LONG_ROW 512 /* bytes */

static void decide(struct sparse *sparse, uint64_t width)
{
	struct aside *aside = &sparse->aside;

	if (!sparse->shares || width == 0 || aside->entry >= 0)
		return;
	aside->rows = width > 1;
	aside->entry = NT_PLANS + 2 * aside->rows + (aside->rows && width * sparse->elem_bytes >= LONG_ROW);
	aside->yes = nt_choose(&sparse->env.nt, aside->entry);
}

void aside_begin(struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;

	sparse->aside = (struct aside){ .yes = true, .entry = -1 };
	decide(sparse, call->send_ind_count == 0 ? 0 : call->send_val_count / call->send_ind_count);
	if (sparse->env.nt.entries != NULL)
		sparse->aside.since_ns = progress_now_ns();
}

void aside_agree(struct sparse *sparse)
{
	const struct sparse_facts *facts = &sparse->facts;

	uint64_t pair_bytes = sparse->ind_bytes + facts->width * sparse->elem_bytes;

	decide(sparse, facts->width);
	sparse->aside.bytes = facts->pairs / (unsigned)sparse->env.layout->n * pair_bytes;
	sparse->aside.matters |= facts->shared && share_has_ways(facts->most * pair_bytes, sparse->aside.rows);
}

choir_status aside_take(struct sparse *sparse, uint64_t bytes, struct share_block **out_p)
{
	bool has_ways = share_has_ways(bytes, sparse->aside.rows);

	sparse->aside.matters |= has_ways;
	return share_take(bytes, has_ways && sparse->aside.yes, out_p);
}

void aside_end(struct sparse *sparse)
{
	const struct aside *aside = &sparse->aside;

	if (aside->entry >= 0 && aside->matters && aside->bytes >= NT_LEAST_BYTES && sparse->env.nt.entries != NULL)
		nt_took(&sparse->env.nt, aside->entry, aside->yes, aside->bytes, progress_now_ns() - aside->since_ns);
}
