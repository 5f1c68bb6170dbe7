/* SPDX-License-Identifier: MIT */
/* The steps, done on symbolic elements.  An element knows the sum of what went into it (originals are random 64-bit numbers, so a sum says
 * which ones), the order it was folded in, and what it is: nothing, a caller's original, a partial result, the final one.  A REDUCE whose
 * raw mark does not fit its sources, or that works on a final value, is an error: so square_add squares each original once, and mean
 * divides once. */
#include "plan/checker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum state { EMPTY, RAW, PARTIAL, FINAL };

struct cell {
	uint64_t sum, order;
	enum state state;
};

struct run {
	struct world *world;
	struct graph graph;
	struct cell **spaces;  /* [rank * 4 + buf], by element */
	struct cell **messages;/* [step] what a SEND_MSG took along */
	uint64_t elem;
	uint64_t random;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t original(int rank, uint64_t element)
{
	return mix(mix((uint64_t)rank + 1) + element);
}

static struct cell *cells(const struct run *run, int rank, struct plan_ref ref)
{
	struct access a = access_of(run->world, rank, ref, 0, 0, false);

	return run->spaces[a.space] + a.off / run->elem;
}

/* A move of one operand. */
static bool run_copy(struct run *run, int rank, long i, struct cell *dst, const struct cell *src, uint64_t n)
{
	for (uint64_t e = 0; e < n; e++)
		if (src[e].state == EMPTY)
			return world_fail(run->world, rank, i, "reads what nobody wrote, element %" PRIu64, e);
	memmove(dst, src, n * sizeof *dst);
	return true;
}

static bool run_reduce(struct run *run, int rank, long i, const struct plan *plan, const struct plan_step *step, uint64_t n)
{
	struct cell *dst = cells(run, rank, step->dst);

	for (uint64_t e = 0; e < n; e++) {
		struct cell result = { .state = step->final ? FINAL : PARTIAL };

		for (uint32_t k = 0; k < step->n_src; k++) {
			struct cell src = cells(run, rank, plan->refs[step->src_first + k])[e];
			bool raw = step->raw == PLAN_RAW_ALL || (step->raw == PLAN_RAW_REST && k > 0);

			if (src.state != (raw ? RAW : PARTIAL))
				return world_fail(run->world, rank, i, "source %u is %s where %s is wanted", k,
				                  (const char *[]){ "unwritten", "raw", "partial", "final" }[src.state], raw ? "raw" : "partial");
			result.sum += src.sum;
			result.order = k ? mix(result.order * 3 + src.order) : src.order;
		}
		dst[e] = result;
	}
	return true;
}

static bool run_step(struct run *run, uint32_t id)
{
	int rank = run->graph.rank_of[id];
	const struct plan *plan = &run->world->plans[rank];
	const struct plan_step *step = graph_step(run->world, &run->graph, id);
	long i = (long)(id - run->graph.base[rank]);
	uint64_t n = step->len / run->elem;

	switch (step->kind) {
	case PLAN_COPY:
		return run_copy(run, rank, i, cells(run, rank, step->dst), cells(run, rank, plan->refs[step->src_first]), n);
	case PLAN_REDUCE:
		return run_reduce(run, rank, i, plan, step, n);
	case PLAN_SEND_MSG:
		run->messages[id] = calloc(n + 1, sizeof(struct cell));
		return run_copy(run, rank, i, run->messages[id], cells(run, rank, plan->refs[step->src_first]), n);
	case PLAN_RECV_MSG:
		return run_copy(run, rank, i, cells(run, rank, step->dst), run->messages[run->graph.partner[id]], n);
	default:
		return true;
	}
}

/* What must be at element e of rank's RECV: the sum, or the one original. */
static bool expected_move(const struct world *world, int rank, uint64_t e, uint64_t *want)
{
	const struct algo_in *in = &world->ins[rank];
	uint64_t at = 0, elem = in->elem_bytes;

	for (int r = 0; r < world->n; r++) {
		size_t n = (size_t)world->n;
		uint64_t len, from = 0;

		if (in->collective == COLLECTIVE_ALLTOALLV) {
			len = in->block_bytes[(size_t)r * n + (size_t)rank];
			for (int k = 0; k < rank; k++)
				from += in->block_bytes[(size_t)r * n + (size_t)k];
		} else {
			len = in->block_bytes ? in->block_bytes[r] : in->bytes;
			at = in->block_off ? in->block_off[r] : at;
		}
		if (e * elem >= at && e * elem < at + len) {
			*want = original(r, (e * elem - at + from) / elem);
			return true;
		}
		at += len;
	}
	return false; /* a gap between displaced blocks */
}

static uint64_t expected_sum(const struct world *world, int rank, uint64_t e)
{
	const struct algo_in *in = &world->ins[rank];
	uint64_t sum = 0, first = in->collective == COLLECTIVE_REDUCE_SCATTER ? (uint64_t)rank * in->bytes / in->elem_bytes : 0;

	for (int r = 0; r < world->n; r++)
		sum += original(r, first + e);
	return sum;
}

static bool is_reduction(enum collective collective)
{
	return collective == COLLECTIVE_ALLREDUCE || collective == COLLECTIVE_REDUCE || collective == COLLECTIVE_REDUCE_SCATTER;
}

static bool check_result(struct run *run, int rank)
{
	const struct algo_in *in = &run->world->ins[rank];
	uint64_t n = world_recv_bytes(run->world, rank) / run->elem;
	const struct cell *recv = cells(run, rank, plan_at(PLAN_RECV, 0)), *first = cells(run, 0, plan_at(PLAN_RECV, 0));

	for (uint64_t e = 0; e < n; e++) {
		enum state state = is_reduction(in->collective) ? FINAL : RAW;
		uint64_t want = 0;

		if (in->collective == COLLECTIVE_BROADCAST)
			want = original(in->root, e);
		else if (in->collective == COLLECTIVE_RECV)
			want = original(0, e);
		else if (state == FINAL)
			want = expected_sum(run->world, rank, e);
		else if (!expected_move(run->world, rank, e, &want))
			state = EMPTY;
		if (recv[e].state != state || (state != EMPTY && recv[e].sum != want))
			return world_fail(run->world, rank, -1, "result element %" PRIu64 " of %" PRIu64 " is wrong (state %d, not %d)", e, n,
			                  (int)recv[e].state, (int)state);
		if (in->collective == COLLECTIVE_ALLREDUCE && recv[e].order != first[e].order)
			return world_fail(run->world, rank, -1, "element %" PRIu64 " was folded in another order than on rank 0", e);
	}
	return true;
}

/* SEND outside what the call may overwrite must be as it was. */
static bool check_send(struct run *run, int rank)
{
	uint64_t n = world_send_bytes(run->world, rank) / run->elem;
	const struct cell *send = cells(run, rank, plan_at(PLAN_SEND, 0));

	for (uint64_t e = 0; !run->world->ins[rank].in_place && e < n; e++)
		if (send[e].state != RAW || send[e].sum != original(rank, e))
			return world_fail(run->world, rank, -1, "SEND was overwritten at element %" PRIu64, e);
	return true;
}

static void fill(struct run *run)
{
	struct world *world = run->world;
	uint64_t slot = 0;

	for (int r = 0; r < world->n; r++)
		slot = world->plans[r].slot_bytes > slot ? world->plans[r].slot_bytes : slot;
	for (int r = 0; r < world->n; r++) {
		uint64_t send = world_send_bytes(world, r), recv = world_recv_bytes(world, r), longest = send > recv ? send : recv;
		uint64_t bytes[4] = { longest, longest, world->plans[r].scratch_bytes, slot };

		for (int b = 0; b < 4; b++)
			run->spaces[r * 4 + b] = calloc(bytes[b] / run->elem + 2, sizeof(struct cell));
		for (uint64_t e = 0; e < send / run->elem; e++)
			cells(run, r, plan_at(PLAN_SEND, 0))[e] =
			        (struct cell){ .sum = original(r, e), .order = mix(original(r, e)), .state = RAW };
	}
}

static uint64_t next_random(struct run *run)
{
	return mix(run->random++);
}

/* Takes steps whose preds are done out of a bag, at random. */
static bool run_random(struct run *run)
{
	struct graph *g = &run->graph;
	uint32_t *left = calloc((size_t)g->n + 1, sizeof *left), *bag = calloc((size_t)g->n + 1, sizeof *bag), n_bag = 0;
	uint32_t *succ_first = calloc((size_t)g->n + 2, sizeof *succ_first), *succs = calloc((size_t)g->pred_first[g->n] + 1, sizeof *succs);
	bool ok = true;

	for (uint32_t p = 0; p < g->pred_first[g->n]; p++)
		succ_first[g->preds[p] + 2]++;
	for (uint32_t id = 0; id < g->n; id++)
		succ_first[id + 2] += succ_first[id + 1];
	for (uint32_t id = 0; id < g->n; id++) {
		left[id] = g->pred_first[id + 1] - g->pred_first[id];
		for (uint32_t p = g->pred_first[id]; p < g->pred_first[id + 1]; p++)
			succs[succ_first[g->preds[p] + 1]++] = id;
		if (left[id] == 0)
			bag[n_bag++] = id;
	}
	while (ok && n_bag) {
		uint32_t pick = (uint32_t)(next_random(run) % n_bag), id = bag[pick];

		bag[pick] = bag[--n_bag];
		ok = run_step(run, id);
		for (uint32_t s = succ_first[id]; s < succ_first[id + 1]; s++)
			if (--left[succs[s]] == 0)
				bag[n_bag++] = succs[s];
	}
	free(left);
	free(bag);
	free(succ_first);
	free(succs);
	return ok;
}

bool checker_run(struct world *world, unsigned seed)
{
	struct run run = { .world = world, .elem = world->ins[0].elem_bytes, .random = (uint64_t)seed << 32 };
	bool ok = graph_build(world, &run.graph);

	run.spaces = calloc((size_t)world->n * 4, sizeof *run.spaces);
	run.messages = calloc((size_t)run.graph.n + 1, sizeof *run.messages);
	fill(&run);
	if (ok && seed)
		ok = run_random(&run);
	for (uint32_t at = 0; ok && !seed && at < run.graph.n; at++)
		ok = run_step(&run, run.graph.order[at]);
	for (int r = 0; ok && r < world->n; r++)
		ok = check_result(&run, r) && check_send(&run, r);
	for (int i = 0; i < world->n * 4; i++)
		free(run.spaces[i]);
	for (uint32_t id = 0; id < run.graph.n; id++)
		free(run.messages[id]);
	free(run.spaces);
	free(run.messages);
	graph_free(&run.graph);
	return ok;
}
