/* SPDX-License-Identifier: MIT */
/* alltoall and alltoallv pair by pair: a rank sends to the ranks after it, the next one first, and receives from those
 * before it in the same order.
 *
 * n - 1 messages that do not wait for each other; each block is sent once, in pieces of at most message_bytes.  Any n >
 * 1, any lengths.  In place (alltoall) a received block replaces the block for the same rank, once that one has been
 * sent. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/window.h"

struct pairwise {
	const struct algo_in *in;
	struct plan *plan;
	struct window window;
	uint64_t message;
};

static void send_to(struct pairwise *p, int peer)
{
	uint64_t bytes = pair_bytes(p->in, p->in->me, peer), off = pair_send_off(p->in, p->in->me, peer);
	uint32_t tag = 0;

	for (uint64_t at = 0; at < bytes; at += p->message) {
		uint64_t len = min_u64(p->message, bytes - at);
		struct piece piece = piece_of_send(p->in, p->plan, &p->window, off + at, len, false);

		plan_send(p->plan, peer, tag++, piece.ref, len, &piece.ready, 1, "pair out");
		piece_end(&piece, p->plan, &p->window);
	}
}

static void recv_from(struct pairwise *p, int peer, plan_id after)
{
	uint64_t bytes = pair_bytes(p->in, peer, p->in->me), off = pair_recv_off(p->in, peer);
	plan_id got = after; /* receives from one peer are chained: the engine expects one message of it at a time */
	uint32_t tag = 0;

	for (uint64_t at = 0; at < bytes; at += p->message) {
		uint64_t len = min_u64(p->message, bytes - at);
		struct piece piece = piece_for_recv(p->in, p->plan, &p->window, off + at);

		piece.ready = got = plan_recv(p->plan, peer, tag++, piece.ref, len, &got, 1, "pair in");
		piece_to_recv(&piece, p->plan, off + at, len);
		piece_end(&piece, p->plan, &p->window);
	}
}

/* Sends first: of steps that can begin the lowest number does, and a message that has come must not delay one that
 * others wait for.  In place the receives wait for all sends; these do not wait for peers, so an order by single blocks
 * would gain little. */
static void sends_then_receives(struct pairwise *p)
{
	int n = p->in->layout->n, me = p->in->me;
	plan_id from = p->plan->n_steps, out = PLAN_NO_STEP;

	for (int s = 1; s < n; s++)
		send_to(p, ring_at(me + s, n));
	if (p->in->in_place) {
		need_range(p->plan, from, p->plan->n_steps);
		out = plan_join(p->plan, NULL, 0, "all out");
	}
	for (int s = 1; s < n; s++)
		recv_from(p, ring_at(me - s, n), out);
}

/* Sends and receives share the window. */
static void in_turns(struct pairwise *p)
{
	int n = p->in->layout->n, me = p->in->me;

	for (int s = 1; s < n; s++) {
		send_to(p, ring_at(me + s, n));
		recv_from(p, ring_at(me - s, n), PLAN_NO_STEP);
	}
}

choir_status alltoall_pairwise(const struct algo_in *in, struct plan *plan)
{
	struct pairwise p = { .in = in, .plan = plan, .message = message_limit(in, block_unit(in->elem_bytes)) };
	bool both_direct = in->send_direct && in->recv_direct;
	int me = in->me;

	window_init(&p.window, plan, both_direct ? 0 : p.message);
	if (!in->in_place)
		copy_own(in, plan, &p.window, pair_recv_off(in, me), pair_send_off(in, me, me), pair_bytes(in, me, me));
	if (in->in_place || both_direct)
		sends_then_receives(&p);
	else
		in_turns(&p);
	return plan_finish(plan);
}
