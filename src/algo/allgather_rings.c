/* SPDX-License-Identifier: MIT */
/* allgather and allgatherv by rings over all ranks, node after node: at each step a rank passes on the block that it
 * received last.  ring_lanes.h has the rings of each method.
 *
 * One ring, pair, quad: n - 1 rounds; meeting in the middle: n/2.  A rank sends and receives all blocks but one.
 * Blocks travel in pieces of at most message_bytes, each passed on as it comes.  A rank sends AHEAD pieces of its own
 * block at once, and one more for each piece of the first block that it receives: so messages do not pile up at a late
 * rank, but where that block is the shorter one.  Any n > 1, any lengths, also zero. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_ring.h"
#include "algo/ring_lanes.h"
#include "algo/window.h"

enum { AHEAD = 8 };

struct gather_lane {
	struct ring_lane ring;
	struct window window;
	int next, before; /* comm ranks */
	uint64_t n_own;   /* pieces of this rank's part; their tags come first */
	uint64_t n_got;   /* messages received so far; as many tags further on they are sent on */
	plan_id got;      /* the last receive; receives are chained: the engine expects one message at a time */
	bool copies;      /* this rank's part to its RECV */
};

struct gather {
	const struct algo_in *in;
	struct plan *plan;
	uint64_t unit, message;
	struct gather_lane lanes[MOST_LANES];
	int n_lanes;
};

/* Messages of two lanes may go between the same two ranks. */
static uint32_t tag_of(const struct gather *g, const struct gather_lane *lane, uint64_t number)
{
	return (uint32_t)number * (uint32_t)g->n_lanes + (uint32_t)(lane - g->lanes);
}

static void send_piece(struct gather *g, struct gather_lane *lane, uint64_t number, const struct piece *piece,
                       uint64_t len, plan_id after, const char *label)
{
	plan_send(g->plan, lane->next, tag_of(g, lane, number), piece->ref, len, (plan_id[]){ piece->ready, after }, 2,
	          label);
}

static uint64_t own_bytes(const struct gather *g, const struct gather_lane *lane)
{
	return lane_len(&lane->ring, rank_block_bytes(g->in, g->in->me), g->unit);
}

static bool copies_own(const struct gather *g, const struct gather_lane *lane)
{
	return lane->copies && !g->in->in_place;
}

static bool both_direct(const struct gather *g)
{
	return g->in->send_direct && g->in->recv_direct;
}

/* Sends pieces of this rank's part, the first of them numbered `from`, and copies them to its RECV where one step
 * cannot copy all. */
static void send_own(struct gather *g, struct gather_lane *lane, uint64_t from, uint64_t n)
{
	const struct algo_in *in = g->in;
	uint64_t begin = lane_off(&lane->ring, rank_block_bytes(in, in->me), g->unit), bytes = own_bytes(g, lane);

	for (uint64_t k = from; k < lane->n_own && k - from < n; k++) {
		uint64_t at = k * g->message, len = min_u64(g->message, bytes - at);
		struct piece piece = piece_of_send(in, g->plan, &lane->window, begin + at, len, !both_direct(g));

		send_piece(g, lane, k, &piece, len, lane->got, "my block");
		if (copies_own(g, lane))
			piece_to_recv(&piece, g->plan, rank_block_off(in, in->me) + begin + at, len);
		piece_end(&piece, g->plan, &lane->window);
	}
}

static void copy_part(struct gather *g, struct gather_lane *lane)
{
	uint64_t begin = lane_off(&lane->ring, rank_block_bytes(g->in, g->in->me), g->unit);

	if (both_direct(g) && copies_own(g, lane) && lane->n_own > 0)
		plan_copy(g->plan, plan_at(PLAN_RECV, rank_block_off(g->in, g->in->me) + begin),
		          plan_at(PLAN_SEND, begin), own_bytes(g, lane), NULL, 0, "own");
}

static void add_step(struct gather *g, struct gather_lane *lane, int s)
{
	const struct group *group = &lane->ring.group;
	int rank = group_rank(group, ring_gather_recv_block(group->me, s, group->n, 0));
	uint64_t block = rank_block_bytes(g->in, rank), bytes = lane_len(&lane->ring, block, g->unit);
	uint64_t off = rank_block_off(g->in, rank) + lane_off(&lane->ring, block, g->unit);
	uint64_t own = AHEAD;

	for (uint64_t at = 0; at < bytes; at += g->message) {
		uint64_t len = min_u64(g->message, bytes - at);
		struct piece piece = piece_for_recv(g->in, g->plan, &lane->window, off + at);

		piece.ready = lane->got = plan_recv(g->plan, lane->before, tag_of(g, lane, lane->n_got), piece.ref, len,
		                                    &lane->got, 1, "block in");
		if (s < lane->ring.hops - 1)
			send_piece(g, lane, lane->n_own + lane->n_got, &piece, len, PLAN_NO_STEP, "block on");
		lane->n_got++;
		piece_to_recv(&piece, g->plan, off + at, len);
		piece_end(&piece, g->plan, &lane->window);
		if (s == 0)
			send_own(g, lane, own++, 1);
	}
	if (s == 0)
		send_own(g, lane, own, UINT64_MAX);
}

static choir_status build(const struct algo_in *in, struct plan *plan, enum ring_method method)
{
	struct gather g = { .in = in, .plan = plan, .unit = block_unit(in->elem_bytes) };
	struct ring_lane rings[MOST_LANES];

	plan->nt = in->nt;
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
	for (int i = 0; i < g.n_lanes; i++) {
		struct gather_lane *lane = &g.lanes[i];

		lane->n_own = (own_bytes(&g, lane) + g.message - 1) / g.message;
		send_own(&g, lane, 0, AHEAD);
		copy_part(&g, lane);
	}
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
