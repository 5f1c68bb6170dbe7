/* SPDX-License-Identifier: MIT */
/* Design notes.  The steps are executed on symbolic elements.  An element has the sum of the originals that went into
 * it (random 64-bit numbers, so a sum identifies them), a hash of the order in which they were folded, and a state:
 * unwritten, an original of a caller, a partial result, or final.  A REDUCE whose raw mark does not fit its sources, or
 * that reads a final value, is an error; so square_add squares each original once, and mean divides once.  A left fold
 * has the same hash whether one step or several make it; the number of steps says how often it was rounded. */
#include "base/arithmetic.h"
#include "plan/plan_check.h"

#include "base/error.h"
#include "plan/plan_graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MEMORY (UINT64_C(1) << 30)

enum state { EMPTY, RAW, PARTIAL, FINAL };
static const char *const state_names[] = {
	[EMPTY] = "unwritten", [RAW] = "raw", [PARTIAL] = "partial", [FINAL] = "final"
};

struct cell {
	uint64_t sum, order;
	enum state state;
	uint32_t folds; /* REDUCE steps on the longest way from an original */
	int rank;       /* RAW: whose original */
};

struct proof {
	const struct plan_team *team;
	const struct plan_wants *wants;
	struct plan_graph graph;
	struct cell **spaces;   /* [rank * PLAN_SPACES + space], by element */
	struct cell **messages; /* [step] the elements in the message of a SEND_MSG */
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

/* The order of an original, and of `left` followed by `right`. */
static uint64_t first_order(int rank, uint64_t element)
{
	return mix(original(rank, element));
}

static uint64_t follow(uint64_t left, uint64_t right)
{
	return mix(left * 3 + right);
}

static struct cell *cells(const struct proof *proof, int rank, struct plan_ref ref)
{
	struct plan_access a = plan_team_access(proof->team, rank, ref, 0, false);

	return proof->spaces[a.space] + a.off / proof->elem;
}

/* Copies n elements; an unwritten source is an error. */
static choir_status do_copy(struct proof *proof, int rank, uint32_t i, struct cell *dst, const struct cell *src,
                            uint64_t n)
{
	for (uint64_t e = 0; e < n; e++)
		if (src[e].state == EMPTY)
			return plan_team_wrong(proof->team, rank, i, "reads an unwritten element, %" PRIu64, e);
	memmove(dst, src, n * sizeof *dst);
	return CHOIR_SUCCESS;
}

/* Folds element e of all sources from left to right. */
static choir_status fold(struct proof *proof, int rank, uint32_t i, uint64_t e, struct cell *out)
{
	const struct plan *plan = proof->team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];
	struct cell result = { .state = step->final ? FINAL : PARTIAL };

	for (uint32_t k = 0; k < step->n_src; k++) {
		struct cell src = cells(proof, rank, plan->refs[step->src_first + k])[e];
		bool raw = step->raw == PLAN_RAW_ALL || (step->raw == PLAN_RAW_REST && k > 0);

		if (src.state != (raw ? RAW : PARTIAL))
			return plan_team_wrong(proof->team, rank, i, "source %u is %s where %s is wanted", k,
			                       state_names[src.state], raw ? "raw" : "partial");
		if (raw && step->peer != PLAN_ALL && src.rank != step->peer)
			return plan_team_wrong(proof->team, rank, i,
			                       "multiplies rank %d's values by the factor of rank %" PRId32, src.rank,
			                       step->peer);
		result.sum += src.sum;
		result.order = k ? follow(result.order, src.order) : src.order;
		result.folds = src.folds > result.folds ? src.folds : result.folds;
	}
	result.folds++;
	*out = result;
	return CHOIR_SUCCESS;
}

static choir_status do_reduce(struct proof *proof, int rank, uint32_t i, uint64_t n)
{
	const struct plan *plan = proof->team->ranks[rank].plan;
	const struct plan_step *step = &plan->steps[i];

	for (uint64_t e = 0; e < n; e++) {
		struct cell result;

		TRY(fold(proof, rank, i, e, &result));
		for (uint32_t k = 0; k < plan_step_targets(step); k++)
			cells(proof, rank, plan_step_target(plan, step, k))[e] = result;
	}
	return CHOIR_SUCCESS;
}

static choir_status do_step(struct proof *proof, uint32_t id)
{
	int rank = proof->graph.rank_of[id];
	const struct plan *plan = proof->team->ranks[rank].plan;
	const struct plan_step *step = plan_graph_step(proof->team, &proof->graph, id);
	uint32_t i = id - proof->graph.base[rank];
	uint64_t n = step->len / proof->elem;

	switch (step->kind) {
	case PLAN_COPY:
		return do_copy(proof, rank, i, cells(proof, rank, step->dst),
		               cells(proof, rank, plan->refs[step->src_first]), n);
	case PLAN_REDUCE:
		return do_reduce(proof, rank, i, n);
	case PLAN_SEND_MSG:
		proof->messages[id] = calloc(n + 1, sizeof(struct cell));
		if (!proof->messages[id])
			return error_no_memory("a message of a plan", n * sizeof(struct cell));
		return do_copy(proof, rank, i, proof->messages[id], cells(proof, rank, plan->refs[step->src_first]), n);
	case PLAN_RECV_MSG:
		return do_copy(proof, rank, i, cells(proof, rank, step->dst), proof->messages[proof->graph.partner[id]],
		               n);
	case PLAN_PUBLISH:
	case PLAN_AWAIT:
		return CHOIR_SUCCESS;
	}
	return CHOIR_SUCCESS;
}

