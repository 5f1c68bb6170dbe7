/* SPDX-License-Identifier: MIT */
/* Note [slices].  The vector moves in chunks that stay in the cache.  A chunk is cut into one slice for each owner; the
 * owners are the first ranks of each node, as many as the smallest node has.  For each chunk a rank
 *
 *   puts       its input to its slot (an owner that can read SEND directly leaves its own slice out),
 *   reduces    its slice from all slots, in rank order, into its slot's result area (also into RECV, if the slice is
 *              final and RECV direct),
 *   exchanges  the slice with its owners on the other nodes (`kind`), which makes it final,
 *   gathers    the other slices from the owners' result areas into RECV.
 *
 * Each period has one phase.  By phase k + 1 a rank says that its input k is in its slot, its slice k - lag is final,
 * and it has gathered all slices up to k - result areas.  In period k, when all ranks have published that phase, a rank
 * puts input k + 1 (where commands copy it, k + 3), reduces chunk k, publishes the next phase, and then gathers chunk
 * k - lag: that work hides the wait for the others, and for the command that puts.  lag is 1 on one node; between nodes
 * it is the number of exchanges in flight.
 *
 * Areas are safe to reuse.  Input areas: put k + 1 overwrites input k + 1 - INPUT_AREAS, and all ranks have reduced
 * input k - 1 before phase k + 1, so 2 areas would be enough, and one more for each input that is put further ahead.
 * Result areas: reduce k overwrites result k - areas, which all ranks have gathered before phase k + 1.  lag + 2 would
 * be enough.  There are more, so that an area has left the private caches of the cores when it is used again
 * (exec/slot_ring.h), and that commands which gather are not waited for.
 *
 * Note [far slices].  Where ranks of one node have far memory, commands gather, and each takes time whatever its bytes.
 * So the owners write their slices of a chunk side by side into one result area, in the slots of all ranks in turn, and
 * one command gathers the whole chunk.  No slice waits for the next chunk's reads either: a period has two phases.  By
 * phase 2 k + 1 a rank says that its input k is in its slot and that it has gathered chunk k - result areas, by phase
 * 2 k + 2 that its slice k is final.  INPUT_AREAS inputs are put ahead; put k + INPUT_AREAS follows phase 2 k + 2 of
 * all ranks, which have reduced input k by then. */
#include "algo/slices.h"

#include "algo/fit.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

#define INPUT_AREAS           4
#define NODE_RESULTS          5
#define NETWORK_LAG           4
#define NETWORK_RESULTS       (NETWORK_LAG + 2)
#define NOMINAL_COMMAND_BYTES (64 * 1024)

struct slices {
	const struct algo_in *in;
	struct plan *plan;
	const struct exchange_kind *kind;
	const int *ranks; /* the ranks of this rank's node */
	int n, local_rank, owners;
	bool gathers;
	bool own_at_once; /* the REDUCE of this rank's slice also writes RECV */
	bool far;         /* Note [far slices] */
	uint64_t lag;
	uint64_t ahead;             /* put k + ahead follows phase k + 1; far: phase 2 k + 2 */
	uint64_t inputs, results;   /* numbers of areas: at most the number of chunks */
	uint64_t unit, slice_bytes; /* slice_bytes: of one result area */
	uint64_t scratch, scratch_bytes;
	struct chunks chunks;
	/* steps of the last chunks; arrays are indexed by chunk modulo their length */
	plan_id put_from[INPUT_AREAS], put_to[INPUT_AREAS];
	plan_id reduced, awaited;
	plan_id done[NETWORK_RESULTS];
	plan_id gather_from[NETWORK_RESULTS], gather_to[NETWORK_RESULTS];
};

static uint64_t results_of(const struct exchange_kind *kind)
{
	return kind ? NETWORK_RESULTS : NODE_RESULTS;
}

static bool is_far(const struct algo_in *in, const struct exchange_kind *kind)
{
	return !kind && in->command_bytes > 0;
}

/* Of whole chunks, in each slot. */
static uint64_t far_results(const struct algo_in *in, uint64_t results)
{
	uint64_t n = (uint64_t)node_size_of(in);

	return (results + n - 1) / n;
}

