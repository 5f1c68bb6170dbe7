/* SPDX-License-Identifier: MIT */
/* Design notes.  The turns: gather what each rank says it sends to and expects of each other one, and where in SEND
 * that lies; compare, so that all ranks find the same first difference before a byte is written; run the plan for the
 * n x n matrix, on the devices where all buffers are there. */
#include "api/alltoallv_script.h"

#include "algo/build.h"
#include "api/counts.h"

#include "base/plural.h"

#include <stdlib.h>
#include <string.h>

struct alltoallv;
typedef choir_status (*alltoallv_step)(struct alltoallv *a, struct script_turn *turn);

/* The bytes that a rank sends to each, those that it expects of each, and where in SEND the former are. */
enum { SENDS, EXPECTS, OFFSETS, SAID };

/* The numbers that a rank says: those for each rank, whether both of its buffers are on its device, and its options. */
static size_t n_said(size_t n)
{
	return SAID * n + 2;
}

struct alltoallv {
	struct script_env env;
	struct alltoallv_script_args call; /* the vectors are not kept: see below */
	alltoallv_step step;
	struct cached_plan *plan;
	const struct algorithm *algorithm;
	bool failure_is_local, on_devices;
	uint64_t *mine;     /* [n_said] what I say: [SAID][n], then on_devices and options_said */
	uint64_t *all;      /* [n][n_said] what all ranks say */
	uint64_t *matrix;   /* [n][n] bytes, row = sender */
	uint64_t *send_off; /* [n][n] where those lie in the sender's SEND */
	uint64_t *recv_off; /* [n] */
};

static choir_status exchanged(struct alltoallv *a, struct script_turn *turn)
{
	(void)a;
	turn->what = SCRIPT_DONE;
	return CHOIR_SUCCESS;
}

static choir_status run_plan(struct alltoallv *a, struct script_turn *turn, const struct algorithm *algorithm,
                             const struct algo_in *in, alltoallv_step then)
{
	TRY(script_take_plan(a->env.plans, algorithm, in, &a->plan));
	turn->what = SCRIPT_PLAN;
	turn->plan = &a->plan->plan;
	a->step = then;
	return CHOIR_SUCCESS;
}

static struct algo_in shape(const struct alltoallv *a, enum collective collective)
{
	return (struct algo_in){ .layout = a->env.layout,
		                 .me = a->env.me,
		                 .collective = collective,
		                 .slot_bytes = a->env.slot_bytes,
		                 .message_bytes = a->env.message_bytes };
}

/* As the options say, but for an algorithm that a script cannot run: that one is for the next call, which has a
 * plan. */
static choir_status choose(struct alltoallv *a, const struct algo_in *in)
{
	struct dense_options options = a->call.options;
	const struct algorithm *named = options.algorithm;

	TRY(options_choose("choir_alltoallv", a->call.comm, &options, in, &a->algorithm));
	if (named == NULL || (named->build != alltoall_direct && (!named->on_device || a->on_devices)))
		return CHOIR_SUCCESS;
	options.algorithm = NULL;
	return options_choose("choir_alltoallv", a->call.comm, &options, in, &a->algorithm);
}

static choir_status exchange(struct alltoallv *a, struct script_turn *turn)
{
	struct algo_in in = shape(a, COLLECTIVE_ALLTOALLV);
	const char *why;

	in.elem_bytes = a->call.elem_bytes;
	in.bytes = counts_mean(a->matrix, (size_t)a->env.layout->n);
	in.block_bytes = a->matrix;
	in.send_off = a->send_off;
	in.recv_off = a->recv_off;
	in.send_direct = !a->call.send_access.stage;
	in.recv_direct = !a->call.recv_access.stage;
	in.owns_copied =
	    !in.send_direct && !in.recv_direct && dev_copies_between(&a->call.recv_access, &a->call.send_access);
	in.device_bytes = a->on_devices ? a->env.device_bytes : 0;
	in.command_bytes = a->env.command_bytes;
	in.far_memory = a->env.far_memory;
	in.peer_percent = a->env.peer_percent;
	in.core_cache_bytes = a->env.core_cache_bytes;
	options_apply(&a->call.options, &in);
	a->failure_is_local = true; /* the same on all ranks, which go on with the next call */
	TRY(choose(a, &in));
	why = a->algorithm == NULL ? "is there" : a->algorithm->unfit(&in);
	if (why != NULL)
		return error_set(CHOIR_UNSUPPORTED, "choir_alltoallv: algorithm '%s' %s",
		                 a->algorithm != NULL ? a->algorithm->name : "none", why);
	a->failure_is_local = false;
	turn->send = a->call.send_access;
	turn->recv = a->call.recv_access;
	return run_plan(a, turn, a->algorithm, &in, exchanged);
}

