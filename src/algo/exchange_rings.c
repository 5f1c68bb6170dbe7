/* SPDX-License-Identifier: MIT */
/* Rings at once, a part of the range each: two go forwards and backwards round the members, so that both links of a
 * member are used both ways; with four, two more go both ways round the mirrored ring, whose neighbours are two apart.
 *
 * Rounds 2(n-1), of a half or a quarter of the bytes on each ring: 2(n-1)/n of the bytes in all.  Any n.  Scratch: two
 * blocks of each ring's part.  They pay where neighbours, or members two apart, have links of their own (a torus);
 * behind one port a node they cost what a ring does.  Each block has one owner, as in exchange_ring.c; each part is
 * folded in an order of its own. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"

enum { PAIR = 2, QUAD = 4 };

static plan_id build(const struct exchange *x, int rings)
{
	struct group up = x->group, mirrored = group_mirrored(up);
	const struct group groups[QUAD] = { up, group_reversed(up), mirrored, group_reversed(mirrored) };
	uint64_t scratch = exchange_ring.scratch(up.n, block_max(x->bytes, rings, x->unit), x->unit);
	plan_id done[QUAD];

	for (int i = 0; i < rings; i++) {
		uint64_t off = block_off(x->bytes, rings, x->unit, i);
		struct exchange part = *x;

		part.bytes = block_len(x->bytes, rings, x->unit, i);
		part.group = groups[i];
		part.own = ref_plus(x->own, off);
		part.out = ref_plus(x->out, off);
		part.scratch += (uint64_t)i * scratch;
		part.tag += (uint32_t)i * exchange_ring.tags(up.n);
		done[i] = part.bytes > 0 ? exchange_ring.build(&part) : PLAN_NO_STEP;
	}
	return plan_join(x->plan, done, rings, "rings: done");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit, int rings)
{
	return (uint64_t)rings * exchange_ring.scratch(members, block_max(bytes, rings, unit), unit);
}

static uint64_t limit(int members, uint64_t message_bytes, int rings)
{
	return (uint64_t)rings * exchange_ring.limit(members, message_bytes);
}

static uint32_t tags(int members, int rings)
{
	return (uint32_t)rings * exchange_ring.tags(members);
}

static plan_id pair_build(const struct exchange *x)
{
	return build(x, PAIR);
}

static uint64_t pair_scratch(int members, uint64_t bytes, uint64_t unit)
{
	return scratch(members, bytes, unit, PAIR);
}

static uint64_t pair_limit(int members, uint64_t message_bytes)
{
	return limit(members, message_bytes, PAIR);
}

static uint32_t pair_tags(int members)
{
	return tags(members, PAIR);
}

static plan_id quad_build(const struct exchange *x)
{
	return build(x, QUAD);
}

static uint64_t quad_scratch(int members, uint64_t bytes, uint64_t unit)
{
	return scratch(members, bytes, unit, QUAD);
}

static uint64_t quad_limit(int members, uint64_t message_bytes)
{
	return limit(members, message_bytes, QUAD);
}

static uint32_t quad_tags(int members)
{
	return tags(members, QUAD);
}

const struct exchange_kind exchange_bidirectional_ring = {
	.build = pair_build, .scratch = pair_scratch, .limit = pair_limit, .tags = pair_tags
};
const struct exchange_kind exchange_quad_directional_ring = {
	.build = quad_build, .scratch = quad_scratch, .limit = quad_limit, .tags = quad_tags
};
