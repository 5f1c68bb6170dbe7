/* SPDX-License-Identifier: MIT */
/* Pairwise: each member owns a block and sends every other member its part of that member's block; then it reduces all
 * parts of its own block at once and sends the result to all others, or to the root alone.
 *
 * Rounds 2, of n - 1 messages each; a member sends 2(n-1)/n of the bytes, to a root (n-1)/n + 1/n of them.  Any n.
 * Scratch: n - 1 blocks.  Each block has one owner, which folds all members' parts from left to right in their order,
 * so f16 and bf16 are rounded once. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"

#define TAG_PART      0
#define TAG_RESULT    1
#define TAGS          2
#define MOST_MESSAGES 8 /* in a range: bounds the scratch of large groups */

struct pairwise {
	const struct exchange *x;
	int n, me;
	uint64_t stride;   /* of a received part */
	plan_id sent, got; /* the last send and receive; both are chained */
};

static uint64_t off_of(const struct pairwise *p, int block)
{
	return block_off(p->x->bytes, p->n, p->x->unit, block);
}

static uint64_t len_of(const struct pairwise *p, int block)
{
	return block_len(p->x->bytes, p->n, p->x->unit, block);
}

/* The memory of member i's part of this member's block. */
static struct plan_ref part_of(const struct pairwise *p, int i)
{
	if (i == p->me)
		return ref_plus(p->x->own, off_of(p, i));
	return plan_at(PLAN_SCRATCH, p->x->scratch + (uint64_t)(i - (i > p->me)) * p->stride);
}

static void send_block(struct pairwise *p, int to, uint32_t tag, struct plan_ref from, int block, plan_id ready,
                       const char *label)
{
	if (len_of(p, block))
		p->sent = plan_send(p->x->plan, group_rank(&p->x->group, to), p->x->tag + tag,
		                    ref_plus(from, off_of(p, block)), len_of(p, block), (plan_id[]){ ready, p->sent },
		                    2, label);
}

static void recv_block(struct pairwise *p, int from, uint32_t tag, struct plan_ref to, int block, plan_id ready,
                       const char *label)
{
	if (len_of(p, block))
		p->got = plan_recv(p->x->plan, group_rank(&p->x->group, from), p->x->tag + tag, to, len_of(p, block),
		                   (plan_id[]){ ready, p->got }, 2, label);
}

/* Reduces all parts of this member's block, in the order of members. */
static plan_id reduce_mine(struct pairwise *p)
{
	const struct exchange *x = p->x;

	if (!len_of(p, p->me))
		return p->sent;
	for (int i = 0; i < p->n; i++)
		plan_source(x->plan, part_of(p, i));
	return plan_reduce(x->plan, ref_plus(x->out, off_of(p, p->me)), NULL, 0,
	                   x->own_raw ? PLAN_RAW_ALL : PLAN_RAW_NONE, true, len_of(p, p->me),
	                   (plan_id[]){ p->sent, p->got }, 2, "pairs: reduce mine");
}

static void share(struct pairwise *p, plan_id reduced)
{
	const struct exchange *x = p->x;

	for (int s = 1; s < p->n; s++) {
		int to = ring_at(p->me + s, p->n);

		if (!x->to_root || to == x->root)
			send_block(p, to, TAG_RESULT, x->out, p->me, reduced, "pairs: result out");
	}
	for (int s = 1; s < p->n && (!x->to_root || p->me == x->root); s++) {
		int from = ring_at(p->me - s, p->n);

		recv_block(p, from, TAG_RESULT, ref_plus(x->out, off_of(p, from)), from, reduced, "pairs: result in");
	}
}

static plan_id build(const struct exchange *x)
{
	struct pairwise p = { .x = x,
		              .n = x->group.n,
		              .me = x->group.me,
		              .sent = x->after,
		              .got = x->after,
		              .stride = round_up(block_max(x->bytes, x->group.n, x->unit), 64) };
	plan_id reduced;

	for (int s = 1; s < p.n; s++)
		send_block(&p, ring_at(p.me + s, p.n), TAG_PART, x->own, ring_at(p.me + s, p.n), PLAN_NO_STEP,
		           "pairs: part out");
	for (int s = 1; s < p.n; s++) {
		int from = ring_at(p.me - s, p.n);

		recv_block(&p, from, TAG_PART, part_of(&p, from), p.me, PLAN_NO_STEP, "pairs: part in");
	}
	reduced = reduce_mine(&p);
	share(&p, reduced);
	return plan_join(x->plan, (plan_id[]){ p.sent, p.got, reduced }, 3, "pairs: done");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return (uint64_t)(members - 1) * round_up(block_max(bytes, members, unit), 64);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return message_bytes * min_u64((uint64_t)members, MOST_MESSAGES);
}

static uint32_t tags(int members)
{
	(void)members;
	return TAGS;
}

const struct exchange_kind exchange_pairwise = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags, .by_rank = true
};
