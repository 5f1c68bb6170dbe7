/* SPDX-License-Identifier: MIT */
#include "api/plan_case.h"

#include "algo/outcome.h"
#include "api/bootstrap.h"
#include "api/call.h"
#include "api/dense_plan.h"
#include "api/rules_file.h"
#include "base/arithmetic.h"
#include "base/error.h"
#include "base/plural.h"
#include "exec/layout.h"
#include "exec/slot_ring.h"
#include "plan/plan_check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16384, MOST_BLOCKS = 1 << 26, MOST_PIECES = 1 << 22 };

static choir_status read_options(const char *call, const choir_plan_options *given, choir_plan_options *out)
{
	choir_plan_options o = CHOIR_PLAN_OPTIONS_INIT;

	TRY(call_read_struct(call, "options", "CHOIR_PLAN_OPTIONS_INIT", given, &o, sizeof o));
	if (o.collective == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: no collective is named", call);
	if (o.ranks < 1 || o.ranks > MOST_RANKS)
		return error_set(CHOIR_ARGUMENT, "%s: %d ranks: 1 to %d are possible", call, o.ranks, MOST_RANKS);
	if (o.ranks_per_node < 0)
		return error_set(CHOIR_ARGUMENT, "%s: %d ranks per node", call, o.ranks_per_node);
	if (o.ranks_per_node == 0 || o.ranks_per_node > o.ranks)
		o.ranks_per_node = o.ranks;
	if (choir_dtype_bytes(o.dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", call, (int)o.dtype);
	if (o.bytes % choir_dtype_bytes(o.dtype) != 0 || o.bytes > SIZE_MAX / 2 / (size_t)o.ranks)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: %zu byte%s of %s on %d rank%s: not a multiple of the type, or too many", call,
		                 o.bytes, plural(o.bytes), choir_dtype_name(o.dtype), o.ranks, plural(o.ranks));
	if (o.root < 0 || o.root >= o.ranks)
		return error_set(CHOIR_ARGUMENT, "%s: root is %d of %d rank%s", call, o.root, o.ranks, plural(o.ranks));
	if (o.shared && (o.staged || o.ranks_per_node < o.ranks))
		return error_set(CHOIR_ARGUMENT, "%s: shared buffers are for ranks of one node, and not staged", call);
	if (o.order_ranks != 0 && o.order_ranks != 1)
		return error_set(CHOIR_ARGUMENT, "%s: order_ranks is %d: 0 or 1 is wanted", call, o.order_ranks);
	*out = o;
	return CHOIR_SUCCESS;
}

static choir_status check_collective(const char *call, struct plan_case *c)
{
	TRY(collective_parse(c->options.collective, &c->collective));
	if (collective_has(c->collective, TRAIT_NO_PLAN))
		return error_set(CHOIR_UNSUPPORTED, "%s: %s learns its sizes on the way: it has no plan beforehand",
		                 call, c->options.collective);
	if (c->options.in_place && (collective_has(c->collective, TRAIT_NEVER_IN_PLACE) ||
	                            collective_table[c->collective].recv == EXTENT_NOTHING))
		return error_set(CHOIR_ARGUMENT, "%s: %s is never in place", call, c->options.collective);
	if (collective_has(c->collective, TRAIT_PAIR) && c->options.ranks < 2)
		return error_set(CHOIR_ARGUMENT, "%s: %s needs two ranks", call, c->options.collective);
	if (collective_has(c->collective, TRAIT_PAIR) && c->options.root == 0)
		c->options.root = c->options.ranks - 1;
	if (c->collective == COLLECTIVE_BARRIER)
		c->options.bytes = 0;
	return CHOIR_SUCCESS;
}

static choir_status make_layout(struct plan_case *c)
{
	int *node_of = calloc((size_t)c->options.ranks, sizeof *node_of);
	choir_status st;

	if (node_of == NULL)
		return error_no_memory("a layout", (size_t)c->options.ranks * sizeof *node_of);
	for (int r = 0; r < c->options.ranks; r++)
		node_of[r] = r / c->options.ranks_per_node;
	st = layout_build(c->options.ranks, node_of, &c->layout);
	free(node_of);
	return st;
}

static choir_status make_blocks(struct plan_case *c)
{
	size_t n = (size_t)c->options.ranks * (collective_of_pairs(c->collective) ? (size_t)c->options.ranks : 1);

	if (!collective_has(c->collective, TRAIT_UNEVEN))
		return CHOIR_SUCCESS;
	if (n > MOST_BLOCKS)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s of %d ranks: a table of %zu counts is too large for one process",
		                 c->options.collective, c->options.ranks, n);
	c->blocks = calloc(n, sizeof *c->blocks);
	if (c->blocks == NULL)
		return error_no_memory("blocks", n * sizeof *c->blocks);
	for (size_t i = 0; i < n; i++)
		c->blocks[i] = c->options.bytes;
	return CHOIR_SUCCESS;
}

static choir_status check_arena(const char *call, struct plan_case *c)
{
	size_t unit = 64 * (size_t)c->layout.max_node_size;

	if (c->options.slot_bytes == 0)
		c->options.slot_bytes = slot_sizes_of(c->layout.max_node_size, false).slot_bytes;
	if (c->options.message_bytes == 0)
		c->options.message_bytes = BOOTSTRAP_MESSAGE_BYTES;
	if (c->options.slot_bytes < 4096 || c->options.slot_bytes % unit != 0)
		return error_set(
		    CHOIR_ARGUMENT,
		    "%s: slots of %zu bytes: at least 4096 and a multiple of %zu (64 for each rank of a node)", call,
		    c->options.slot_bytes, unit);
	if (c->options.message_bytes < 64 || c->options.message_bytes > BOOTSTRAP_MOST_MESSAGE_BYTES)
		return error_set(CHOIR_ARGUMENT, "%s: messages of %zu bytes: 64 to %d", call, c->options.message_bytes,
		                 BOOTSTRAP_MOST_MESSAGE_BYTES);
	return CHOIR_SUCCESS;
}

choir_status plan_case_init(const char *call, const choir_plan_options *options, struct plan_case *out)
{
	struct plan_case c = { .algorithm = NULL };
	choir_status st;

	TRY(read_options(call, options, &c.options));
	TRY(check_collective(call, &c));
	c.elem_bytes = choir_dtype_bytes(c.options.dtype);
	st = make_layout(&c);
	if (st == CHOIR_SUCCESS)
		st = make_blocks(&c);
	if (st == CHOIR_SUCCESS)
		st = check_arena(call, &c);
	if (st == CHOIR_SUCCESS)
		st = rules_read(c.options.rules, &c.rules);
	if (st == CHOIR_SUCCESS)
		*out = c;
	else
		plan_case_fini(&c);
	return st;
}

void plan_case_fini(struct plan_case *c)
{
	layout_free(&c->layout);
	rules_free(&c->rules);
	free(c->blocks);
	memset(c, 0, sizeof *c);
}

/* send and recv: rank 0 sends to root, the others have nothing to do. */
static void take_role(const struct plan_case *c, struct algo_in *in)
{
	in->collective = in->me == 0 ? COLLECTIVE_SEND : COLLECTIVE_RECV;
	in->root = in->me == 0 ? c->options.root : 0;
	if (in->me != 0 && in->me != c->options.root)
		in->bytes = 0;
}

struct algo_in plan_case_in(const struct plan_case *c, int rank)
{
	bool uneven = collective_has(c->collective, TRAIT_UNEVEN);
	const choir_plan_options *o = &c->options;
	bool ordered = o->order_ranks && collective_has(c->collective, TRAIT_REDUCES);
	struct algo_in in = {
		.layout = &c->layout,
		.me = rank,
		.collective = c->collective,
		.elem_bytes = c->elem_bytes,
		.bytes = o->bytes,
		.block_bytes = c->blocks,
		.root = o->root,
		.in_place = o->in_place != 0,
		.send_direct = !o->staged,
		.recv_direct = !o->staged,
		.final_op = true,
		.fold_order = ordered ? dense_plan_rank_order(o->dtype, CHOIR_OP_SUM) : PLAN_ORDER_ANY,
		.slot_bytes = o->slot_bytes,
		.message_bytes = o->message_bytes,
	};

	/* Peers do not reach into what is replaced while they read.  The executor's v forms share memory too; the
	 * limits of the rules are not tried for them. */
	in.shared = o->shared && !uneven && !(in.in_place && c->collective == COLLECTIVE_ALLTOALL);
	if (uneven && !collective_of_pairs(c->collective))
		in.bytes = o->bytes * (uint64_t)o->ranks;
	if (in.in_place && (collective_send_is_inner(c->collective) || collective_recv_is_inner(c->collective)))
		in.in_place_off = o->bytes * (uint64_t)rank;
	if (collective_has(c->collective, TRAIT_PAIR))
		take_role(c, &in);
	return in;
}

/* Steps are a few for each message or slot: builders go on to the end, also without memory for more steps. */
choir_status plan_case_check_pieces(const char *call, const struct algo_in *in)
{
	struct plan_rank rank = outcome_rank(in, NULL);
	uint64_t bytes = max_u64(rank.send_bytes, rank.recv_bytes);
	uint64_t piece = min_u64(in->message_bytes, in->slot_bytes);

	if (bytes / piece < MOST_PIECES)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_UNSUPPORTED, "%s: %s of %llu bytes in pieces of %llu: a plan has less than %d pieces",
	                 call, collective_name(in->collective), (unsigned long long)bytes, (unsigned long long)piece,
	                 MOST_PIECES);
}

