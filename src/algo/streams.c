/* SPDX-License-Identifier: MIT */
/* Note [streams].  A slot has areas of one chunk.  In period k a rank copies its chunk k to its slot ("put"), publishes
 * phase k + 1, copies chunk k - 1 from all other slots ("take"; this hides the wait) and awaits phase k + 1 of all.
 * Where commands copy, the rank puts chunk k + AHEAD in period k, and takes chunk k - 1 meanwhile.  Put k + AHEAD
 * overwrites chunk k + AHEAD - AREAS.  All ranks have taken chunk k - 1 - BEHIND before phase k, which was awaited in
 * period k - 1, so AHEAD + BEHIND + 1 areas are enough.  Where no rank's commands copy all have taken chunk k - 3 by
 * then: ranks that are closer together read more from each other's caches.  There are as many everywhere: an area that
 * is used late has left the private caches of the cores (exec/slot_ring.h).  The longest stream sets the number of
 * periods; all ranks know all lengths.
 *
 * A rank copies its own part from SEND to RECV in as many pieces, after it has published: the wait hides the copy, and
 * bytes that other ranks take too are in the cache.  Where one command of the device copies all of it, that waits for
 * nothing.  An alltoallv copies its own part after the first wait, since RECV
 * must not be written before the ranks have compared their calls.  Where one step cannot copy from SEND to RECV, bytes
 * that other ranks take too are copied from the rank's slot, and the rest goes through scratch. */
#include "algo/streams.h"

#include "algo/fit.h"
#include "algo/group.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

#define AHEAD  2
#define BEHIND 3
#define AREAS  (AHEAD + BEHIND + 1)

struct streams {
	const struct algo_in *in;
	struct plan *plan;
	const struct stream_view *view;
	uint64_t chunk_bytes, n_chunks;
	uint64_t own_bytes, own_part; /* the own part: its length, and the bytes copied in each period */
	uint64_t own_at, own_to;      /* its offsets in SEND and RECV */
	plan_id awaited, published;   /* the latest */
	uint64_t ahead, behind;       /* AHEAD and BEHIND; 0 and 2 where no command of this rank copies */
	plan_id put_from[AREAS], put_to[AREAS], took_from[BEHIND], took_to[BEHIND];
};

static uint64_t longest(const struct algo_in *in, const struct stream_view *view)
{
	uint64_t bytes = 0;

	for (int r = 0; r < in->layout->n; r++) {
		struct stream stream = view->of(in, r);

		if (stream.bytes > bytes)
			bytes = stream.bytes;
	}
	return bytes;
}

static uint64_t chunk_bytes_of(const struct algo_in *in, const struct stream_view *view)
{
	uint64_t unit = block_unit(in->elem_bytes), bytes = longest(in, view);
	/* what goes one way needs fewer waits */
	uint64_t fit = collective_has(in->collective, TRAIT_ROOTED) ? fit_chunk_bytes(in, bytes, 1)
	                                                            : fit_moved_chunk_bytes(in, bytes);

	return min_u64(round_down(in->slot_bytes / AREAS, unit), round_up(fit, unit));
}

/* True if a rank sends bytes to itself that are in no stream. */
static bool any_own(const struct algo_in *in, const struct stream_view *view)
{
	bool any = false;

	for (int r = 0; r < in->layout->n && view->own_bytes; r++)
		any |= view->own_bytes(in, r) > 0;
	return any;
}

static struct plan_ref slot_at(const struct streams *s, int rank, uint64_t stream_off)
{
	return plan_slot(rank, stream_off / s->chunk_bytes % AREAS * s->chunk_bytes + stream_off % s->chunk_bytes);
}

static void put(struct streams *s, uint64_t k)
{
	uint64_t from = k * s->chunk_bytes, to = min_u64(from + s->chunk_bytes, s->view->of(s->in, s->in->me).bytes);

	s->put_from[k % AREAS] = s->plan->n_steps;
	for (uint64_t len; from < to; from += len) {
		uint64_t at = from;

		len = to - from;
		if (s->view->send_at)
			at = s->view->send_at(s->in, from, &len);
		if (at != STREAM_GAP)
			plan_copy(s->plan, slot_at(s, s->in->me, from), plan_at(PLAN_SEND, at), len, &s->awaited, 1,
			          "put");
	}
	s->put_to[k % AREAS] = s->plan->n_steps;
}

/* Takes what chunk k of that rank has for this one. */
static void take_from(struct streams *s, int rank, uint64_t k)
{
	struct stream stream = s->view->of(s->in, rank);
	uint64_t from = k * s->chunk_bytes, to = min_u64(from + s->chunk_bytes, stream.to);

	if (from < stream.from)
		from = stream.from;
	if (from < to)
		plan_copy(s->plan, plan_at(PLAN_RECV, stream.recv_off + from - stream.from), slot_at(s, rank, from),
		          to - from, (plan_id[]){ s->awaited, s->ahead ? PLAN_NO_STEP : s->published }, 2, "take");
}

/* Takes chunk k of all other ranks, beginning with the next rank, so that not all read one slot at once; after the next
 * chunk is published, for which the others wait, unless commands put that. */
static void take(struct streams *s, uint64_t k)
{
	bool from_mine = !s->view->own_bytes && !s->in->in_place && s->own_bytes == 0;
	int n = s->in->layout->n;

	s->took_from[k % s->behind] = s->plan->n_steps;
	for (int i = from_mine ? 0 : 1; i < n; i++)
		take_from(s, (s->in->me + i) % n, k);
	s->took_to[k % s->behind] = s->plan->n_steps;
}