static uint64_t says(const struct alltoallv *a, size_t rank, size_t what, size_t of)
{
	size_t n = (size_t)a->env.layout->n;

	return a->all[rank * n_said(n) + what * n + of];
}

static choir_status gathered(struct alltoallv *a, struct script_turn *turn)
{
	size_t n = (size_t)a->env.layout->n;

	a->on_devices = a->env.device_bytes > 0;
	for (size_t rank = 0; rank < n; rank++) {
		a->on_devices &= says(a, rank, SAID, 0) != 0;
		if (says(a, rank, SAID, 1) != says(a, 0, SAID, 1))
			return error_set(CHOIR_MISMATCH, "ranks 0 and %zu give different options", rank);
	}
	for (size_t from = 0; from < n; from++)
		for (size_t to = 0; to < n; to++) {
			uint64_t sent = says(a, from, SENDS, to), expected = says(a, to, EXPECTS, from),
				 elem = a->call.elem_bytes;

			if (sent != expected)
				return error_set(CHOIR_MISMATCH,
				                 "rank %zu sends %llu element%s to rank %zu, which expects %llu of it",
				                 from, (unsigned long long)(sent / elem), plural(sent / elem), to,
				                 (unsigned long long)(expected / elem));
			a->matrix[from * n + to] = sent;
			a->send_off[from * n + to] = says(a, from, OFFSETS, to);
		}
	return exchange(a, turn);
}

static choir_status gather(struct alltoallv *a, struct script_turn *turn)
{
	struct algo_in in = shape(a, COLLECTIVE_ALLGATHER);
	uint64_t n = (uint64_t)a->env.layout->n;
	const struct algorithm *algorithm;

	in.elem_bytes = sizeof *a->mine;
	in.bytes = n_said(n) * sizeof *a->mine;
	in.send_direct = in.recv_direct = true;
	algorithm = algo_default(&in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "choir_alltoallv: no algorithm gathers its counts on this comm");
	turn->send = script_host(a->mine, in.bytes);
	turn->recv = script_host(a->all, n * in.bytes);
	return run_plan(a, turn, algorithm, &in, gathered);
}

static choir_status next(void *state, struct script_turn *turn)
{
	struct alltoallv *a = state;
	choir_status st = a->step(a, turn);

	turn->failure_is_local = a->failure_is_local;
	return st;
}

static void destroy(void *state)
{
	struct alltoallv *a = state;

	cached_plan_release(a->plan);
	free(a->mine);
	free(a);
}

static const struct script_ops ops = { .next = next, .destroy = destroy };

/* One piece of memory for all numbers. */
static choir_status allocate(struct alltoallv *a, const struct vector *send, const struct vector *recv)
{
	size_t n = (size_t)a->env.layout->n, bytes = n * sizeof *a->mine;
	size_t numbers = n_said(n) + n + 2 * n * n + n * n_said(n);

	a->mine = calloc(numbers, sizeof *a->mine);
	if (a->mine == NULL)
		return error_no_memory("the counts of all ranks", numbers * sizeof *a->mine);
	a->recv_off = a->mine + n_said(n);
	a->matrix = a->recv_off + n;
	a->send_off = a->matrix + n * n;
	a->all = a->send_off + n * n;
	memcpy(a->mine + SENDS * n, send->bytes, bytes);
	memcpy(a->mine + EXPECTS * n, recv->bytes, bytes);
	memcpy(a->mine + OFFSETS * n, send->off, bytes);
	memcpy(a->recv_off, recv->off, bytes);
	a->mine[SAID * n] = dev_is_on_device(&a->call.send_access) && dev_is_on_device(&a->call.recv_access);
	a->mine[SAID * n + 1] = options_said(&a->call.options);
	return CHOIR_SUCCESS;
}

choir_status alltoallv_script_create(const struct script_env *env, const struct alltoallv_script_args *call,
                                     const struct script_ops **ops_p, void **state_p)
{
	struct alltoallv *a = calloc(1, sizeof *a);
	choir_status st;

	if (a == NULL)
		return error_no_memory("an alltoallv", sizeof *a);
	a->env = *env;
	a->call = *call;
	a->step = gather;
	st = allocate(a, call->send, call->recv);
	if (st != CHOIR_SUCCESS) {
		free(a);
		return st;
	}
	a->call.send = a->call.recv = NULL; /* the caller's may go */
	*ops_p = &ops;
	*state_p = a;
	return CHOIR_SUCCESS;
}

const struct algorithm *alltoallv_script_algorithm(const void *state)
{
	const struct alltoallv *a = state;

	return a->algorithm;
}

const uint64_t *alltoallv_script_matrix(const void *state)
{
	const struct alltoallv *a = state;

	return a->matrix; /* and send_off behind it */
}