choir_status plan_case_choose(const char *call, struct plan_case *c)
{
	struct algo_in in = plan_case_in(c, 0);
	const struct algorithm *algorithm;
	const char *why;

	TRY(plan_case_check_pieces(call, &in));
	if (c->options.algorithm == NULL) {
		algorithm = rules_choose(&c->rules, &in);
		if (algorithm == NULL)
			return error_set(CHOIR_UNSUPPORTED, "%s: no algorithm fits", call);
	} else {
		algorithm = algo_find(in.collective, c->options.algorithm);
		if (algorithm == NULL)
			return error_set(CHOIR_ARGUMENT, "%s: %s has no algorithm \"%s\"", call, c->options.collective,
			                 c->options.algorithm);
	}
	why = algo_unfit(algorithm, &in);
	if (why != NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s: %s by \"%s\" %s", call, c->options.collective, algorithm->name,
		                 why);
	c->algorithm = algorithm;
	return CHOIR_SUCCESS;
}

choir_status plan_case_build(const struct plan_case *c, int rank, struct plan *plan)
{
	struct algo_in in = plan_case_in(c, rank);
	const struct algorithm *algorithm = c->algorithm;

	plan_init(plan, algorithm->name, c->elem_bytes);
	if (!collective_has(c->collective, TRAIT_PAIR))
		return algorithm->build(&in, plan);
	if (rank != 0 && rank != c->options.root)
		return plan_finish(plan);
	algorithm = algo_find(in.collective, algorithm->name);
	return algorithm != NULL ? algorithm->build(&in, plan)
	                         : error_set(CHOIR_UNSUPPORTED, "no counterpart of %s", c->algorithm->name);
}