/* Copies the piece of the own part for period k. */
static void own(struct streams *s, uint64_t k, plan_id after)
{
	uint64_t from = min_u64(k * s->own_part, s->own_bytes), len = min_u64(s->own_part, s->own_bytes - from);

	if (len > 0)
		plan_copy(s->plan, plan_at(PLAN_RECV, s->own_to + from), plan_at(PLAN_SEND, s->own_at + from), len,
		          &after, 1, "own");
}

/* A command of the device, which copies all of the own part, waits for nothing. */
static plan_id own_after(const struct streams *s)
{
	return s->in->owns_copied ? PLAN_NO_STEP : s->published;
}

/* A single chunk that goes one way, of a gather or scatter: a rank that gives waits for no other rank; a rank that
 * takes waits for the givers and publishes nothing, since no rank waits for it. */
static void period_one_way(struct streams *s)
{
	const struct algo_in *in = s->in;

	put(s, 0);
	if (s->put_to[0] > s->put_from[0]) {
		need_range(s->plan, s->put_from[0], s->put_to[0]);
		s->published = plan_publish(s->plan, 1, NULL, 0, "block there");
	}
	own(s, 0, own_after(s));
	for (int i = 1; i < in->layout->n; i++) {
		int rank = (in->me + i) % in->layout->n;
		struct stream stream = s->view->of(in, rank);

		if (stream.from < stream.to) {
			s->awaited = plan_await(s->plan, rank, 1, NULL, 0, "block there");
			take_from(s, rank, 0);
		}
	}
}

static void period(struct streams *s, uint64_t k)
{
	bool late = s->in->collective == COLLECTIVE_ALLTOALLV;

	if (k + s->ahead < s->n_chunks)
		put(s, k + s->ahead);
	if (k < s->n_chunks) {
		need_range(s->plan, s->put_from[k % AREAS], s->put_to[k % AREAS]);
		if (k >= s->behind)
			need_range(s->plan, s->took_from[k % s->behind], s->took_to[k % s->behind]);
		s->published = plan_publish(s->plan, (uint32_t)k + 1, NULL, 0, "phase");
		if (!late)
			own(s, k, own_after(s));
	}
	if (k > 0) {
		take(s, k - 1);
		if (late)
			own(s, k - 1, s->awaited);
	}
	if (k < s->n_chunks)
		s->awaited = plan_await(s->plan, PLAN_ALL, (uint32_t)k + 1, &s->awaited, 1, "all there");
}

static void all_periods(struct streams *s)
{
	for (uint64_t k = 0; k < s->ahead && k < s->n_chunks; k++)
		put(s, k);
	for (uint64_t k = 0; k <= s->n_chunks; k++)
		period(s, k);
}

/* Prepares the copy of the own part from SEND to RECV, or makes it at once where it goes through scratch. */
static void begin_own(struct streams *s, struct window *window)
{
	const struct algo_in *in = s->in;
	struct stream mine = s->view->of(in, in->me);
	uint64_t bytes = s->view->own_bytes ? s->view->own_bytes(in, in->me) : mine.bytes,
		 at = s->view->own_at ? s->view->own_at(in) : 0;

	if (in->in_place || bytes == 0)
		return;
	if (one_step_copies_own(in)) {
		s->own_bytes = bytes;
		s->own_part = round_up((bytes + s->n_chunks - 1) / s->n_chunks, block_unit(in->elem_bytes));
		if (in->owns_copied) /* by one command of the device */
			s->own_part = bytes;
		s->own_at = at;
		s->own_to = mine.recv_off;
	} else if (s->view->own_bytes) {
		window_init(window, s->plan, min_u64(s->chunk_bytes, bytes));
		copy_own(in, s->plan, window, mine.recv_off, at, bytes);
	}
}

choir_status streams_build(const struct algo_in *in, struct plan *plan, const struct stream_view *view)
{
	struct streams s = { .in = in, .plan = plan, .view = view, .awaited = PLAN_NO_STEP, .published = PLAN_NO_STEP };
	uint64_t bytes = longest(in, view);
	struct window window;

	plan->slot_bytes = in->slot_bytes;
	plan->nt = in->nt;
	s.ahead = fit_by_commands(in) ? AHEAD : 0;
	s.behind = s.ahead > 0 ? BEHIND : 2;
	s.chunk_bytes = chunk_bytes_of(in, view);
	s.n_chunks = bytes == 0 && any_own(in, view) ? 1 : (bytes + s.chunk_bytes - 1) / s.chunk_bytes;
	plan->slot_used = s.n_chunks <= 1 ? bytes : min_u64(s.n_chunks, AREAS) * s.chunk_bytes;
	if (s.n_chunks > 0)
		begin_own(&s, &window);
	if (s.n_chunks == 1 && collective_has(in->collective, TRAIT_ROOTED))
		period_one_way(&s);
	else if (s.n_chunks > 0)
		all_periods(&s);
	return plan_finish(plan);
}

const char *streams_unfit(const struct algo_in *in, const struct stream_view *view)
{
	uint64_t chunk = chunk_bytes_of(in, view);

	if (chunk == 0)
		return "needs larger slots";
	return fit_phases(longest(in, view) / chunk + 2);
}
