/* SPDX-License-Identifier: MIT */
/* Whether a rank writes the block that peers read in place or staged (Note [staged writes] in share.c).  The first rank
 * of a node learns the faster way from the times of whole calls (Note [nt stores] in base/nt.h), even if it has no
 * pairs.  It keeps an entry for calls of scalars, one for short rows and one for long rows.  Ranks may write in
 * different ways: readers see the same bytes. */
#include "exec/nt_plan.h"
#include "base/wait.h"
#include "sparse/state.h"

#define LONG_ROW 512 /* bytes */

static void decide(struct sparse *sparse, uint64_t width)
{
	struct staged_write *staged = &sparse->staged;

	if (!sparse->shares || width == 0 || staged->entry >= 0)
		return;
	staged->rows = width > 1;
	staged->entry = NT_PLANS + 2 * staged->rows + (staged->rows && width * sparse->elem_bytes >= LONG_ROW);
	staged->yes = nt_choose(&sparse->env.nt, staged->entry);
}

void staged_write_begin(struct sparse *sparse)
{
	const struct sparse_call *call = &sparse->call;

	sparse->staged = (struct staged_write){ .yes = true, .entry = -1 };
	decide(sparse, call->send_ind_count == 0 ? 0 : call->send_val_count / call->send_ind_count);
	if (sparse->env.nt.entries != NULL)
		sparse->staged.since_ns = wait_now_ns();
}

void staged_write_agree(struct sparse *sparse)
{
	const struct sparse_facts *facts = &sparse->facts;

	uint64_t pair_bytes = sparse->ind_bytes + facts->width * sparse->elem_bytes;

	decide(sparse, facts->width);
	sparse->staged.bytes = facts->pairs / (unsigned)sparse->env.layout->n * pair_bytes;
	sparse->staged.matters |= facts->shared && share_has_ways(facts->most * pair_bytes, sparse->staged.rows);
}

choir_status staged_write_take(struct sparse *sparse, uint64_t bytes, struct share_block **out_p)
{
	bool has_ways = share_has_ways(bytes, sparse->staged.rows);

	sparse->staged.matters |= has_ways;
	return share_take(bytes, has_ways && sparse->staged.yes, out_p);
}

void staged_write_end(struct sparse *sparse)
{
	const struct staged_write *staged = &sparse->staged;

	if (staged->entry >= 0 && staged->matters && staged->bytes >= NT_LEAST_BYTES && sparse->env.nt.entries != NULL)
		nt_took(&sparse->env.nt, staged->entry, staged->yes, staged->bytes, wait_now_ns() - staged->since_ns);
}
