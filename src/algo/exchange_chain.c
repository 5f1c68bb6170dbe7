/* SPDX-License-Identifier: MIT */
/* Up to DEPTH exchanges overlap: chunk k reuses the scratch of chunk k - DEPTH. */
#include "algo/exchange.h"
#include "algo/pattern_block.h"

#define DEPTH 8

struct chain {
	const struct algo_in *in;
	struct plan *plan;
	const struct exchange_kind *kind;
	struct chunks chunks;
	uint64_t unit;
	bool to_root, has_recv;
	uint64_t stage, scratch;             /* offsets of the first of DEPTH areas */
	uint64_t stage_bytes, scratch_bytes; /* of one area */
	plan_id done[DEPTH];
};

static void add_chunk(struct chain *c, uint64_t k)
{
	const struct algo_in *in = c->in;
	uint64_t off = chunk_off(c->chunks, k), len = chunk_len(c->chunks, k), area = k % DEPTH;
	struct plan_ref staged = plan_at(PLAN_SCRATCH, c->stage + area * c->stage_bytes);
	struct exchange x = {
		.plan = c->plan,
		.group = c->kind->by_rank ? group_by_rank(in) : group_ring(in),
		.to_root = c->to_root,
		.root = in->root, /* where there is one the kind is by rank */
		.own_raw = true,
		.bytes = len,
		.unit = c->unit,
		.own = in->send_direct ? plan_at(PLAN_SEND, off) : staged,
		.out = in->recv_direct && c->has_recv ? plan_at(PLAN_RECV, off) : staged,
		.scratch = c->scratch + area * c->scratch_bytes,
		.tag = (uint32_t)k * c->kind->tags(in->layout->n),
		.after = c->done[area],
	};

	if (!in->send_direct)
		x.after = plan_copy(c->plan, staged, plan_at(PLAN_SEND, off), len, &x.after, 1, "stage in");
	c->done[area] = c->kind->build(&x);
	if (!in->recv_direct && c->has_recv)
		c->done[area] =
		    plan_copy(c->plan, plan_at(PLAN_RECV, off), staged, len, &c->done[area], 1, "stage out");
}

choir_status exchange_chain(const struct algo_in *in, struct plan *plan, const struct exchange_kind *kind)
{
	struct chain c = { .in = in, .plan = plan, .kind = kind, .unit = block_unit(in->elem_bytes) };
	uint64_t areas;

	c.to_root = in->collective == COLLECTIVE_REDUCE;
	c.has_recv = !c.to_root || in->me == in->root;
	c.chunks = chunks_of(in->bytes, kind->limit(in->layout->n, message_limit(in, c.unit)), c.unit);
	areas = min_u64(c.chunks.n, DEPTH);
	c.scratch_bytes = kind->scratch(in->layout->n, c.chunks.each, c.unit);
	c.scratch = plan_scratch(plan, areas * c.scratch_bytes);
	if (!in->send_direct || !in->recv_direct || !c.has_recv) {
		c.stage_bytes = round_up(c.chunks.each, 64);
		c.stage = plan_scratch(plan, areas * c.stage_bytes);
	}
	for (int i = 0; i < DEPTH; i++)
		c.done[i] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < c.chunks.n; k++)
		add_chunk(&c, k);
	return plan_finish(plan);
}
