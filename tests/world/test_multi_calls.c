/* SPDX-License-Identifier: MIT */
/* choir_allreduce_multi and its persistent form as calls: what they refuse, what ranks must agree on, what they wait
 * for and keep meanwhile. */
#include "base/dtype.h"
#include "base/wait.h"
#include "world/gate.h"
#include "world/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int few_sizes[] = { 2, 3 };

static void on_layouts(world_fn fn)
{
	for (size_t i = 0; i < 2; i++)
		for (int per_node = 0; per_node < (few_sizes[i] < 3 ? 2 : 4); per_node++)
			line_up_run(few_sizes[i], per_node, 60000, fn, NULL);
}

static choir_tensor tensor_at(float *send, float *recv, size_t count)
{
	return (choir_tensor){ choir_host(send), choir_host(recv), count, CHOIR_F32 };
}

/* Lists without elements are reduced by every operator, whatever type their tensors have. */
static void empty_lists(struct world *world, int rank, choir_comm *comm)
{
	static __thread float a[4];
	choir_tensor t = tensor_at(a, a, 0);
	choir_call call = CHOIR_CALL_INIT;

	for (choir_op op = 0; op < N_OPS; op++) {
		OK(choir_allreduce_multi(comm, &t, 1, op, NULL, NULL));
		OK(choir_allreduce_multi(comm, NULL, 0, op, NULL, NULL));
	}
	IS(choir_allreduce_multi(comm, NULL, 0, N_OPS, NULL, NULL), CHOIR_ARGUMENT);
	/* the first type of premul_sum is narrow, and this algorithm rounds those at each rank */
	call.options = "order=ranks, algorithm=rank_chain";
	OK(choir_allreduce_multi(comm, &t, 1, CHOIR_OP_PREMUL_SUM, &call, NULL));
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
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	     "tensors[0] and tensors[2] overlap");
	t[0].recv = choir_host(a + 51);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "overlap");
	t[0].recv = choir_host(a + 1);
	t[0].count = 10;
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT, "tensors[0]|not in place");
	t[0] = tensor_at(a, a, 50);
	t[2].send = choir_host(a + 49);
	SAYS(choir_allreduce_multi(comm, t, 3, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	     "tensors[0] and tensors[2] overlap");
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

/* The same by choir_allreduce_multi_init, and what may not be given to a start; rank 0 alone. */
static void refusals_kept(struct world *world, int rank, choir_comm *comm)
{
	static float a[100], b[100];
	choir_tensor t[2] = { tensor_at(a, b, 50), tensor_at(a + 50, b + 49, 50) };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *r = NULL;
	choir_event *event = NULL, *dep;

	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, NULL, &r), CHOIR_ARGUMENT,
	     "choir_allreduce_multi|tensors[0] and tensors[1] overlap");
	t[1] = tensor_at(a + 50, b + 50, 50);
	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	     "choir_allreduce_multi_init|null");
	SAYS(choir_allreduce_multi_init(comm, NULL, 2, CHOIR_OP_SUM, NULL, &r), CHOIR_ARGUMENT, "null tensors");
	IS(choir_allreduce_multi_init(NULL, t, 2, CHOIR_OP_SUM, NULL, &r), CHOIR_ARGUMENT);
	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_BAND, NULL, &r), CHOIR_UNSUPPORTED, "band|f32");
	call.options = "algorithm=magic";
	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, &call, &r), CHOIR_ARGUMENT, "magic");
	call = (choir_call)CHOIR_CALL_INIT;
	call.factor = 2;
	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, &call, &r), CHOIR_ARGUMENT, "factor");
	call = (choir_call)CHOIR_CALL_INIT;
	call.deps = &dep;
	call.n_deps = 1;
	SAYS(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, &call, &r), CHOIR_ARGUMENT,
	     "choir_allreduce_multi_init|choir_start");
	CHECK(r == NULL);
	OK(choir_allreduce_multi_init(comm, t, 2, CHOIR_OP_SUM, NULL, &r));
	call = (choir_call)CHOIR_CALL_INIT;
	call.options = "algorithm=auto";
	SAYS(choir_start(r, &call, &event), CHOIR_ARGUMENT, "choir_start|choir_allreduce_multi_init");
	CHECK(event == NULL);
	choir_request_free(r);
}

static void all_refusals(struct world *world, int rank, choir_comm *comm, void *unused)
{
	refusals(world, rank, comm, unused);
	empty_lists(world, rank, comm);
	if (rank == 0)
		refusals_kept(world, rank, comm);
	CHECK(sum_works(comm, 100));
}

static void test_refusals(void **state)
{
	(void)state;
	on_layouts(all_refusals);
}

/* Started again and again, with other contents, as any call may be made; symmetric memory that comes and goes meanwhile
 * moves what peers know of the tensors. */
static void again(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct tensors_shape s = {
		.n = 40, .low = 1, .high = 900, .where = TENSORS_MIXED, .op = CHOIR_OP_SUM, .one_type = -1, .kept = true
	};
	struct tensors *set = malloc(sizeof *set);

	(void)unused;
	tensors_make(set, comm, world->device, &s, (struct tensors_share){ NULL, 0 });
	for (size_t round = 0; round < 9; round++) {
		void *share = NULL;

		if (round % 3 == 2)
			OK(choir_mem_alloc(comm, 4096, &share, NULL));
		s.with_event = round % 2 == 1;
		s.in_group = round % 4 > 1;
		tensors_fill(set, s.op, 100 * round);
		OK(tensors_call(set, comm, &s));
		if (!tensors_are_right(set))
			world_fail(world, rank, "start %zu is wrong", round);
		if (share != NULL)
			OK(choir_mem_free(comm, share));
	}
	tensors_free(set);
	free(set);
}