/* Chunks of one node's far memory. */
static uint64_t far_limit(const struct algo_in *in)
{
	uint64_t unit = block_unit(in->elem_bytes), areas = INPUT_AREAS + far_results(in, NODE_RESULTS);

	return min_u64(round_down(in->slot_bytes / areas, unit), round_up(fit_chunk_bytes(in, in->bytes, 1), unit));
}

/* The longest chunk: its inputs and result areas fit a slot, and its slices an exchange. */
static uint64_t chunk_limit(const struct algo_in *in, const struct exchange_kind *kind)
{
	uint64_t unit = block_unit(in->elem_bytes), owners = (uint64_t)in->layout->min_node_size;
	uint64_t results = results_of(kind), units = in->slot_bytes / unit;
	struct algo_in fixed = *in;
	uint64_t limit;

	if (is_far(in, kind))
		return far_limit(in);
	/* between nodes the order of the folds depends on the chunks */
	fixed.command_bytes = in->command_bytes ? NOMINAL_COMMAND_BYTES : 0;

	/* INPUT_AREAS u + results * ceil(u / owners) <= units */
	if (units <= results)
		return 0;
	limit = (units - results) * owners / (INPUT_AREAS * owners + results) * unit;
	limit = min_u64(limit, round_up(fit_chunk_bytes(kind ? &fixed : in, in->bytes, owners), unit));
	if (kind)
		limit = min_u64(limit, kind->limit(in->layout->n_nodes, message_limit(in, unit)) * owners);
	return limit;
}

static uint64_t slice_off(const struct slices *s, uint64_t k, int owner)
{
	return block_off(chunk_len(s->chunks, k), s->owners, s->unit, owner);
}

static uint64_t slice_len(const struct slices *s, uint64_t k, int owner)
{
	return owner < s->owners ? block_len(chunk_len(s->chunks, k), s->owners, s->unit, owner) : 0;
}

static struct plan_ref input_at(const struct slices *s, int local_rank, uint64_t k, uint64_t off)
{
	return plan_slot(s->ranks[local_rank], k % s->inputs * s->chunks.each + off);
}

/* The place of the owner's reduced slice of chunk k. */
static struct plan_ref result_at(const struct slices *s, int owner, uint64_t k)
{
	uint64_t n = (uint64_t)s->n, area = k % s->results, base = s->inputs * s->chunks.each;

	if (s->far)
		return plan_slot(s->ranks[area % n], base + area / n * s->chunks.each + slice_off(s, k, owner));
	return plan_slot(s->ranks[owner], base + area * s->slice_bytes);
}

static void put_range(struct slices *s, uint64_t k, uint64_t from, uint64_t to)
{
	if (from < to)
		plan_copy(s->plan, input_at(s, s->local_rank, k, from),
		          plan_at(PLAN_SEND, chunk_off(s->chunks, k) + from), to - from, &s->awaited, 1, "put");
}

/* An owner that reads SEND directly puts the bytes before and after its own slice. */
static void put(struct slices *s, uint64_t k)
{
	uint64_t len = chunk_len(s->chunks, k), own_from = len, own_to = len;

	if (s->in->send_direct && slice_len(s, k, s->local_rank)) {
		own_from = slice_off(s, k, s->local_rank);
		own_to = own_from + slice_len(s, k, s->local_rank);
	}
	s->put_from[k % INPUT_AREAS] = s->plan->n_steps;
	put_range(s, k, 0, own_from);
	put_range(s, k, own_to, len);
	s->put_to[k % INPUT_AREAS] = s->plan->n_steps;
}

static plan_id exchange(struct slices *s, uint64_t k, uint64_t len)
{
	struct exchange x = {
		.plan = s->plan,
		.group = group_across(s->in, s->local_rank),
		.own_raw = false,
		.bytes = len,
		.unit = s->unit,
		.own = result_at(s, s->local_rank, k),
		.out = result_at(s, s->local_rank, k),
		.scratch = s->scratch + k % s->lag * s->scratch_bytes,
		.tag = (uint32_t)k * s->kind->tags(s->in->layout->n_nodes),
		.after = s->reduced,
	};

	return s->kind->build(&x);
}

