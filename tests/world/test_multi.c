/* SPDX-License-Identifier: MIT */
/* choir_allreduce_multi: lists of mixed types in host memory and cl_mems, to the bit, with everything around the tensors unchanged. */
#include "world/gate.h"
#include "world/memory.h"
#include "world/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 300, POOLS = 3, GAP = 24 };

enum where { HOST, DEVICE, MIXED };

/* Tensors dealt out over host memory and two cl_mems, bytes of nobody between them. */
struct set {
	struct memory pools[POOLS];
	unsigned char *wanted[POOLS]; /* what the pools are to hold afterwards */
	size_t used[POOLS];
	choir_tensor tensors[MOST];
	size_t n;
	unsigned char *send_at[MOST], *recv_at[MOST], *wanted_at[MOST]; /* in the pools' shadows */
	bool built;
};

struct shape {
	size_t n, low, high; /* counts */
	enum where where;
	choir_op op;
	int one_type;   /* -1 = all that the operator has */
	const char *options;
	bool with_event, in_group;
};

static size_t count_of(const struct shape *s, size_t i)
{
	size_t h = (i * 2654435761u + 12345) >> 5;

	if (i % 7 == 3)
		return 0;
	return s->low + h % (s->high - s->low + 1);
}

/* Room for `bytes` bytes in a pool: when it exists, its place; before, only counted. */
static size_t take_room(struct set *set, int pool, size_t bytes, size_t elem, size_t i)
{
	size_t at = (set->used[pool] + GAP + elem - 1) / elem * elem + i % 3 * elem;

	set->used[pool] = at + bytes;
	return at;
}

static choir_buffer buffer_at(struct memory *pool, size_t at)
{
	return pool->device ? choir_mem(pool->mem, pool->offset + at) : choir_host(memory_payload(pool) + at);
}

static int pool_of(enum where where, size_t i)
{
	return where == HOST ? 0 : where == DEVICE ? 1 + (int)(i % 2) : (int)(i % 3);
}

static void lay_out(struct set *set, const struct shape *s, const choir_dtype *types, size_t n_types)
{
	memset(set->used, 0, sizeof set->used);
	for (size_t i = 0; i < s->n; i++) {
		choir_tensor *t = &set->tensors[i];
		size_t elem, bytes, send, recv;
		int from = pool_of(s->where, i), to = pool_of(s->where, i / 2);

		t->dtype = types[i % n_types];
		t->count = count_of(s, i);
		elem = choir_dtype_bytes(t->dtype);
		bytes = t->count * elem;
		send = take_room(set, from, bytes, elem, i);
		recv = i % 4 == 0 ? send : take_room(set, to, bytes, elem, i + 1);
		to = i % 4 == 0 ? from : to;
		if (!set->built)
			continue;
		t->send = buffer_at(&set->pools[from], send);
		t->recv = buffer_at(&set->pools[to], recv);
		set->send_at[i] = memory_payload(&set->pools[from]) + send;
		set->recv_at[i] = memory_payload(&set->pools[to]) + recv;
		set->wanted_at[i] = set->wanted[to] + recv;
	}
	set->n = s->n;
}

static size_t types_of(choir_comm *comm, const struct shape *s, choir_dtype *types)
{
	size_t n = 0;

	for (int d = 0; choir_dtype_bytes((choir_dtype)d) > 0; d++)
		if ((s->one_type < 0 || s->one_type == d) && choir_supports(comm, "allreduce", (choir_dtype)d, s->op, choir_none()) == CHOIR_SUCCESS)
			types[n++] = (choir_dtype)d;
	return n;
}

static void set_make(struct set *set, struct world *world, choir_comm *comm, const struct shape *s)
{
	choir_dtype types[32];
	size_t n_types = types_of(comm, s, types);

	memset(set, 0, sizeof *set);
	lay_out(set, s, types, n_types);
	for (int p = 0; p < POOLS; p++) {
		size_t bytes = set->used[p] + SENTINEL_BYTES;

		memory_make(&set->pools[p], world->device, p > 0, bytes, 8);
		set->wanted[p] = malloc(bytes);
	}
	set->built = true;
	lay_out(set, s, types, n_types);
}

