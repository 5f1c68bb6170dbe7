/* SPDX-License-Identifier: MIT */
/* Two rings at once: one half of the range goes round forwards, the other backwards, so that both links of a member are
 * used both ways.
 *
 * Rounds 2(n-1), of half the bytes each way: 2(n-1)/n of the bytes in all.  Any n.  Scratch: four half blocks.  It pays
 * where neighbours have links of their own (a torus); behind one port a node it costs what a ring does.  Each block has
 * one owner, as in exchange_ring.c. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"

static uint64_t half_of(uint64_t bytes, uint64_t unit)
{
	return block_off(bytes, 2, unit, 1);
}

static plan_id build(const struct exchange *x)
{
	uint64_t half = half_of(x->bytes, x->unit);
	struct exchange forwards = *x, backwards = *x;
	plan_id done[2];

	forwards.bytes = half;
	backwards.bytes = x->bytes - half;
	backwards.group = group_reversed(x->group);
	backwards.own = ref_plus(x->own, half);
	backwards.out = ref_plus(x->out, half);
	backwards.scratch += exchange_ring.scratch(x->group.n, half, x->unit);
	backwards.tag += exchange_ring.tags(x->group.n);
	done[0] = exchange_ring.build(&forwards);
	done[1] = backwards.bytes > 0 ? exchange_ring.build(&backwards) : PLAN_NO_STEP;
	return plan_join(x->plan, done, 2, "rings: done");
}

/* The first half is the longer one. */
static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return 2 * exchange_ring.scratch(members, half_of(bytes, unit), unit);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return 2 * exchange_ring.limit(members, message_bytes);
}

static uint32_t tags(int members)
{
	return 2 * exchange_ring.tags(members);
}

const struct exchange_kind exchange_bidirectional_ring = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags
};