static void reduce(struct slices *s, uint64_t k)
{
	uint64_t len = slice_len(s, k, s->local_rank), off;

	s->done[k % (s->lag + 2)] = PLAN_NO_STEP;
	s->reduced = PLAN_NO_STEP;
	if (!len)
		return;
	off = slice_off(s, k, s->local_rank);
	if (s->own_at_once)
		plan_target(s->plan, plan_at(PLAN_RECV, chunk_off(s->chunks, k) + off));
	for (int p = 0; p < s->n; p++)
		plan_source(s->plan, p == s->local_rank && s->in->send_direct
		                         ? plan_at(PLAN_SEND, chunk_off(s->chunks, k) + off)
		                         : input_at(s, p, k, off));
	s->reduced = plan_reduce(s->plan, result_at(s, s->local_rank, k), NULL, 0, PLAN_RAW_ALL, !s->kind, len,
	                         &s->awaited, 1, "reduce slice");
	s->done[k % (s->lag + 2)] = s->kind ? exchange(s, k, len) : s->reduced;
}

static void gather_range(struct slices *s, uint64_t k, int owner, uint64_t len)
{
	plan_copy(s->plan, plan_at(PLAN_RECV, chunk_off(s->chunks, k) + slice_off(s, k, owner)), result_at(s, owner, k),
	          len, (plan_id[]){ s->awaited, s->reduced }, 2, "gather");
}

/* Gathers after this period's reduce, for which the other ranks wait.  Only speed needs that order. */
static void gather(struct slices *s, uint64_t k)
{
	s->gather_from[k % NETWORK_RESULTS] = s->plan->n_steps;
	if (s->far && !s->own_at_once)
		gather_range(s, k, 0, chunk_len(s->chunks, k));
	for (int p = 0; p < s->owners && (!s->far || s->own_at_once); p++)
		if (slice_len(s, k, p) && !(p == s->local_rank && s->own_at_once))
			gather_range(s, k, p, slice_len(s, k, p));
	s->gather_to[k % NETWORK_RESULTS] = s->plan->n_steps;
}

/* True if phase k + 1 announces an input or a result. */
static bool has_phase(const struct slices *s, uint64_t k)
{
	return k < s->chunks.n || (k >= s->lag && k < s->chunks.n + s->lag);
}

static void publish(struct slices *s, uint64_t k)
{
	if (!has_phase(s, k))
		return;
	if (k < s->chunks.n)
		need_range(s->plan, s->put_from[k % INPUT_AREAS], s->put_to[k % INPUT_AREAS]);
	if (k > 0 && k <= s->chunks.n)
		plan_need(s->plan, s->reduced); /* of chunk k - 1: its inputs are free */
	if (k >= s->lag)
		plan_need(s->plan, s->done[(k - s->lag) % (s->lag + 2)]);
	if (k >= results_of(s->kind))
		need_range(s->plan, s->gather_from[(k - results_of(s->kind)) % NETWORK_RESULTS],
		           s->gather_to[(k - results_of(s->kind)) % NETWORK_RESULTS]);
	plan_publish(s->plan, (uint32_t)k + 1, NULL, 0, "phase");
}

static void period(struct slices *s, uint64_t k)
{
	bool gathers = s->gathers && k >= s->lag && k < s->chunks.n + s->lag;

	if (k < s->chunks.n || gathers)
		s->awaited = plan_await(s->plan, PLAN_ALL, (uint32_t)k + 1, &s->awaited, 1, "all there");
	if (k + s->ahead < s->chunks.n)
		put(s, k + s->ahead);
	if (k < s->chunks.n)
		reduce(s, k);
	publish(s, k + 1);
	if (gathers)
		gather(s, k - s->lag);
}

