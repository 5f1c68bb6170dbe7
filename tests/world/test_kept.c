/* SPDX-License-Identifier: MIT */
/* Requests of collectives that learn their sizes on the way: alltoallv and sparse_allreduce, started again and again,
 * by themselves and in a sequence; alltoallv on memory of every kind. */
#include "exec/run.h"
#include "world/gate.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5, MOST = 64 };

/* What rank `from` sends to `to`, in a round. */
static size_t count_of(int from, int to)
{
	return (size_t)((from * 3 + to * 2) % 5);
}

static int32_t value_of(int from, int to, size_t i, int round)
{
	return (int32_t)(from * 1000 + to * 100 + (int)i + round * 100000);
}

struct exchange {
	struct memory out, in;
	size_t sends[RANKS], recvs[RANKS];
};

static void make(struct world *world, int rank, struct exchange *x, bool on_device)
{
	CHECK(memory_make(&x->out, world->device, on_device, MOST * sizeof(int32_t), 4));
	CHECK(memory_make(&x->in, world->device, on_device, (MOST + 1) * sizeof(int32_t), 8));
}

static void drop(struct exchange *x)
{
	memory_free(&x->out);
	memory_free(&x->in);
}

static int32_t *ints(struct memory *memory)
{
	return (int32_t *)(void *)memory_payload(memory);
}

static void fill(struct exchange *x, int n, int rank, int round)
{
	size_t at = 0;

	for (int p = 0; p < n; p++) {
		x->sends[p] = count_of(rank, p);
		x->recvs[p] = count_of(p, rank);
		for (size_t i = 0; i < x->sends[p]; i++)
			ints(&x->out)[at++] = value_of(rank, p, i, round);
	}
	for (size_t i = 0; i <= MOST; i++)
		ints(&x->in)[i] = -1;
	memory_push(&x->out);
	memory_push(&x->in);
}

static bool is_right(struct exchange *x, int n, int rank, int round)
{
	size_t at = 0;

	memory_pull(&x->in);
	for (int p = 0; p < n; p++)
		for (size_t i = 0; i < x->recvs[p]; i++)
			if (ints(&x->in)[at++] != value_of(p, rank, i, round))
				return false;
	return ints(&x->in)[at] == -1 && memory_sentinels_stand(&x->in);
}

