/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv by rings over all ranks, node after node: block b starts some hops before its
 * owner and is summed along the ring until it reaches the owner.  ring_lanes.h has the rings of each method.
 *
 * One ring, pair, quad: n - 1 rounds for each message_bytes of the longest part of a block, several in flight; meeting
 * in the middle: n/2 rounds.  A rank sends all blocks but its own.  Any n > 1, any lengths, also zero.  Each block has
 * one owner, which adds last; one fixed order. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_ring.h"
#include "algo/ring_lanes.h"
#include "algo/window.h"

/* Two lanes meet: the sum of the one that came first, with this rank's part. */
struct first_sum {
	bool there;
	struct plan_ref ref;
	struct window *window;
	uint32_t taken;
	plan_id from, ready;
};

struct scatter_lane {
	struct ring_lane ring;
	struct window own, partial;
	int next, before; /* comm ranks */
	uint32_t tag;
	/* the last step that reads SEND: in place RECV may be any block of SEND, and the round's last step writes it */
	plan_id last;
};

struct scatter {
	const struct algo_in *in;
	struct plan *plan;
	uint64_t unit;
	struct chunks chunks; /* of the longest part */
	struct scatter_lane lanes[MOST_LANES];
	int n_lanes;
	bool meets;
	struct first_sum first;
};

static uint64_t part_off(const struct scatter *sc, const struct ring_lane *ring, int rank, uint64_t k)
{
	return lane_off(ring, rank_block_bytes(sc->in, rank), sc->unit) + chunk_off(sc->chunks, k);
}

/* The length of chunk k of the lane's part of a rank's block; 0 if only longer parts have one. */
static uint64_t part_len(const struct scatter *sc, const struct ring_lane *ring, int rank, uint64_t k)
{
	uint64_t bytes = lane_len(ring, rank_block_bytes(sc->in, rank), sc->unit), off = chunk_off(sc->chunks, k);

	return off < bytes ? min_u64(sc->chunks.each, bytes - off) : 0;
}

static struct piece my_part(const struct scatter *sc, struct scatter_lane *lane, int rank, uint64_t k, uint64_t len)
{
	uint64_t off = rank_block_off(sc->in, rank) + part_off(sc, &lane->ring, rank, k);

	return piece_of_send(sc->in, sc->plan, &lane->own, off, len, false);
}

/* Sends the first block of the round unchanged. */
static void start_round(struct scatter *sc, struct scatter_lane *lane, uint64_t k)
{
	const struct group *group = &lane->ring.group;
	int rank = group_rank(group, ring_at(group->me + lane->ring.hops, group->n));
	uint64_t len = part_len(sc, &lane->ring, rank, k);
	struct piece piece;

	if (len == 0)
		return;
	piece = my_part(sc, lane, rank, k, len);
	lane->last = plan_send(sc->plan, lane->next, lane->tag, piece.ref, len, (plan_id[]){ piece.ready, lane->last },
	                       2, "ring: first");
	piece_end(&piece, sc->plan, &lane->own);
}

/* The sum of the lane that comes second is added to that of the first one. */
static void meet(struct scatter *sc, struct scatter_lane *lane, int s, struct plan_ref out, struct plan_ref partial,
                 uint64_t len, plan_id got)
{
	lane->last = plan_reduce(sc->plan, out, (struct plan_ref[]){ sc->first.ref, partial }, 2,
	                         s == 0 ? PLAN_RAW_REST : PLAN_RAW_NONE, true, len,
	                         (plan_id[]){ got, sc->first.ready, lane->last }, 3, "ring: meet");
	window_busy(sc->first.window, sc->plan, sc->first.taken, sc->first.from);
	sc->first.there = false;
}

static void add_mine(struct scatter *sc, struct scatter_lane *lane, int s, int rank, uint64_t k, struct plan_ref out,
                     struct plan_ref partial, uint64_t len, plan_id got, bool final)
{
	struct piece mine = my_part(sc, lane, rank, k, len);

	lane->last = plan_reduce(sc->plan, out, (struct plan_ref[]){ partial, mine.ref }, 2,
	                         s == 0 ? PLAN_RAW_ALL : PLAN_RAW_REST, final, len,
	                         (plan_id[]){ got, mine.ready, lane->last }, 3, "ring: add mine");
	piece_end(&mine, sc->plan, &lane->own);
}