static void publish_far_input(struct slices *s, uint64_t k)
{
	need_range(s->plan, s->put_from[k % INPUT_AREAS], s->put_to[k % INPUT_AREAS]);
	if (k >= NODE_RESULTS)
		need_range(s->plan, s->gather_from[(k - NODE_RESULTS) % NETWORK_RESULTS],
		           s->gather_to[(k - NODE_RESULTS) % NETWORK_RESULTS]);
	plan_publish(s->plan, (uint32_t)(2 * k) + 1, NULL, 0, "input there");
}

/* Note [far slices]. */
static void period_far(struct slices *s, uint64_t k)
{
	s->awaited = plan_await(s->plan, PLAN_ALL, (uint32_t)(2 * k) + 1, &s->awaited, 1, "inputs there");
	reduce(s, k);
	plan_publish(s->plan, (uint32_t)(2 * k) + 2, &s->reduced, 1, "slice there");
	if (k + 1 < s->chunks.n)
		publish_far_input(s, k + 1);
	if (k + s->ahead < s->chunks.n || s->gathers)
		s->awaited = plan_await(s->plan, PLAN_ALL, (uint32_t)(2 * k) + 2, &s->awaited, 1, "slices there");
	if (k + s->ahead < s->chunks.n)
		put(s, k + s->ahead);
	if (s->gathers)
		gather(s, k);
}

static void all_periods(struct slices *s)
{
	for (uint64_t k = 0; k < s->ahead && k < s->chunks.n; k++)
		put(s, k);
	if (s->far)
		publish_far_input(s, 0);
	else
		publish(s, 0);
	for (uint64_t k = 0; s->far && k < s->chunks.n; k++)
		period_far(s, k);
	for (uint64_t k = 0; !s->far && k < s->chunks.n + s->lag; k++)
		period(s, k);
}

choir_status slices_build(const struct algo_in *in, struct plan *plan, const struct exchange_kind *kind, int root)
{
	struct slices s = {
		.in = in,
		.plan = plan,
		.kind = kind,
		.ranks = node_ranks_of(in),
		.n = node_size_of(in),
		.local_rank = in->layout->local_rank_of[in->me],
		.owners = in->layout->min_node_size,
		.gathers = root < 0 || root == in->me,
		.far = is_far(in, kind),
		.lag = kind ? NETWORK_LAG : 1,
		.unit = block_unit(in->elem_bytes),
		.awaited = PLAN_NO_STEP,
		.reduced = PLAN_NO_STEP,
	};

	s.own_at_once = s.gathers && in->recv_direct && !kind;
	plan->slot_bytes = in->slot_bytes;
	plan->shares_slots = s.far;
	plan->nt = in->nt;
	if (in->bytes == 0)
		return plan_finish(plan);
	s.chunks = chunks_of(in->bytes, chunk_limit(in, kind), s.unit);
	s.slice_bytes = block_max(s.chunks.each, s.owners, s.unit);
	s.inputs = min_u64(s.chunks.n, INPUT_AREAS);
	s.results = min_u64(s.chunks.n, results_of(kind));
	plan->slot_used =
	    s.inputs * s.chunks.each + (s.far ? far_results(in, s.results) * s.chunks.each : s.results * s.slice_bytes);
	if (kind && s.local_rank < s.owners) {
		s.scratch_bytes = kind->scratch(in->layout->n_nodes, s.slice_bytes, s.unit);
		s.scratch = plan_scratch(plan, min_u64(s.lag, s.chunks.n) * s.scratch_bytes);
	}
	s.ahead = s.far ? INPUT_AREAS : fit_by_commands(in) ? INPUT_AREAS - 1 : 1;
	all_periods(&s);
	return plan_finish(plan);
}

const char *slices_unfit(const struct algo_in *in, const struct exchange_kind *kind)
{
	uint64_t limit = chunk_limit(in, kind);

	if (limit == 0)
		return "needs larger slots";
	if (kind && (in->bytes / limit + 1) * kind->tags(in->layout->n_nodes) > PLAN_LAST_TAG)
		return "has too many messages for so many bytes and nodes";
	return fit_phases(is_far(in, kind) ? 2 * (in->bytes / limit + 1) : in->bytes / limit + 2 + NETWORK_LAG);
}