/* The comm goes before the request. */
static void outlived(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread float a[100];
	choir_tensor t[2] = { tensor_at(a, a, 10), tensor_at(a + 50, a + 50, 20) };
	choir_comm *child;
	choir_request *request;

	(void)unused;
	OK(choir_comm_split(comm, 0, 0, &child));
	OK(choir_allreduce_multi_init(child, t, 2, CHOIR_OP_SUM, NULL, &request));
	OK(choir_start(request, NULL, NULL));
	OK(choir_comm_destroy(child));
	SAYS(choir_start(request, NULL, NULL), CHOIR_ARGUMENT, "choir_start|choir_allreduce_multi|destroyed");
	choir_request_free(request);
}

static void test_again(void **state)
{
	(void)state;
	on_layouts(again);
	on_layouts(outlived);
}

/* What the last rank calls differs, though the totals are the same. */
enum odd { ODD_ORDER, ODD_TYPES, ODD_PLAIN, ODD_EMPTY, N_ODDS };

static choir_status by_request(choir_comm *comm, const choir_tensor *tensors, size_t n)
{
	choir_request *request = NULL;
	choir_status st = choir_allreduce_multi_init(comm, tensors, n, CHOIR_OP_SUM, NULL, &request);

	if (st == CHOIR_SUCCESS)
		st = choir_start(request, NULL, NULL);
	choir_request_free(request);
	return st;
}

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
	if (is_odd)
		return by_request(comm, t, odd == ODD_EMPTY ? 0 : 2);
	return choir_allreduce_multi(comm, t, 2, CHOIR_OP_SUM, NULL, NULL);
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
		for (int per_node = 0; per_node < 2; per_node++)
			world_run_at(2, per_node, 20000, mismatch, &odd);
}

/* Odd ranks start a request, which they free while it is under way. */
static void call_behind(struct world *world, int rank, choir_comm *comm, struct tensors *set, const choir_call *call,
                        choir_event **event_p)
{
	choir_request *request;

	if (rank % 2 == 0) {
		OK(choir_allreduce_multi(comm, set->list, set->n, CHOIR_OP_SUM, call, event_p));
		return;
	}
	OK(choir_allreduce_multi_init(comm, set->list, set->n, CHOIR_OP_SUM, NULL, &request));
	OK(choir_start(request, call, event_p));
	choir_request_free(request);
}

/* Deps hold all buckets back; the event is complete once the last is; the list and its cl_mems are kept meanwhile. */
static void behind_deps(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct tensors_shape s = {
		.n = 50, .low = 1, .high = 2000, .where = TENSORS_MIXED, .op = CHOIR_OP_SUM, .one_type = -1
	};
	struct tensors *set = malloc(sizeof *set);
	choir_call call = CHOIR_CALL_INIT;
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_event *event;
	int done = 1;

	(void)unused;
	tensors_make(set, comm, world->device, &s, (struct tensors_share){ NULL, 0 });
	tensors_fill(set, s.op, 0);
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	call_behind(world, rank, comm, set, &call, &event);
	for (int p = 1; p <= 2; p++) {
		cl_uint references = 0;

		clGetMemObjectInfo(set->pools[p].mem, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
		CHECK(references > 1);
	}
	IS(choir_event_wait(event, 5), CHOIR_TIMEOUT);
	OK(choir_event_test(event, &done));
	CHECK(done == 0);
	memset(set->list, 0xFF, sizeof set->list); /* the list was copied */
	gate_open(gate, CL_COMPLETE);
	OK(choir_event_wait(event, -1));
	CHECK(tensors_are_right(set));
	choir_event_release(event);
	clReleaseEvent(gate);
	tensors_free(set);
	free(set);
}

static void test_deps(void **state)
{
	(void)state;
	on_layouts(behind_deps);
}

/* --- one deadline for all buckets --- */

enum { BUCKETS = 6, SLOW_US = 150000, LIST_MS = 300 };

static void fold_slowly(void *slow, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)dtype;
	if (slow != NULL)
		wait_sleep_us(SLOW_US);
	for (size_t i = 0; i < count; i++)
		((float *)acc)[i] += ((const float *)src)[i];
}

/* Rank 1 takes longer for each bucket than it may for three, and not as long as it may for one. */
static void slow_buckets(struct world *world, int rank, choir_comm *comm, void *unused)
{
	float a[BUCKETS] = { 0 };
	choir_tensor t[BUCKETS];
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_call call = CHOIR_CALL_INIT;
	choir_op op;
	choir_status st;

	(void)unused;
	config.name = "slow";
	config.fold = fold_slowly;
	config.ctx = rank == 1 ? &config : NULL;
	OK(choir_op_create(&config, &op));
	for (int i = 0; i < BUCKETS; i++)
		t[i] = tensor_at(&a[i], &a[i], 1);
	call.deadline_ms = LIST_MS;
	call.options = "bucket_bytes=4";
	st = choir_allreduce_multi(comm, t, BUCKETS, op, &call, NULL);
	CHECK(rank == 1 || st == CHOIR_TIMEOUT);
	OK(choir_op_destroy(op));
}

static void test_slow_buckets(void **state)
{
	(void)state;
	world_run_at(2, 0, 60000, slow_buckets, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_refusals), cmocka_unit_test(test_again),
		                            cmocka_unit_test(test_mismatch), cmocka_unit_test(test_deps),
		                            cmocka_unit_test(test_slow_buckets) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
