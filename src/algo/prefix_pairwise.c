/* SPDX-License-Identifier: MIT */
/* scan and exscan, rank to rank: each rank sends its input to all ranks after it, and folds what it receives.
 *
 * One round of n - 1 messages for each chunk.  Any n > 1, any length.  Scratch: AREAS times n chunks, of which
 * MOST_MESSAGES fill a message in large comms.  Each element is one left fold in rank order, so f16 and bf16 are
 * rounded once. */
#include "algo/build.h"
#include "algo/credit.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"
#include "algo/window.h"

#define AREAS         8 /* chunk k uses the scratch of chunk k - AREAS again */
#define MOST_MESSAGES 8 /* in an area: bounds the scratch of large comms */

struct pairwise {
	const struct algo_in *in;
	struct plan *plan;
	struct chunks chunks;
	uint64_t base, area, stride; /* of scratch: its offset; bytes of an area, of a part in it */
	plan_id done[AREAS];
	plan_id credit;
};

/* The memory of a rank's part of chunk k; of the rank after this one: of the result. */
static struct plan_ref part_of(const struct pairwise *p, uint64_t k, int rank)
{
	return plan_at(PLAN_SCRATCH, p->base + k % AREAS * p->area + (uint64_t)rank * p->stride);
}

static void send_own(struct pairwise *p, uint64_t k, struct plan_ref own, plan_id ready)
{
	for (int to = p->in->me + 1; to < p->in->layout->n; to++) {
		p->credit = credit_await(p->plan, to, k, CREDIT_STEP, p->credit);
		plan_send(p->plan, to, (uint32_t)k, own, chunk_len(p->chunks, k), (plan_id[]){ ready, p->credit }, 2,
		          "input out");
	}
}

static void recv_others(struct pairwise *p, uint64_t k)
{
	for (int from = 0; from < p->in->me; from++) {
		plan_id got = plan_recv(p->plan, from, (uint32_t)k, part_of(p, k, from), chunk_len(p->chunks, k),
		                        &p->done[k % AREAS], 1, "input in");

		credit_give(p->plan, from, k, CREDIT_STEP, p->chunks.n, got);
	}
}

/* The fold waits for the sends too: in place it writes what they read. */
static plan_id fold(struct pairwise *p, uint64_t k, struct plan_ref own, plan_id ready)
{
	const struct algo_in *in = p->in;
	uint64_t off = chunk_off(p->chunks, k), len = chunk_len(p->chunks, k);
	struct plan_ref out = in->recv_direct ? plan_at(PLAN_RECV, off) : part_of(p, k, in->me + 1);
	plan_id done;

	if (prefix_end(in, in->me) == 0)
		return plan_join(p->plan, &ready, 1, "input sent");
	for (int rank = 0; rank < prefix_end(in, in->me); rank++)
		plan_source(p->plan, rank == in->me ? own : part_of(p, k, rank));
	done = plan_reduce(p->plan, out, NULL, 0, PLAN_RAW_ALL, false, len, &ready, 1, "fold");
	if (!in->recv_direct)
		done = plan_copy(p->plan, plan_at(PLAN_RECV, off), out, len, &done, 1, "stage out");
	return done;
}

static void add_chunk(struct pairwise *p, uint64_t k)
{
	struct plan_ref own = plan_at(PLAN_SEND, chunk_off(p->chunks, k));
	plan_id *done = &p->done[k % AREAS], ready = *done, from;

	if (!p->in->send_direct) {
		struct plan_ref send = own;

		own = part_of(p, k, p->in->me);
		ready = plan_copy(p->plan, own, send, chunk_len(p->chunks, k), done, 1, "stage in");
	}
	from = p->plan->n_steps;
	send_own(p, k, own, ready);
	recv_others(p, k);
	need_range(p->plan, from, p->plan->n_steps);
	*done = fold(p, k, own, ready);
}

choir_status prefix_pairwise(const struct algo_in *in, struct plan *plan)
{
	uint64_t unit = block_unit(in->elem_bytes), message = message_limit(in, unit);
	uint64_t limit = round_down(min_u64(message, MOST_MESSAGES * message / (uint64_t)in->layout->n), unit);
	struct pairwise p = { .in = in, .plan = plan, .credit = PLAN_NO_STEP };

	p.chunks = chunks_of(in->bytes, limit > 0 ? limit : unit, unit);
	p.stride = p.chunks.n ? round_up(p.chunks.each, 64) : 0;
	p.area = ((uint64_t)in->me + 2) * p.stride;
	p.base = plan_scratch(plan, min_u64(p.chunks.n, AREAS) * p.area);
	for (int i = 0; i < AREAS; i++)
		p.done[i] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < p.chunks.n; k++)
		add_chunk(&p, k);
	return plan_finish(plan);
}
