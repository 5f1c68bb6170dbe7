/* SPDX-License-Identifier: MIT */
/* Ring: reduce-scatter, then allgather, each n - 1 steps to the next member.
 *
 * 2(n-1) rounds; a member sends 2(n-1) messages and 2(n-1)/n of the bytes, the least possible.  Any n.  Scratch: two
 * blocks.  Block b is summed along the ring from member b to member b - 1, which owns it and sends the result on: one
 * owner, one order.  Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69,
 * 2009. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"

#define SHIFT 1 /* after the reduce-scatter member i owns block i + 1: its own block is the first it sends */

struct ring {
	const struct exchange *x;
	int n, me, next, before; /* next and before are comm ranks */
	uint64_t half;           /* bytes of one receive buffer */
	/* The last step of each kind, at first x->after.  Sends are chained, and so are receives, so that messages are
	 * sent in the plan's order. */
	plan_id sent, got, reduced;
};

static uint64_t off_of(const struct ring *r, int block)
{
	return block_off(r->x->bytes, r->n, r->x->unit, block);
}

static uint64_t len_of(const struct ring *r, int block)
{
	return block_len(r->x->bytes, r->n, r->x->unit, block);
}

static struct plan_ref buffer(const struct ring *r, int step)
{
	return plan_at(PLAN_SCRATCH, r->x->scratch + (uint64_t)(step % 2) * r->half);
}

static void send_block(struct ring *r, uint32_t step, struct plan_ref src, uint64_t len, plan_id ready,
                       const char *label)
{
	if (len)
		r->sent =
		    plan_send(r->x->plan, r->next, r->x->tag + step, src, len, (plan_id[]){ ready, r->sent }, 2, label);
}

/* One step of the reduce-scatter.  The receive overwrites the buffer that the previous step's send has read. */
static void reduce_step(struct ring *r, int s)
{
	const struct exchange *x = r->x;
	int out = ring_reduce_send_block(r->me, s, r->n, SHIFT), in = ring_reduce_recv_block(r->me, s, r->n, SHIFT);
	bool last = s == r->n - 2;
	plan_id free_after = r->sent; /* the send of the step before */
	struct plan_ref buf = buffer(r, s), own = ref_plus(x->own, off_of(r, in));
	enum plan_raw raw = !x->own_raw ? PLAN_RAW_NONE : s == 0 ? PLAN_RAW_ALL : PLAN_RAW_REST;

	if (s == 0)
		send_block(r, 0, ref_plus(x->own, off_of(r, out)), len_of(r, out), PLAN_NO_STEP, "ring: my block");
	else
		send_block(r, (uint32_t)s, buffer(r, s - 1), len_of(r, out), r->reduced, "ring: partial on");
	if (!len_of(r, in))
		return;
	r->got = plan_recv(x->plan, r->before, x->tag + (uint32_t)s, buf, len_of(r, in),
	                   (plan_id[]){ free_after, r->got }, 2, "ring: partial in");
	r->reduced = plan_reduce(x->plan, last ? ref_plus(x->out, off_of(r, in)) : buf, (struct plan_ref[]){ buf, own },
	                         2, raw, last, len_of(r, in), (plan_id[]){ r->got, r->reduced }, 2, "ring: add mine");
}

static void gather_step(struct ring *r, int s)
{
	const struct exchange *x = r->x;
	int out = ring_gather_send_block(r->me, s, r->n, SHIFT), in = ring_gather_recv_block(r->me, s, r->n, SHIFT);
	uint32_t tag = (uint32_t)(r->n - 1 + s);

	send_block(r, tag, ref_plus(x->out, off_of(r, out)), len_of(r, out), s == 0 ? r->reduced : r->got,
	           "ring: result on");
	if (len_of(r, in))
		r->got = plan_recv(x->plan, r->before, x->tag + tag, ref_plus(x->out, off_of(r, in)), len_of(r, in),
		                   &r->got, 1, "ring: result in");
}

static plan_id build(const struct exchange *x)
{
	int n = x->group.n, me = x->group.me;
	struct ring r = {
		.x = x,
		.n = n,
		.me = me,
		.next = group_rank(&x->group, ring_next(me, n)),
		.before = group_rank(&x->group, ring_before(me, n)),
		.half = round_up(block_max(x->bytes, n, x->unit), 64),
		.sent = x->after,
		.got = x->after,
		.reduced = x->after,
	};

	/* 1. reduce-scatter */
	for (int s = 0; s < n - 1; s++)
		reduce_step(&r, s);
	/* 2. allgather */
	for (int s = 0; s < n - 1; s++)
		gather_step(&r, s);
	return plan_join(x->plan, (plan_id[]){ r.sent, r.got, r.reduced }, 3, "ring: done");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return 2 * round_up(block_max(bytes, members, unit), 64);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return message_bytes * (uint64_t)members;
}

static uint32_t tags(int members)
{
	return 2 * (uint32_t)(members - 1);
}

const struct exchange_kind exchange_ring = { .build = build, .scratch = scratch, .limit = limit, .tags = tags };
