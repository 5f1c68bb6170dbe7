/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv by rings over all ranks, node after node: at each step a rank passes on the block that it
 * received last.  ring_lanes.h has the rings of each method.
 *
 * One ring, pair, quad: n - 1 rounds; meeting in the middle: n/2.  A rank sends and receives all blocks but one.
 * Blocks travel in pieces of at most message_bytes, each passed on as it comes.  Any n > 1, any lengths, also zero. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_ring.h"
#include "algo/ring_lanes.h"
#include "algo/window.h"

struct gather_lane {
	struct ring_lane ring;
	struct window window;
	int next, before;       /* comm ranks */
	uint32_t n_sent, n_got; /* messages so far: their tags */
	plan_id got;            /* the last receive; receives are chained: the engine expects one message at a time */
	bool copies;            /* this rank's part to its RECV */
};

struct gather {
	const struct algo_in *in;
	struct plan *plan;
	uint64_t unit, message;
	struct gather_lane lanes[MOST_LANES];
	int n_lanes;
};

/* Messages of two lanes may go between the same two ranks. */
static uint32_t tag_of(const struct gather *g, const struct gather_lane *lane, uint32_t number)
{
	return number * (uint32_t)g->n_lanes + (uint32_t)(lane - g->lanes);
}

static void send_piece(struct gather *g, struct gather_lane *lane, const struct piece *piece, uint64_t len,
                       const char *label)
{
	plan_send(g->plan, lane->next, tag_of(g, lane, lane->n_sent++), piece->ref, len, &piece->ready, 1, label);
}

/* Sends this rank's part and copies it to its RECV. */
static void add_own(struct gather *g, struct gather_lane *lane)
{
	const struct algo_in *in = g->in;
	uint64_t block = rank_block_bytes(in, in->me), off = rank_block_off(in, in->me);
	uint64_t begin = lane_off(&lane->ring, block, g->unit), bytes = lane_len(&lane->ring, block, g->unit);
	bool both_direct = in->send_direct && in->recv_direct, copies = lane->copies && !in->in_place;

	for (uint64_t at = begin; at < begin + bytes; at += g->message) {
		uint64_t len = min_u64(g->message, begin + bytes - at);
		struct piece piece = piece_of_send(in, g->plan, &lane->window, at, len, !both_direct);

		send_piece(g, lane, &piece, len, "my block");
		if (copies)
			piece_to_recv(&piece, g->plan, off + at, len);
		piece_end(&piece, g->plan, &lane->window);
	}
	if (both_direct && copies && bytes)
		plan_copy(g->plan, plan_at(PLAN_RECV, off + begin), plan_at(PLAN_SEND, begin), bytes, NULL, 0, "own");
}

static void add_step(struct gather *g, struct gather_lane *lane, int s)
{
	const struct group *group = &lane->ring.group;
	int rank = group_rank(group, ring_gather_recv_block(group->me, s, group->n, 0));
	uint64_t block = rank_block_bytes(g->in, rank), bytes = lane_len(&lane->ring, block, g->unit);
	uint64_t off = rank_block_off(g->in, rank) + lane_off(&lane->ring, block, g->unit);

	for (uint64_t at = 0; at < bytes; at += g->message) {
		uint64_t len = min_u64(g->message, bytes - at);
		struct piece piece = piece_for_recv(g->in, g->plan, &lane->window, off + at);

		piece.ready = lane->got = plan_recv(g->plan, lane->before, tag_of(g, lane, lane->n_got++), piece.ref,
		                                    len, &lane->got, 1, "block in");
		if (s < lane->ring.hops - 1)
			send_piece(g, lane, &piece, len, "block on");
		piece_to_recv(&piece, g->plan, off + at, len);
		piece_end(&piece, g->plan, &lane->window);
	}
}

static choir_status build(const struct algo_in *in, struct plan *plan, enum ring_method method)
{
	struct gather g = { .in = in, .plan = plan, .unit = block_unit(in->elem_bytes) };
	struct ring_lane rings[MOST_LANES];

	g.message = message_limit(in, g.unit);
	g.n_lanes = ring_lanes_of(method, in, rings);
	for (int i = 0; i < g.n_lanes; i++) {
		const struct group *group = &rings[i].group;

		g.lanes[i] = (struct gather_lane){ .ring = rings[i],
			                           .next = group_rank(group, ring_next(group->me, group->n)),
			                           .before = group_rank(group, ring_before(group->me, group->n)),
			                           .got = PLAN_NO_STEP,
			                           .copies = i == 0 || rings[i].parts > 1 };
		window_init(&g.lanes[i].window, plan, in->send_direct && in->recv_direct ? 0 : g.message);
	}
	for (int i = 0; i < g.n_lanes; i++)
		add_own(&g, &g.lanes[i]);
	for (int s = 0; s < in->layout->n - 1; s++)
		for (int i = 0; i < g.n_lanes; i++)
			if (s < g.lanes[i].ring.hops)
				add_step(&g, &g.lanes[i], s);
	return plan_finish(plan);
}

choir_status allgather_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_CLOCKWISE);
}

choir_status allgather_anticlockwise_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_ANTICLOCKWISE);
}

choir_status allgather_bidirectional_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_PAIR);
}

choir_status allgather_meet_in_middle_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_MEET);
}

choir_status allgather_quad_directional_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_QUAD);
}
