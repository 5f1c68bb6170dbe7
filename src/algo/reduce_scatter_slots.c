/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv through the arena: each rank copies a chunk of every block to its slot and reduces
 * its own block's chunk from all slots into RECV.
 *
 * One wait for each chunk of the longest block.  A rank writes n - 1 blocks (n if SEND is neither direct nor reduced on
 * the device) and reads n.  One node, any lengths, also zero.  The owner folds in rank order.
 *
 * An area of the slot has a chunk of each block.  In period k a rank copies chunk k + 1 (where commands copy, k + 3),
 * reduces chunk k, publishes phase k + 2, and awaits it of all ranks.  All have reduced chunk k - 1 before phase k + 1,
 * so two areas would be enough, or four; Note [streams] says why there are never less than four.  In place is safe: a
 * chunk of RECV is written after the same chunk of every block was copied, by the step that reads it as its own
 * operand.
 *
 * Note [own block].  Where in->owns_reduced, a rank's own block stays in the device's memory.  The parts that the other
 * ranks put are written to the device, and a kernel reduces them with the own block into RECV.  So (n - 1) / n of SEND
 * cross the bus each way; without it, all of SEND down and one block up.  Chunk k is written beside the kernels of
 * chunks k - 1 and k - 2: phase k + 1 of such a rank says only that it has reduced chunk k - 1 - BEHIND, so where a
 * device may reduce all ranks have BEHIND areas more. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/fit.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

#define AREAS      4
#define BEHIND     (OWN_BLOCK_TURNS - 1)
#define MOST_AREAS (AREAS + BEHIND)

struct scatter {
	const struct algo_in *in;
	struct plan *plan;
	struct chunks chunks; /* of the longest block */
	struct window window;
	uint64_t ahead;         /* put k + ahead follows phase k + 1 */
	uint64_t behind, areas; /* phase k + 1 follows reduce k - 1 - behind */
	plan_id awaited, put_from[MOST_AREAS], put_to[MOST_AREAS], reduced[MOST_AREAS];
};

/* The same on all ranks. */
static uint64_t areas_of(const struct algo_in *in)
{
	return in->far_memory && in->layout->n <= OWN_BLOCK_RANKS && !in->scaled ? MOST_AREAS : AREAS;
}

/* All blocks' chunks fit an area. */
static uint64_t room_limit(const struct algo_in *in)
{
	return round_down(in->slot_bytes / (areas_of(in) * (uint64_t)in->layout->n), block_unit(in->elem_bytes));
}

/* The longest chunk of a block. */
static uint64_t chunk_limit(const struct algo_in *in)
{
	uint64_t n = (uint64_t)in->layout->n, limit = room_limit(in), all = in->block_bytes ? in->bytes : in->bytes * n,
		 cache = round_down(fit_chunk_bytes(in, all, n) / n, block_unit(in->elem_bytes));

	return cache ? min_u64(limit, cache) : limit;
}

/* Where commands copy, only the last write overlaps with nothing.  A rank whose host reduces writes one block of the n
 * that it reads, so the write before is over in time if the last chunk is an n-th of the others. */
static struct chunks chunks_for(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), n = (uint64_t)in->layout->n, each;
	struct chunks chunks = chunks_of(rank_block_longest(in), chunk_limit(in), unit);

	if (in->command_bytes == 0 || chunks.n < 2)
		return chunks;
	each = round_up(n * chunks.bytes / (n * chunks.n - n + 1), unit);
	if (each <= room_limit(in) && each < chunks.bytes) {
		chunks.each = each;
		chunks.n = (chunks.bytes + each - 1) / each;
	}
	return chunks;
}

const char *reduce_scatter_slots_unfit(const struct algo_in *in)
{
	const char *why = fit_node(in);

	if (why)
		return why;
	return chunk_limit(in) ? fit_phases(rank_block_longest(in) / chunk_limit(in) + 2) : "needs larger slots";
}

static struct plan_ref slot_at(const struct scatter *s, int rank, uint64_t k, int block)
{
	uint64_t n = (uint64_t)s->in->layout->n;

	if (s->chunks.n == 1) /* at the offsets of SEND, so that a short call uses little of the slot */
		return plan_slot(rank, rank_block_off(s->in, block));
	return plan_slot(rank, (k % s->areas * n + (uint64_t)block) * s->chunks.each);
}