static void set_free(struct set *set)
{
	for (int p = 0; p < POOLS; p++) {
		memory_free(&set->pools[p]);
		free(set->wanted[p]);
	}
}

/* Inputs of this rank; everything else keeps its bytes. */
static void set_fill(struct set *set, int n, int rank, choir_op op, size_t shift)
{
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->tensors[i].count; k++)
			value_store(set->tensors[i].dtype, set->send_at[i], k, value_input(set->tensors[i].dtype, op, n, rank, k + shift + 37 * i));
	for (int p = 0; p < POOLS; p++) {
		memory_push(&set->pools[p]);
		memcpy(set->wanted[p], memory_payload(&set->pools[p]), set->pools[p].bytes);
	}
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->tensors[i].count; k++)
			value_store(set->tensors[i].dtype, set->wanted_at[i], k, value_reduced(set->tensors[i].dtype, op, n, k + shift + 37 * i));
}

static bool set_is_right(struct set *set)
{
	bool right = true;

	for (int p = 0; p < POOLS; p++) {
		memory_pull(&set->pools[p]);
		right &= memory_sentinels_stand(&set->pools[p]) && memcmp(memory_payload(&set->pools[p]), set->wanted[p], set->pools[p].bytes) == 0;
	}
	return right;
}

static choir_status call_it(choir_comm *comm, struct set *set, const struct shape *s)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	choir_status st;

	call.options = s->options;
	call.factor = value_factor(s->op);
	if (s->in_group)
		choir_group_begin();
	st = choir_allreduce_multi(comm, set->tensors, set->n, s->op, &call, s->with_event ? &event : NULL);
	if (s->in_group && choir_group_end() != CHOIR_SUCCESS)
		st = CHOIR_ABORTED;
	if (st == CHOIR_SUCCESS && event != NULL)
		st = choir_event_wait(event, -1);
	choir_event_release(event);
	return st;
}

static void run_shape(struct world *world, int rank, choir_comm *comm, const struct shape *s)
{
	struct set *set = malloc(sizeof *set);

	set_make(set, world, comm, s);
	for (size_t again = 0; again < 2; again++) { /* the second time the list is known */
		choir_status st;

		set_fill(set, world->n, rank, s->op, 1000 * again);
		st = call_it(comm, set, s);
		if (st == CHOIR_UNSUPPORTED && s->options != NULL)
			break;
		if (st != CHOIR_SUCCESS || !set_is_right(set))
			world_fail(world, rank, "%zu tensors of %zu to %zu, memory %d, %s, %s, call %zu: %s", s->n, s->low, s->high, (int)s->where,
			           choir_op_name(s->op), s->options != NULL ? s->options : "auto", again, st == CHOIR_SUCCESS ? "wrong" : choir_last_error());
	}
	set_free(set);
	free(set);
}

static void on_layouts(const int *sizes, size_t n_sizes, world_fn fn)
{
	for (size_t i = 0; i < n_sizes; i++)
		for (int per_node = 0; per_node < (sizes[i] < 3 ? 2 : 4); per_node++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			config.ranks_per_node = per_node;
			config.deadline_ms = 60000;
			line_up_begin(sizes[i]);
			world_run(sizes[i], &config, fn, NULL);
			line_up_end();
		}
}

static void lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	size_t counts[] = { 0, 1, 2, 5, 60, MOST };

	(void)unused;
	for (enum where where = HOST; where <= MIXED; where++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			struct shape s = { .n = counts[c], .low = 1, .high = counts[c] > 60 ? 40 : 3000, .where = where, .op = CHOIR_OP_SUM, .one_type = -1 };

			s.with_event = c % 2 == 1;
			run_shape(world, rank, comm, &s);
			s.in_group = true;
			s.with_event = !s.with_event;
			s.one_type = CHOIR_F32;
			run_shape(world, rank, comm, &s);
		}
}

static const int all_sizes[] = { 1, 2, 3, 5, 8 }, few_sizes[] = { 2, 3 };

