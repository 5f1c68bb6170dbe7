/* SPDX-License-Identifier: MIT */
/* The ring of exchange_ring.c the other way round: every member sends to the one before it. */
#include "algo/exchange.h"

static plan_id build(const struct exchange *x)
{
	struct exchange backwards = *x;

	backwards.group = group_reversed(x->group);
	return exchange_ring.build(&backwards);
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return exchange_ring.scratch(members, bytes, unit);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return exchange_ring.limit(members, message_bytes);
}

static uint32_t tags(int members)
{
	return exchange_ring.tags(members);
}

const struct exchange_kind exchange_anticlockwise_ring = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags
};