/* Receives a partial sum and adds this rank's part; passes it on, or stores it in RECV in the last step. */
static void add_step(struct scatter *sc, struct scatter_lane *lane, int s, uint64_t k)
{
	const struct algo_in *in = sc->in;
	const struct group *group = &lane->ring.group;
	int rank = group_rank(group, ring_at(group->me - 1 + lane->ring.hops - s, group->n));
	uint64_t len = part_len(sc, &lane->ring, rank, k), off = part_off(sc, &lane->ring, rank, k);
	bool last = s == lane->ring.hops - 1, waits = last && sc->meets && !sc->first.there, final = last && !waits;
	struct plan_ref partial, out;
	plan_id from = sc->plan->n_steps, got;
	uint32_t taken;

	if (len == 0)
		return;
	partial = window_take(&lane->partial, sc->plan, &taken);
	out = final && in->recv_direct ? plan_at(PLAN_RECV, off) : partial;
	got = plan_recv(sc->plan, lane->before, lane->tag + (uint32_t)s, partial, len, NULL, 0, "ring: partial in");
	if (final && sc->meets)
		meet(sc, lane, s, out, partial, len, got);
	else
		add_mine(sc, lane, s, rank, k, out, partial, len, got, final);
	if (waits) {
		sc->first = (struct first_sum){ true, partial, &lane->partial, taken, from, lane->last };
		return;
	}
	if (!final)
		plan_send(sc->plan, lane->next, lane->tag + (uint32_t)s + 1, partial, len, &lane->last, 1,
		          "ring: partial on");
	else if (!in->recv_direct)
		plan_copy(sc->plan, plan_at(PLAN_RECV, off), out, len, &lane->last, 1, "stage out");
	window_busy(&lane->partial, sc->plan, taken, from);
}

static void add_round(struct scatter *sc, uint64_t k)
{
	uint32_t tags = (uint32_t)sc->in->layout->n;

	for (int i = 0; i < sc->n_lanes; i++) {
		sc->lanes[i].tag = ((uint32_t)k * (uint32_t)sc->n_lanes + (uint32_t)i) * tags;
		start_round(sc, &sc->lanes[i], k);
	}
	for (int s = 0; s < sc->in->layout->n - 1; s++)
		for (int i = 0; i < sc->n_lanes; i++)
			if (s < sc->lanes[i].ring.hops)
				add_step(sc, &sc->lanes[i], s, k);
}

static choir_status build(const struct algo_in *in, struct plan *plan, enum ring_method method)
{
	struct scatter sc = { .in = in, .plan = plan, .unit = block_unit(in->elem_bytes) };
	struct ring_lane rings[MOST_LANES];

	sc.n_lanes = ring_lanes_of(method, in, rings);
	sc.meets = method == RING_MEET && sc.n_lanes == 2;
	sc.chunks =
	    chunks_of(lane_len(&rings[0], rank_block_longest(in), sc.unit), message_limit(in, sc.unit), sc.unit);
	for (int i = 0; i < sc.n_lanes; i++) {
		const struct group *group = &rings[i].group;
		struct scatter_lane *lane = &sc.lanes[i];

		lane->ring = rings[i];
		lane->next = group_rank(group, ring_next(group->me, group->n));
		lane->before = group_rank(group, ring_before(group->me, group->n));
		lane->last = PLAN_NO_STEP;
		window_init(&lane->own, plan, in->send_direct || !sc.chunks.n ? 0 : sc.chunks.each);
		window_init(&lane->partial, plan, sc.chunks.n ? sc.chunks.each : 0);
	}
	for (uint64_t k = 0; k < sc.chunks.n; k++)
		add_round(&sc, k);
	return plan_finish(plan);
}

choir_status reduce_scatter_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_CLOCKWISE);
}

choir_status reduce_scatter_anticlockwise_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_ANTICLOCKWISE);
}

choir_status reduce_scatter_bidirectional_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_PAIR);
}

choir_status reduce_scatter_meet_in_middle_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_MEET);
}

choir_status reduce_scatter_quad_directional_ring(const struct algo_in *in, struct plan *plan)
{
	return build(in, plan, RING_QUAD);
}
