/* SPDX-License-Identifier: MIT */
/* Broadcast: every member sends its whole range to all others, and each reduces all of them itself.
 *
 * One round of n - 1 messages; a member sends n - 1 times the bytes: short ranges, for which the latency of one round
 * counts most.  Any n.  Scratch: n - 1 ranges.  All members fold in their order. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"

#define MOST_MESSAGES 8 /* in the scratch of a range: bounds it in large groups */

static struct plan_ref range_of(const struct exchange *x, int member)
{
	uint64_t i = (uint64_t)(member - (member > x->group.me));

	return member == x->group.me ? x->own : plan_at(PLAN_SCRATCH, x->scratch + i * round_up(x->bytes, 64));
}

static plan_id build(const struct exchange *x)
{
	int n = x->group.n, me = x->group.me;
	plan_id sent = x->after, got = x->after;

	if (x->bytes == 0)
		return x->after;
	for (int s = 1; s < n; s++)
		sent = plan_send(x->plan, group_rank(&x->group, ring_at(me + s, n)), x->tag, x->own, x->bytes, &sent, 1,
		                 "broadcast: mine");
	for (int s = 1; s < n; s++) {
		int from = ring_at(me - s, n);

		got = plan_recv(x->plan, group_rank(&x->group, from), x->tag, range_of(x, from), x->bytes, &got, 1,
		                "broadcast: theirs");
	}
	for (int i = 0; i < n; i++)
		plan_source(x->plan, range_of(x, i));
	return plan_reduce(x->plan, x->out, NULL, 0, x->own_raw ? PLAN_RAW_ALL : PLAN_RAW_NONE, true, x->bytes,
	                   (plan_id[]){ sent, got }, 2, "broadcast: reduce all");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	(void)unit;
	return (uint64_t)(members - 1) * round_up(bytes, 64);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	uint64_t bounded = round_down(message_bytes / (uint64_t)members * MOST_MESSAGES, 64);

	return members <= MOST_MESSAGES ? message_bytes : bounded > 0 ? min_u64(bounded, message_bytes) : 64;
}

static uint32_t tags(int members)
{
	(void)members;
	return 1;
}

const struct exchange_kind exchange_broadcast = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags, .by_rank = true
};