static void test_lists(void **state)
{
	(void)state;
	on_layouts(all_sizes, 5, lists);
}

/* Several buckets of a type, tensors on either side of a bucket's length. */
static void long_lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int with_event = 0; with_event < 2; with_event++)
		for (enum where where = HOST; where <= MIXED; where++) {
			struct shape s = { .n = 12, .low = 100000, .high = 1200000, .where = where, .op = CHOIR_OP_SUM, .one_type = CHOIR_F32, .with_event = with_event };

			run_shape(world, rank, comm, &s);
		}
}

static void operators(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int op = 0; op <= CHOIR_OP_PREMUL_SUM; op++) {
		struct shape s = { .n = 30, .low = 1, .high = 300, .where = MIXED, .op = (choir_op)op, .one_type = -1, .with_event = op % 2 };

		if (op != CHOIR_OP_LOCAL)
			run_shape(world, rank, comm, &s);
	}
}

static void test_operators(void **state)
{
	(void)state;
	on_layouts(few_sizes, 2, operators);
	on_layouts(few_sizes, 1, long_lists);
}

static void algorithms(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const names[] = { "direct",    "oneshot",         "twoshot",  "ring",      "bidirectional_ring", "recursive_doubling",
		                             "pairwise",  "halving_doubling", "hier_ring", "hier_rd",  "hier_bidirectional_ring" };

	(void)unused;
	for (size_t a = 0; a < sizeof names / sizeof *names; a++)
		for (size_t high = 20; high <= 20000; high *= 100) {
			char options[64];
			struct shape s = { .n = 40, .low = 1, .high = high, .where = a % 2 ? HOST : MIXED, .op = CHOIR_OP_SUM, .one_type = CHOIR_F32, .options = options };

			snprintf(options, sizeof options, "algorithm=%s", names[a]);
			if (strcmp(names[a], "hier_bidirectional_ring") != 0)
				run_shape(world, rank, comm, &s);
		}
}

static void test_algorithms(void **state)
{
	(void)state;
	on_layouts(all_sizes + 1, 3, algorithms);
}

/* Handles of cl_mems come back: a list that looks the same may be another one. */
static void handles(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int i = 0; i < 30; i++) {
		struct shape s = { .n = 6, .low = 200, .high = 400, .where = DEVICE, .op = CHOIR_OP_SUM, .one_type = CHOIR_F32 };

		run_shape(world, rank, comm, &s);
	}
}

static void test_handles(void **state)
{
	(void)state;
	on_layouts(few_sizes, 1, handles);
}

static choir_tensor tensor_at(float *send, float *recv, size_t count)
{
	return (choir_tensor){ choir_host(send), choir_host(recv), count, CHOIR_F32 };
}

/* Refused before anything is sent: the comm goes on. */
static void refusals(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread float a[100], b[100], c[100];
	choir_tensor t[3] = { tensor_at(a, b, 50), tensor_at(c, c, 100), tensor_at(a + 50, b + 50, 50) };
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	OK(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL));
	IS(choir_allreduce_multi(NULL, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT);
	SAYS(choir_allreduce_multi(comm, NULL, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "null tensors");
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_BAND, NULL, NULL), CHOIR_UNSUPPORTED, "band|f32");
	SAYS(choir_allreduce_multi(comm, t, 3, (choir_op)99, NULL, NULL), CHOIR_ARGUMENT, "99");
	call.factor = 2;
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, &call, NULL), CHOIR_ARGUMENT, "factor");
	t[0].recv = choir_host(b + 1);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[0] and tensors[2] overlap");
	t[0].recv = choir_host(a + 51);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "overlap");
	t[0].recv = choir_host(a + 1);
	t[0].count = 10;
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[0]|not in place");
	t[0] = tensor_at(a, a, 50);
	t[2].send = choir_host(a + 49);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[0] and tensors[2] overlap");
	t[2] = tensor_at(b, NULL, 5);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[2]|recv|null");
	t[2] = (choir_tensor){ choir_host((char *)b + 1), choir_host(b + 8), 1, CHOIR_F32 };
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[2]|send|multiple");
	t[2] = (choir_tensor){ choir_host(b), choir_host(b), 1, (choir_dtype)77 };
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[2]|77");
	t[2] = tensor_at(b, b, SIZE_MAX / 2);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[2]|2^63");
	t[2] = tensor_at(b, b, 100);
	OK(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL));
	OK(choir_allreduce_multi(comm, NULL, 0, CHOIR_OP_SUM, NULL, NULL));
}

