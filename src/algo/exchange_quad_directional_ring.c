/* SPDX-License-Identifier: MIT */
/* Four rings at once, a quarter of the range each: forwards and backwards round the members, and forwards and backwards
 * round the mirrored ring, whose neighbours are two apart.
 *
 * Rounds 2(n-1), of a quarter of the bytes on each ring: 2(n-1)/n of the bytes in all.  Any n.  Scratch: eight quarter
 * blocks.  It pays where members two apart have links of their own.  Each block has one owner, as in exchange_ring.c;
 * the four quarters are folded in four orders. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"

enum { RINGS = 4 };

static plan_id build(const struct exchange *x)
{
	struct group up = x->group, mirrored = group_mirrored(up);
	const struct group groups[RINGS] = { up, group_reversed(up), mirrored, group_reversed(mirrored) };
	uint64_t scratch = exchange_ring.scratch(x->group.n, block_max(x->bytes, RINGS, x->unit), x->unit);
	plan_id done[RINGS];

	for (int i = 0; i < RINGS; i++) {
		uint64_t off = block_off(x->bytes, RINGS, x->unit, i);
		struct exchange quarter = *x;

		quarter.bytes = block_len(x->bytes, RINGS, x->unit, i);
		quarter.group = groups[i];
		quarter.own = ref_plus(x->own, off);
		quarter.out = ref_plus(x->out, off);
		quarter.scratch += (uint64_t)i * scratch;
		quarter.tag += (uint32_t)i * exchange_ring.tags(x->group.n);
		done[i] = quarter.bytes > 0 ? exchange_ring.build(&quarter) : PLAN_NO_STEP;
	}
	return plan_join(x->plan, done, RINGS, "rings: done");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return RINGS * exchange_ring.scratch(members, block_max(bytes, RINGS, unit), unit);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return RINGS * exchange_ring.limit(members, message_bytes);
}

static uint32_t tags(int members)
{
	return RINGS * exchange_ring.tags(members);
}

const struct exchange_kind exchange_quad_directional_ring = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags
};