static enum state wanted_state(enum plan_want_kind kind)
{
	switch (kind) {
	case PLAN_WANT_COPY:
		return RAW;
	case PLAN_WANT_PREFIX:
		return PARTIAL;
	case PLAN_WANT_SUM:
		return FINAL;
	default:
		return EMPTY;
	}
}

static struct cell wanted(const struct proof *proof, int rank, uint64_t e)
{
	struct plan_want want = proof->wants->at(proof->wants->ctx, rank, e);
	struct cell cell = { .state = wanted_state(want.kind) };
	int end = want.kind == PLAN_WANT_SUM ? proof->team->n : want.kind == PLAN_WANT_PREFIX ? want.rank : 0;

	if (want.kind == PLAN_WANT_COPY)
		cell.sum = original(want.rank, want.element);
	for (int r = 0; r < end; r++) {
		uint64_t order = first_order(r, want.element);

		cell.sum += original(r, want.element);
		cell.order = r > 0 ? follow(cell.order, order) : order;
	}
	return cell;
}

/* A sum that was promised in rank order. */
static choir_status check_order(const struct proof *proof, int rank, uint64_t e, const struct cell *got,
                                const struct cell *want)
{
	if ((want->state != FINAL && want->state != PARTIAL) || proof->wants->order == PLAN_ORDER_ANY)
		return CHOIR_SUCCESS;
	if (got->order != want->order)
		return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
		                       "element %" PRIu64 " was not folded in rank order", e);
	if (proof->wants->order == PLAN_ORDER_ONCE && got->folds > 1)
		return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
		                       "element %" PRIu64 " was folded by %u steps, one after another", e, got->folds);
	return CHOIR_SUCCESS;
}

static choir_status check_result(const struct proof *proof, int rank)
{
	uint64_t n = proof->team->ranks[rank].recv_bytes / proof->elem;
	const struct cell *recv = cells(proof, rank, plan_at(PLAN_RECV, 0)),
			  *first = cells(proof, 0, plan_at(PLAN_RECV, 0));

	for (uint64_t e = 0; e < n; e++) {
		struct cell want = wanted(proof, rank, e);

		if (recv[e].state != want.state || (want.state != EMPTY && recv[e].sum != want.sum))
			return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
			                       "result element %" PRIu64 " of %" PRIu64 " is wrong (%s, %s wanted)", e,
			                       n, state_names[recv[e].state], state_names[want.state]);
		if (want.state == PARTIAL && recv[e].order != want.order)
			return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
			                       "element %" PRIu64 " is no left fold in rank order", e);
		if (proof->wants->alike && recv[e].order != first[e].order)
			return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
			                       "element %" PRIu64 " was folded in another order than on rank 0", e);
		TRY(check_order(proof, rank, e, &recv[e], &want));
	}
	return CHOIR_SUCCESS;
}

/* SEND must be unchanged, unless the call is in place. */
static choir_status check_send(const struct proof *proof, int rank)
{
	const struct plan_rank *r = &proof->team->ranks[rank];
	const struct cell *send = cells(proof, rank, plan_at(PLAN_SEND, 0));

	if (r->send_at < r->recv_at + r->recv_bytes && r->recv_at < r->send_at + r->send_bytes)
		return CHOIR_SUCCESS;
	for (uint64_t e = 0; e < r->send_bytes / proof->elem; e++)
		if (send[e].state != RAW || send[e].sum != original(rank, e))
			return plan_team_wrong(proof->team, rank, PLAN_NO_STEP,
			                       "SEND was overwritten at element %" PRIu64, e);
	return CHOIR_SUCCESS;
}

choir_status plan_prove_fits(uint64_t bytes, uint64_t elem_bytes)
{
	uint64_t most = MOST_MEMORY / sizeof(struct cell) * elem_bytes;

	if (bytes > most)
		return error_set(CHOIR_UNSUPPORTED,
		                 "a proof of %" PRIu64 " bytes of buffers and messages needs %" PRIu64
		                 " MB of memory, more than %" PRIu64 ": give fewer bytes or ranks",
		                 bytes, bytes / elem_bytes * sizeof(struct cell) >> 20, MOST_MEMORY >> 20);
	return CHOIR_SUCCESS;
}

