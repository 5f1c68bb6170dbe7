/* SPDX-License-Identifier: MIT */
/* A ring both ways, half of it each: the parts of a block come to its owner from both sides, meet there, and the result
 * goes back both ways.
 *
 * Rounds 2 (n/2), where a ring has 2(n-1), with whole blocks: 2(n-1)/n of the bytes sent by each member.  Any n; if n
 * is even the last round of each phase uses one direction alone.  Scratch: four blocks.  Block b has one owner, member
 * b, which adds the sums of both sides. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"

/* One direction.  Members and blocks are counted along it. */
struct side {
	struct group group;
	int hops, next, before; /* next and before are comm ranks */
	uint64_t scratch;
	uint32_t tag;
	plan_id sent, got, reduced;
};

struct meeting {
	const struct exchange *x;
	struct side sides[2];
	uint64_t half;    /* bytes of one receive buffer */
	bool first_there; /* one side's sum of my block, with my part, is in first */
	struct plan_ref first;
	plan_id first_ready, met;
};

/* A block of the side, counted along it, as a block of the range. */
static int block_at(const struct meeting *m, const struct side *side, int i)
{
	int n = side->group.n, at = ring_at(i, n);

	return side == &m->sides[1] ? n - 1 - at : at;
}

static uint64_t off_of(const struct meeting *m, int block)
{
	return block_off(m->x->bytes, m->x->group.n, m->x->unit, block);
}

static uint64_t len_of(const struct meeting *m, int block)
{
	return block_len(m->x->bytes, m->x->group.n, m->x->unit, block);
}

static struct plan_ref buffer(const struct meeting *m, const struct side *side, int step)
{
	return plan_at(PLAN_SCRATCH, side->scratch + (uint64_t)(step % 2) * m->half);
}

static void send_block(struct meeting *m, struct side *side, uint32_t step, struct plan_ref src, int block,
                       plan_id ready, const char *label)
{
	if (len_of(m, block))
		side->sent = plan_send(m->x->plan, side->next, side->tag + step, src, len_of(m, block),
		                       (plan_id[]){ ready, side->sent }, 2, label);
}

/* The partial sum of a block has come: my part is added, or the sum of the other side, if that has my part. */
static void add(struct meeting *m, struct side *side, int s, int block)
{
	const struct exchange *x = m->x;
	bool last = s == side->hops - 1, both = last && m->sides[1].hops > 0, meets = both && m->first_there;
	bool final = last && (!both || meets);
	struct plan_ref buf = buffer(m, side, s), own = ref_plus(x->own, off_of(m, block));
	enum plan_raw raw = !x->own_raw ? PLAN_RAW_NONE : s == 0 ? PLAN_RAW_ALL : PLAN_RAW_REST;
	plan_id deps[3] = { side->got, side->reduced, meets ? m->first_ready : PLAN_NO_STEP };

	if (meets && raw != PLAN_RAW_NONE)
		raw = s == 0 ? PLAN_RAW_REST : PLAN_RAW_NONE;
	side->reduced = plan_reduce(x->plan, final ? ref_plus(x->out, off_of(m, block)) : buf,
	                            (struct plan_ref[]){ meets ? m->first : buf, meets ? buf : own }, 2, raw, final,
	                            len_of(m, block), deps, 3, meets ? "ring: meet" : "ring: add mine");
	if (both && !meets) {
		m->first_there = true;
		m->first = buf;
		m->first_ready = side->reduced;
	}
	if (final)
		m->met = side->reduced;
}

static void reduce_step(struct meeting *m, struct side *side, int s)
{
	int me = side->group.me, out = block_at(m, side, me + side->hops - s),
	    in = block_at(m, side, me - 1 + side->hops - s);
	plan_id free_after = side->sent; /* the send of the step before */

	if (s == 0)
		send_block(m, side, 0, ref_plus(m->x->own, off_of(m, out)), out, PLAN_NO_STEP, "ring: my block");
	else
		send_block(m, side, (uint32_t)s, buffer(m, side, s - 1), out, side->reduced, "ring: partial on");
	if (!len_of(m, in))
		return;
	side->got = plan_recv(m->x->plan, side->before, side->tag + (uint32_t)s, buffer(m, side, s), len_of(m, in),
	                      (plan_id[]){ free_after, side->got }, 2, "ring: partial in");
	add(m, side, s, in);
}

static void gather_step(struct meeting *m, struct side *side, int s)
{
	const struct exchange *x = m->x;
	int me = side->group.me, out = block_at(m, side, me - s), in = block_at(m, side, me - 1 - s);
	uint32_t tag = (uint32_t)(side->hops + s);

	send_block(m, side, tag, ref_plus(x->out, off_of(m, out)), out, s == 0 ? m->met : side->got, "ring: result on");
	if (len_of(m, in))
		side->got = plan_recv(x->plan, side->before, side->tag + tag, ref_plus(x->out, off_of(m, in)),
		                      len_of(m, in), &side->got, 1, "ring: result in");
}

static plan_id build(const struct exchange *x)
{
	int n = x->group.n;
	struct meeting m = { .x = x, .half = round_up(block_max(x->bytes, n, x->unit), 64), .met = x->after };

	for (int i = 0; i < 2; i++) {
		struct group group = i == 0 ? x->group : group_reversed(x->group);

		m.sides[i] = (struct side){ .group = group,
			                    .hops = i == 0 ? n / 2 : (n - 1) / 2,
			                    .next = group_rank(&group, ring_next(group.me, n)),
			                    .before = group_rank(&group, ring_before(group.me, n)),
			                    .scratch = x->scratch + (uint64_t)i * 2 * m.half,
			                    .tag = x->tag + (uint32_t)(i * 2 * n),
			                    .sent = x->after,
			                    .got = x->after,
			                    .reduced = x->after };
	}
	for (int s = 0; s < m.sides[0].hops; s++)
		for (int i = 0; i < 2; i++)
			if (s < m.sides[i].hops)
				reduce_step(&m, &m.sides[i], s);
	for (int s = 0; s < m.sides[0].hops; s++)
		for (int i = 0; i < 2; i++)
			if (s < m.sides[i].hops)
				gather_step(&m, &m.sides[i], s);
	return plan_join(x->plan,
	                 (plan_id[]){ m.sides[0].sent, m.sides[0].got, m.sides[1].sent, m.sides[1].got,
	                              m.sides[0].reduced, m.sides[1].reduced },
	                 6, "ring: done");
}

static uint64_t scratch(int members, uint64_t bytes, uint64_t unit)
{
	return 4 * round_up(block_max(bytes, members, unit), 64);
}

static uint64_t limit(int members, uint64_t message_bytes)
{
	return message_bytes * (uint64_t)members;
}

static uint32_t tags(int members)
{
	return 4 * (uint32_t)members;
}

const struct exchange_kind exchange_meet_in_middle_ring = {
	.build = build, .scratch = scratch, .limit = limit, .tags = tags
};
