/* SPDX-License-Identifier: MIT */
#include "world/repeated.h"

#include "exec/comm.h"
#include "world/inline_bound.h"
#include "world/gate.h"

#include <string.h>

enum { ELEMS = 4, SENTINEL = -77 };

/* What a call is, but for its contents. */
struct words {
	size_t count;
	choir_dtype dtype;
	choir_op op;
	int root;
	int in, out; /* which of the buffers */
};

static const struct words usual = { ELEMS, CHOIR_I32, CHOIR_OP_SUM, 0, 0, 0 };

struct twice {
	int32_t in[2][ELEMS], out[2][3 * ELEMS];
	int round;
};

static int32_t given_by(int rank, int i, int round)
{
	return 100 * (rank + 1) + i + 7 * round;
}

/* As floats, small numbers are ordered as they are as integers, but for their sums. */
static int32_t as_type(choir_dtype dtype, int32_t value)
{
	float number = (float)value;

	if (dtype == CHOIR_F32)
		memcpy(&value, &number, sizeof value);
	return value;
}

static int32_t wanted_at(int kind, const struct words *w, int n, int i, int round)
{
	int32_t sum = 0;

	if (i >= (int)w->count * (kind == 2 ? n : 1))
		return SENTINEL;
	if (kind == 2)
		return as_type(w->dtype, given_by(i / (int)w->count, i % (int)w->count, round));
	if (kind == 1)
		return as_type(w->dtype, given_by(w->root, i, round));
	for (int rank = 0; rank < n; rank++)
		sum += given_by(rank, i, round);
	return as_type(w->dtype, w->op == CHOIR_OP_SUM ? sum : given_by(n - 1, i, round));
}

static choir_status call_of(choir_comm *comm, int kind, const struct words *w, void *in, void *out)
{
	switch (kind) {
	case 0:
		return choir_allreduce(comm, choir_host(in), choir_host(out), w->count, w->dtype, w->op, NULL, NULL);
	case 1:
		return choir_broadcast(comm, choir_host(in), choir_host(out), w->count, w->dtype, w->root, NULL, NULL);
	default:
		return choir_allgather(comm, choir_host(in), choir_host(out), w->count, w->dtype, NULL, NULL);
	}
}

/* Some calls of the same words, each of other contents.  How many of them stand for the next one. */
static int repeated(struct world *world, int rank, choir_comm *comm, int kind, const struct words *w, struct twice *t,
                    int32_t *in)
{
	int n = world->n, ready = 0;

	for (int k = 0; k < 4; k++) {
		int32_t *out = t->out[w->out];

		t->round++;
		for (int i = 0; i < ELEMS; i++)
			in[i] = as_type(w->dtype, given_by(rank, i, t->round));
		for (int i = 0; i < 3 * ELEMS; i++)
			t->out[0][i] = t->out[1][i] = SENTINEL;
		OK(call_of(comm, kind, w, in, out));
		for (int i = 0; i < 3 * ELEMS; i++)
			CHECK(out[i] == wanted_at(kind, w, n, i, t->round) && t->out[!w->out][i] == SENTINEL);
		/* A call that another thread's drive kept from inline execution leaves an older one bound. */
		ready += inline_bound(comm, INLINE_COLLECTIVE) &&
		         comm->engine.inline_runs[INLINE_COLLECTIVE]->prepared->changes ==
		             atomic_load(&comm->symmetric.changes);
	}
	return ready;
}

/* One word after the other is another one. */
static void words_change(struct world *world, int rank, choir_comm *comm, void *unused)
{
	const struct words others[] = {
		{ ELEMS - 1, CHOIR_I32, CHOIR_OP_SUM, 0, 0, 0 }, { ELEMS, CHOIR_F32, CHOIR_OP_SUM, 0, 0, 0 },
		{ ELEMS, CHOIR_I32, CHOIR_OP_MAX, 0, 0, 0 },     { ELEMS, CHOIR_I32, CHOIR_OP_SUM, world->n - 1, 0, 0 },
		{ ELEMS, CHOIR_I32, CHOIR_OP_SUM, 0, 1, 0 },     { ELEMS, CHOIR_I32, CHOIR_OP_SUM, 0, 0, 1 }
	};
	struct twice t = { .round = 0 };
	int ready = 0;

	(void)unused;
	for (int kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
			ready += repeated(world, rank, comm, kind, &usual, &t, t.in[0]);
			ready += repeated(world, rank, comm, kind, &others[i], &t, t.in[others[i].in]);
		}
	CHECK(ready > 0);
}

/* What is shared changes between calls that are the same. */
static void memory_changes(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct twice t = { .round = 0 };

	(void)unused;
	for (int kind = 0; kind < 3; kind++) {
		void *shared = NULL;

		repeated(world, rank, comm, kind, &usual, &t, t.in[0]);
		if (!OK(choir_mem_alloc(comm, 4096, &shared, NULL)))
			return;
		repeated(world, rank, comm, kind, &usual, &t, t.in[0]);
		repeated(world, rank, comm, kind, &usual, &t, shared);
		OK(choir_mem_free(comm, shared));
		repeated(world, rank, comm, kind, &usual, &t, t.in[0]);
	}
}

/* One rank repeats a call that is not the others' any more. */
static void one_differs(struct world *world, int rank, choir_comm *comm, void *who)
{
	struct words other = usual;
	struct twice t = { .round = 0 };

	repeated(world, rank, comm, 0, &usual, &t, t.in[0]);
	other.op = rank == *(int *)who ? CHOIR_OP_MAX : CHOIR_OP_SUM;
	IS(call_of(comm, 0, &other, t.in[0], t.out[0]), CHOIR_MISMATCH);
	CHECK(strstr(choir_last_error(), "(4 x i32, sum, ") != NULL &&
	      strstr(choir_last_error(), "(4 x i32, max, ") != NULL);
	IS(call_of(comm, 0, &usual, t.in[0], t.out[0]), CHOIR_MISMATCH);
}

static void on_one_node(int n, world_fn fn, void *arg)
{
	line_up_run(n, 0, 20000, fn, arg);
}

void test_repeated(void **state)
{
	(void)state;
	for (int n = 1; n <= 3; n++)
		on_one_node(n, words_change, NULL);
	on_one_node(2, memory_changes, NULL);
	for (int who = 0; who < 2; who++)
		on_one_node(2, one_differs, &who);
}