static void space_bytes(const struct plan_team *team, int r, uint64_t bytes[PLAN_SPACES])
{
	const struct plan_rank *rank = &team->ranks[r];

	bytes[PLAN_SPACE_USER] = max_u64(rank->send_at + rank->send_bytes, rank->recv_at + rank->recv_bytes);
	bytes[PLAN_SPACE_SCRATCH] = rank->plan->scratch_bytes;
	bytes[PLAN_SPACE_SLOT] = rank->plan->slot_bytes ? plan_team_slot_bytes(team, rank->plan) : 0;
}

static choir_status check_memory(const struct proof *proof)
{
	uint64_t bytes[PLAN_SPACES], all = 0;

	for (int r = 0; r < proof->team->n; r++) {
		const struct plan *plan = proof->team->ranks[r].plan;

		space_bytes(proof->team, r, bytes);
		for (int b = 0; b < PLAN_SPACES; b++)
			all += bytes[b];
		for (uint32_t i = 0; i < plan->n_steps; i++)
			all += plan->steps[i].kind == PLAN_SEND_MSG ? plan->steps[i].len : 0;
	}
	return plan_prove_fits(all, proof->elem);
}

static choir_status fill(struct proof *proof)
{
	const struct plan_team *team = proof->team;

	TRY(check_memory(proof));
	for (int r = 0; r < team->n; r++) {
		const struct plan_rank *rank = &team->ranks[r];
		uint64_t bytes[PLAN_SPACES];

		space_bytes(team, r, bytes);
		for (int b = 0; b < PLAN_SPACES; b++) {
			struct cell **space = &proof->spaces[r * PLAN_SPACES + b];

			*space = calloc(bytes[b] / proof->elem + 2, sizeof(struct cell));
			if (!*space)
				return error_no_memory("the elements of a plan",
				                       bytes[b] / proof->elem * sizeof(struct cell));
		}
		for (uint64_t e = 0; e < rank->send_bytes / proof->elem; e++)
			cells(proof, r, plan_at(PLAN_SEND, 0))[e] =
			    (struct cell){ .sum = original(r, e), .order = first_order(r, e), .state = RAW, .rank = r };
	}
	return CHOIR_SUCCESS;
}

/* Executes the steps in a random topological order. */
static choir_status do_random(struct proof *proof)
{
	struct plan_graph *g = &proof->graph;
	uint32_t *left = calloc((size_t)g->n + 1, sizeof *left), *bag = calloc((size_t)g->n + 1, sizeof *bag),
		 n_bag = 0;
	choir_status st =
	    left && bag ? CHOIR_SUCCESS : error_no_memory("the steps of a plan", (size_t)g->n * 2 * sizeof *left);

	for (uint32_t id = 0; st == CHOIR_SUCCESS && id < g->n; id++) {
		left[id] = g->pred_first[id + 1] - g->pred_first[id];
		if (left[id] == 0)
			bag[n_bag++] = id;
	}
	while (st == CHOIR_SUCCESS && n_bag) {
		uint32_t pick = (uint32_t)(mix(proof->random++) % n_bag), id = bag[pick];

		bag[pick] = bag[--n_bag];
		st = do_step(proof, id);
		for (uint32_t s = g->succ_first[id]; s < g->succ_first[id + 1]; s++)
			if (--left[g->succs[s]] == 0)
				bag[n_bag++] = g->succs[s];
	}
	free(left);
	free(bag);
	return st;
}

static choir_status do_all(struct proof *proof, unsigned seed)
{
	TRY(plan_graph_build(proof->team, &proof->graph));
	proof->spaces = calloc((size_t)proof->team->n * PLAN_SPACES, sizeof *proof->spaces);
	proof->messages = calloc((size_t)proof->graph.n + 1, sizeof *proof->messages);
	if (!proof->spaces || !proof->messages)
		return error_no_memory("the messages of a plan", (size_t)proof->graph.n * sizeof *proof->messages);
	TRY(fill(proof));
	if (seed)
		TRY(do_random(proof));
	for (uint32_t at = 0; !seed && at < proof->graph.n; at++)
		TRY(do_step(proof, proof->graph.order[at]));
	for (int r = 0; r < proof->team->n; r++) {
		TRY(check_result(proof, r));
		TRY(check_send(proof, r));
	}
	return CHOIR_SUCCESS;
}

choir_status plan_prove(const struct plan_team *team, const struct plan_wants *wants, unsigned seed)
{
	struct proof proof = {
		.team = team, .wants = wants, .elem = team->ranks[0].plan->elem_bytes, .random = (uint64_t)seed << 32
	};
	choir_status st = do_all(&proof, seed);

	for (int i = 0; proof.spaces && i < team->n * PLAN_SPACES; i++)
		free(proof.spaces[i]);
	for (uint32_t id = 0; proof.messages && id < proof.graph.n; id++)
		free(proof.messages[id]);
	free(proof.spaces);
	free(proof.messages);
	plan_graph_free(&proof.graph);
	return st;
}