static void test_refusals(void **state)
{
	(void)state;
	on_layouts(few_sizes, 2, refusals);
}

/* What the last rank calls differs, though the totals are the same. */
enum odd { ODD_ORDER, ODD_TYPES, ODD_PLAIN, ODD_EMPTY, N_ODDS };

static choir_status odd_call(choir_comm *comm, enum odd odd, float *a, bool is_odd)
{
	choir_tensor t[2] = { tensor_at(a, a, 10), tensor_at(a + 100, a + 100, 20) };

	if (is_odd && odd == ODD_PLAIN)
		return choir_allreduce(comm, choir_host(a), choir_host(a), 30, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	if (is_odd && odd == ODD_ORDER) {
		t[0].count = 20;
		t[1].count = 10;
	}
	if (is_odd && odd == ODD_TYPES)
		t[1].dtype = CHOIR_I32;
	return choir_allreduce_multi(comm, t, is_odd && odd == ODD_EMPTY ? 0 : 2, CHOIR_OP_SUM, NULL, NULL);
}

static void mismatch(struct world *world, int rank, choir_comm *comm, void *odd)
{
	static __thread float a[200];
	choir_status st = odd_call(comm, *(enum odd *)odd, a, rank == world->n - 1);

	for (int i = 0; i < 50 && st == CHOIR_SUCCESS; i++) /* an empty call may end before the others have begun */
		st = choir_barrier(comm, NULL, NULL);
	if (st != CHOIR_MISMATCH || !says(choir_last_error(), "allreduce of 2 tensors|rank 0|rank 1"))
		world_fail(world, rank, "odd %d: %s: \"%s\"", *(int *)odd, choir_status_name(st), choir_last_error());
}

static void test_mismatch(void **state)
{
	(void)state;
	for (enum odd odd = ODD_ORDER; odd < N_ODDS; odd++)
		for (int per_node = 0; per_node < 2; per_node++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			config.ranks_per_node = per_node;
			config.deadline_ms = 20000;
			world_run(2, &config, mismatch, &odd);
		}
}

/* Deps hold all buckets back; the event is complete once the last is; the list and its cl_mems are kept meanwhile. */
static void behind_deps(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct shape s = { .n = 50, .low = 1, .high = 2000, .where = MIXED, .op = CHOIR_OP_SUM, .one_type = -1 };
	struct set *set = malloc(sizeof *set);
	choir_call call = CHOIR_CALL_INIT;
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_event *event;
	int done = 1;

	(void)unused;
	set_make(set, world, comm, &s);
	set_fill(set, world->n, rank, s.op, 0);
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	OK(choir_allreduce_multi(comm, set->tensors, set->n, s.op, &call, &event));
	for (int p = 1; p < POOLS; p++) {
		cl_uint references = 0;

		clGetMemObjectInfo(set->pools[p].mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
		CHECK(references > 1);
	}
	IS(choir_event_wait(event, 5), CHOIR_TIMEOUT);
	OK(choir_event_test(event, &done));
	CHECK(done == 0);
	memset(set->tensors, 0xFF, sizeof set->tensors); /* the list was copied */
	gate_open(gate, CL_COMPLETE);
	OK(choir_event_wait(event, -1));
	CHECK(set_is_right(set));
	choir_event_release(event);
	clReleaseEvent(gate);
	set_free(set);
	free(set);
}

static void test_deps(void **state)
{
	(void)state;
	on_layouts(few_sizes, 2, behind_deps);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lists),    cmocka_unit_test(test_operators), cmocka_unit_test(test_algorithms),
		                            cmocka_unit_test(test_handles),  cmocka_unit_test(test_refusals),  cmocka_unit_test(test_mismatch),
		                            cmocka_unit_test(test_deps) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