static struct plan_ref send_at(const struct scatter *s, uint64_t k, int block)
{
	return plan_at(PLAN_SEND, rank_block_off(s->in, block) + chunk_off(s->chunks, k));
}

/* The length of a block's chunk k; 0 if only longer blocks have one. */
static uint64_t len_of(const struct scatter *s, uint64_t k, int block)
{
	uint64_t bytes = rank_block_bytes(s->in, block), off = chunk_off(s->chunks, k);

	return off < bytes ? min_u64(s->chunks.each, bytes - off) : 0;
}

/* True if this rank's own block is reduced from SEND itself. */
static bool reads_own(const struct algo_in *in)
{
	return in->send_direct || in->owns_reduced;
}

static void put(struct scatter *s, uint64_t k)
{
	s->put_from[k % MOST_AREAS] = s->plan->n_steps;
	for (int b = 0; b < s->in->layout->n; b++)
		if (len_of(s, k, b) && (b != s->in->me || !reads_own(s->in)))
			plan_copy(s->plan, slot_at(s, s->in->me, k, b), send_at(s, k, b), len_of(s, k, b), &s->awaited,
			          1, "put");
	s->put_to[k % MOST_AREAS] = s->plan->n_steps;
}

/* The reduction of the chunk that comes so many before chunk k. */
static plan_id reduced_before(const struct scatter *s, uint64_t k, uint64_t by)
{
	return k >= by ? s->reduced[(k - by) % MOST_AREAS] : PLAN_NO_STEP;
}

static void reduce(struct scatter *s, uint64_t k)
{
	const struct algo_in *in = s->in;
	uint64_t off = chunk_off(s->chunks, k), len = len_of(s, k, in->me);
	plan_id *reduced = &s->reduced[k % MOST_AREAS];
	struct piece piece;

	*reduced = PLAN_NO_STEP;
	if (len == 0)
		return;
	if (in->owns_reduced)
		piece = (struct piece){ .ref = plan_at(PLAN_RECV, off) };
	else
		piece = piece_for_recv(in, s->plan, &s->window, off);
	for (int p = 0; p < in->layout->n; p++)
		plan_source(s->plan, p == in->me && reads_own(in) ? send_at(s, k, p) : slot_at(s, p, k, in->me));
	if (s->behind > 0)
		plan_need(s->plan, reduced_before(s, k, 1 + s->behind)); /* exec has room for so many at a time */
	*reduced = plan_reduce(s->plan, piece.ref, NULL, 0, PLAN_RAW_ALL, true, len, &s->awaited, 1, "reduce block");
	piece.ready = *reduced;
	piece_to_recv(&piece, s->plan, off, len);
	piece_end(&piece, s->plan, &s->window);
}

static void publish(struct scatter *s, uint64_t k)
{
	plan_id reduced = reduced_before(s, k, 1 + s->behind);

	need_range(s->plan, s->put_from[k % MOST_AREAS], s->put_to[k % MOST_AREAS]);
	plan_publish(s->plan, (uint32_t)k + 1, &reduced, 1, "phase");
}

choir_status reduce_scatter_slots(const struct algo_in *in, struct plan *plan)
{
	struct scatter s = { .in = in, .plan = plan, .areas = areas_of(in), .awaited = PLAN_NO_STEP };

	plan->slot_bytes = in->slot_bytes;
	s.chunks = chunks_for(in);
	if (s.chunks.n == 0)
		return plan_finish(plan);
	plan->slot_used = s.chunks.n == 1 ? rank_blocks_total(in) : s.areas * (uint64_t)in->layout->n * s.chunks.each;
	window_init(&s.window, plan, in->recv_direct || in->owns_reduced ? 0 : s.chunks.each);
	s.ahead = fit_by_commands(in) ? AREAS - 1 : 1;
	s.behind = in->owns_reduced && s.areas == MOST_AREAS ? BEHIND : 0;
	for (uint64_t k = 0; k < s.ahead && k < s.chunks.n; k++)
		put(&s, k);
	publish(&s, 0);
	for (uint64_t k = 0; k < s.chunks.n; k++) {
		s.awaited = plan_await(plan, PLAN_ALL, (uint32_t)k + 1, &s.awaited, 1, "all there");
		if (k + s.ahead < s.chunks.n)
			put(&s, k + s.ahead);
		reduce(&s, k);
		if (k + 1 < s.chunks.n)
			publish(&s, k + 1);
	}
	return plan_finish(plan);
}
