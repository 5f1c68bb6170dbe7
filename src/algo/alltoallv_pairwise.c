/* SPDX-License-Identifier: MIT */
/* alltoallv pair by pair: at step s send to the rank s after me and receive from the rank s before me, so no rank is swamped.
 *
 * n - 1 steps that do not wait for each other; each block is sent once, in pieces of at most message_bytes.  Any n > 1, any lengths. */
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

static void recv_from(struct pairwise *p, int peer)
{
	uint64_t bytes = pair_bytes(p->in, peer, p->in->me), off = pair_recv_off(p->in, peer, p->in->me);
	plan_id got = PLAN_NO_STEP; /* receives from one peer are chained: an engine looks for one message of each at a time */
	uint32_t tag = 0;

	for (uint64_t at = 0; at < bytes; at += p->message) {
		uint64_t len = min_u64(p->message, bytes - at);
		struct piece piece = piece_for_recv(p->in, p->plan, &p->window, off + at);

		piece.ready = got = plan_recv(p->plan, peer, tag++, piece.ref, len, &got, 1, "pair in");
		piece_to_recv(&piece, p->plan, off + at, len);
		piece_end(&piece, p->plan, &p->window);
	}
}

choir_status alltoallv_pairwise(const struct algo_in *in, struct plan *plan)
{
	struct pairwise p = { .in = in, .plan = plan, .message = message_limit(in, block_unit(in->elem_bytes)) };
	int n = in->layout->n, me = in->me;

	window_init(&p.window, plan, in->send_direct && in->recv_direct ? 0 : p.message);
	copy_own(in, plan, &p.window, pair_recv_off(in, me, me), pair_send_off(in, me, me), pair_bytes(in, me, me));
	for (int s = 1; s < n; s++) {
		send_to(&p, ring_at(me + s, n));
		recv_from(&p, ring_at(me - s, n));
	}
	return plan_finish(plan);
}