choir_status plan_case_team_init(const struct plan_case *c, int rank, uint64_t most_steps, struct plan_case_team *out)
{
	size_t n = (size_t)c->options.ranks;
	uint64_t steps = 0, refs = 0;

	*out = (struct plan_case_team){ .n = c->options.ranks };
	out->ins = calloc(n, sizeof *out->ins);
	out->plans = calloc(n, sizeof *out->plans);
	out->ranks = calloc(n, sizeof *out->ranks);
	if (out->ins == NULL || out->plans == NULL || out->ranks == NULL)
		return error_no_memory("plans", n * (sizeof *out->ins + sizeof *out->plans + sizeof *out->ranks));
	for (int r = 0; r < out->n; r++) {
		if (rank != CHOIR_PLAN_ALL_RANKS && rank != r)
			continue;
		out->ins[r] = plan_case_in(c, r);
		TRY(plan_case_build(c, r, &out->plans[r]));
		steps += out->plans[r].n_steps;
		refs += (uint64_t)out->plans[r].n_refs + out->plans[r].n_deps;
		if (rank == CHOIR_PLAN_ALL_RANKS && refs > PLAN_CHECK_MOST_REFS)
			return error_set(
			    CHOIR_UNSUPPORTED,
			    "%s by %s on %d ranks: more than %u references of steps, the most that can be checked",
			    c->options.collective, c->algorithm->name, out->n, PLAN_CHECK_MOST_REFS);
		if (steps > most_steps)
			return error_set(CHOIR_UNSUPPORTED,
			                 "%s by %s on %d ranks: more than %llu steps, the most that can be checked",
			                 c->options.collective, c->algorithm->name, out->n,
			                 (unsigned long long)most_steps);
		out->ranks[r] = outcome_rank(&out->ins[r], &out->plans[r]);
	}
	out->team = (struct plan_team){ .n = out->n,
		                        .ranks = out->ranks,
		                        .slot_bytes = c->options.slot_bytes,
		                        .message_bytes = c->options.message_bytes };
	return CHOIR_SUCCESS;
}

void plan_case_team_fini(struct plan_case_team *team)
{
	for (int r = 0; team->plans != NULL && r < team->n; r++)
		plan_fini(&team->plans[r]);
	free(team->ins);
	free(team->plans);
	free(team->ranks);
	memset(team, 0, sizeof *team);
}