/* kind: of memory on the device; NULL: host memory. */
static void exchanges(struct world *world, int rank, choir_comm *comm, void *kind)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request = NULL;
	struct exchange x;
	size_t sends[RANKS], recvs[RANKS];
	int n = world->n;

	make(world, rank, &x, kind != NULL);
	fill(&x, n, rank, 0);
	memcpy(sends, x.sends, sizeof sends);
	memcpy(recvs, x.recvs, sizeof recvs);
	call.name = "routing";
	OK(choir_alltoallv_init(comm, x.out.buffer, sends, NULL, x.in.buffer, recvs, NULL, CHOIR_I32, &call, &request));
	memset(sends, 1, sizeof sends); /* the lists are copied */
	memset(recvs, 1, sizeof recvs);
	for (int round = 0; round < 6; round++) {
		choir_event *event = NULL;

		fill(&x, n, rank, round);
		if (rank % 2 == 1 && round > 3) /* meets an ordinary call */
			OK(choir_alltoallv(comm, x.out.buffer, x.sends, NULL, x.in.buffer, x.recvs, NULL, CHOIR_I32,
			                   NULL, NULL));
		else
			OK(choir_start(request, NULL, round % 2 == 1 ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(is_right(&x, n, rank, round));
	}
	choir_request_free(request);
	drop(&x);
}

static void test_exchanges(void **state)
{
	(void)state;
	for (int n = 1; n <= RANKS; n += 2)
		line_up_layouts(n, exchanges);
}

static void on_device(enum memory_kind kind)
{
	static const struct {
		int n, per_node;
	} worlds[] = { { 1, 0 }, { 3, 0 }, { 3, 1 }, { 5, 2 } };

	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
		line_up_run(worlds[i].n, worlds[i].per_node, 60000, exchanges, &kind);
}

static void test_exchanges_on_device(void **state)
{
	(void)state;
	on_device(MEMORY_MEM);
	memory_each(world_device(), on_device);
}

/* Rank r sends `pairs` pairs: of the indices 10, 10 + r, 10 + 2 r ... in that round. */
struct pairs {
	int32_t ind[4];
	float val[4];
	int32_t out_ind[MOST];
	float out_val[MOST];
	size_t n_ind, n_val;
};

static void fill_pairs(struct pairs *p, int rank, int round)
{
	for (int i = 0; i < 4; i++) {
		p->ind[i] = 10 + i * (round % 2 == 0 ? 1 : rank + 1);
		p->val[i] = (float)(rank + 1 + round);
	}
}

static bool pairs_are_right(const struct pairs *p, int n, int round)
{
	size_t at = 0;

	for (int ind = 10; ind < 10 + 3 * n + 1; ind++) {
		float sum = 0;
		bool any = false;

		for (int r = 0; r < n; r++)
			for (int i = 0; i < 4; i++)
				if (10 + i * (round % 2 == 0 ? 1 : r + 1) == ind) {
					sum += (float)(r + 1 + round);
					any = true;
				}
		if (any && (p->out_ind[at] != ind || p->out_val[at] != sum))
			return false;
		at += any;
	}
	return at == p->n_ind && at == p->n_val;
}

/* The longer results come after shorter ones: each start has the capacities of the request. */
static void sparse(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct pairs p = { .n_ind = MOST, .n_val = MOST };
	choir_request *request = NULL;

	(void)unused;
	OK(choir_sparse_allreduce_init(comm, choir_host(p.ind), 4, choir_host(p.val), 4, choir_host(p.out_ind),
	                               &p.n_ind, choir_host(p.out_val), &p.n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                               NULL, NULL, &request));
	for (int round = 0; round < 4; round++) {
		choir_event *event = NULL;

		fill_pairs(&p, rank, round);
		OK(choir_start(request, NULL, round > 1 ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(pairs_are_right(&p, world->n, round));
	}
	choir_request_free(request);
}

static void test_sparse(void **state)
{
	(void)state;
	line_up_layouts(2, sparse);
	line_up_layouts(3, sparse);
}

/* An exchange, and a sparse sum behind it. */
static void sequence(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct pairs p = { .n_ind = MOST, .n_val = MOST };
	choir_request *requests[2] = { NULL, NULL };
	choir_sequence *sequence = NULL;
	struct exchange x;

	(void)unused;
	make(world, rank, &x, false);
	fill(&x, world->n, rank, 0);
	OK(choir_alltoallv_init(comm, x.out.buffer, x.sends, NULL, x.in.buffer, x.recvs, NULL, CHOIR_I32, NULL,
	                        &requests[0]));
	OK(choir_sparse_allreduce_init(comm, choir_host(p.ind), 4, choir_host(p.val), 4, choir_host(p.out_ind),
	                               &p.n_ind, choir_host(p.out_val), &p.n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                               NULL, NULL, &requests[1]));
	OK(choir_sequence_create(requests, 2, &sequence));
	for (int round = 0; round < 3; round++) {
		fill(&x, world->n, rank, round);
		fill_pairs(&p, rank, round);
		OK(choir_sequence_start(sequence, NULL, NULL));
		CHECK(is_right(&x, world->n, rank, round) && pairs_are_right(&p, world->n, round));
	}
	choir_sequence_free(sequence);
	drop(&x);
	choir_request_free(requests[0]);
	choir_request_free(requests[1]);
}

static void test_sequence(void **state)
{
	(void)state;
	line_up_layouts(3, sequence);
}

/* The gate of this thread's sequence: opened once its third call has read its arguments, and before it is made. */
static _Thread_local struct {
	cl_event gate;
	int calls;
	choir_event *first; /* a reference to the first call's */
	choir_status status;
} held;

choir_status __real_run_create(struct choir_comm *comm, struct run **out_p);
choir_status __wrap_run_create(struct choir_comm *comm, struct run **out_p);

choir_status __wrap_run_create(struct choir_comm *comm, struct run **out_p)
{
	choir_status st = __real_run_create(comm, out_p);

	if (held.gate == NULL || st != CHOIR_SUCCESS)
		return st;
	held.calls++;
	if (held.calls == 1)
		held.first = choir_event_retain((*out_p)->event);
	if (held.calls == 3) {
		gate_open(held.gate, CL_COMPLETE);
		held.status = choir_event_wait(held.first, -1);
		choir_event_release(held.first);
	}
	return st;
}

/* One request twice, and between the two the indices change: the second result is longer, and the first one comes while
 * the second call is being started. */
static void twice(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct pairs p = { .n_ind = MOST, .n_val = MOST };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *requests[3] = { NULL, NULL, NULL };
	choir_sequence *sequence = NULL;
	int32_t later[4 * RANKS];
	choir_event *event = NULL;

	(void)unused;
	for (int r = 0; r < world->n; r++) {
		fill_pairs(&p, r, 1);
		memcpy(&later[4 * r], p.ind, sizeof p.ind);
	}
	OK(choir_sparse_allreduce_init(comm, choir_host(p.ind), 4, choir_host(p.val), 4, choir_host(p.out_ind),
	                               &p.n_ind, choir_host(p.out_val), &p.n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                               NULL, NULL, &requests[0]));
	OK(choir_scatter_init(comm, choir_host(later), choir_host(p.ind), 4, CHOIR_I32, 0, NULL, &requests[1]));
	requests[2] = requests[0];
	OK(choir_sequence_create(requests, 3, &sequence));
	fill_pairs(&p, rank, 1);
	for (int i = 0; i < 4; i++)
		p.ind[i] = 10 + i;
	held.gate = gate_make(choir_device_context(world->device));
	held.calls = 0;
	call.cl_deps = &held.gate;
	call.n_cl_deps = 1;
	if (OK(choir_sequence_start(sequence, &call, &event)))
		OK(choir_event_wait(event, -1));
	choir_event_release(event);
	CHECK(held.calls == 3 && held.status == CHOIR_SUCCESS && pairs_are_right(&p, world->n, 1));
	clReleaseEvent(held.gate);
	held.gate = NULL;
	choir_sequence_free(sequence);
	choir_request_free(requests[0]);
	choir_request_free(requests[1]);
}

static void test_twice(void **state)
{
	(void)state;
	line_up_layouts(2, twice);
	line_up_layouts(3, twice);
}

static void refused(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct pairs p = { .n_ind = MOST, .n_val = MOST };
	size_t one[RANKS] = { 1, 1, 1, 1, 1 }, far[RANKS] = { SIZE_MAX / 2, 1, 1, 1, 1 };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request = NULL;
	choir_event *none[1] = { NULL };
	int32_t a[RANKS] = { 0 };

	(void)unused;
	SAYS(choir_alltoallv_init(comm, choir_host(a), one, NULL, choir_host(a), one, NULL, CHOIR_I32, NULL, &request),
	     CHOIR_ARGUMENT, "choir_alltoallv|overlap");
	SAYS(choir_alltoallv_init(comm, choir_host(a), far, NULL, choir_host(p.ind), one, NULL, CHOIR_I32, NULL,
	                          &request),
	     CHOIR_ARGUMENT, "choir_alltoallv|2^63");
	SAYS(choir_alltoallv_init(comm, choir_host(a), NULL, NULL, choir_host(p.ind), one, NULL, CHOIR_I32, NULL,
	                          &request),
	     CHOIR_ARGUMENT, "choir_alltoallv|send_counts");
	call.deps = none;
	call.n_deps = 1;
	SAYS(choir_alltoallv_init(comm, choir_host(a), one, NULL, choir_host(p.ind), one, NULL, CHOIR_I32, &call,
	                          &request),
	     CHOIR_ARGUMENT, "choir_alltoallv_init|deps");
	SAYS(choir_sparse_allreduce_init(comm, choir_host(p.ind), 4, choir_host(p.val), 4, choir_host(p.out_ind),
	                                 &p.n_ind, choir_host(p.out_val), &p.n_val, CHOIR_F32, CHOIR_F32, CHOIR_OP_SUM,
	                                 NULL, NULL, &request),
	     CHOIR_UNSUPPORTED, "ind_dtype is f32");
	SAYS(choir_sparse_allreduce_init(comm, choir_host(p.ind), 4, choir_host(p.val), 4, choir_host(p.out_ind),
	                                 &p.n_ind, choir_host(p.out_val), &p.n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM,
	                                 NULL, NULL, NULL),
	     CHOIR_ARGUMENT, "choir_sparse_allreduce_init|null pointer");
	CHECK(request == NULL && sum_works(comm, 8));
}

static void test_refused(void **state)
{
	(void)state;
	line_up_layouts(2, refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchanges), cmocka_unit_test(test_exchanges_on_device),
		cmocka_unit_test(test_sparse),    cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_twice),     cmocka_unit_test(test_refused)
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
