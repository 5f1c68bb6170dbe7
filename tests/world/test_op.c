/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own: every dense reduction by every algorithm, as functions, as text and as both; values
 * that other ranks never see change; hostile use. */
#include "world/affine.h"
#include "world/world.h"

#include "algo/algo.h"
#include "quick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8, COUNT = 40, LONG = 20000 };

/* --- next: 3 x, a + b + 1, + 1000000 n --- */

static void next_sum(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((int32_t *)acc)[i] += ((const int32_t *)src)[i] + 1;
}

static void thrice(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)ranks;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((int32_t *)data)[i] *= 3;
}

static void plus_ranks(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((int32_t *)data)[i] += *(int *)ctx * ranks;
}

static void sum_f32(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	for (size_t i = 0; i < count && dtype == CHOIR_F32; i++)
		((float *)acc)[i] += ((const float *)src)[i];
}

/* Commutative only by what its maker says. */
static void keep_first(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)acc;
	(void)src;
	(void)count;
	(void)dtype;
}

static int million = 1000000;
static choir_op affine[N_AFFINE_FORMS], next[N_AFFINE_FORMS], sum[N_AFFINE_FORMS], affine_first[N_AFFINE_FORMS];

static choir_op create(choir_op_config config, enum affine_form form)
{
	choir_op op = -1;

	if (form == AFFINE_FUNCTIONS)
		config.source = config.fold_text = config.raw_text = config.final_text = NULL;
	if (form == AFFINE_TEXT) {
		config.fold = NULL;
		config.raw = config.final = NULL;
	}
	if (choir_op_create(&config, &op) != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		exit(1);
	}
	return op;
}

static void create_ops(void)
{
	choir_op_config next_config = CHOIR_OP_CONFIG_INIT, sum_config = CHOIR_OP_CONFIG_INIT,
			first_config = CHOIR_OP_CONFIG_INIT;

	next_config.name = "next";
	next_config.fold = next_sum;
	next_config.raw = thrice;
	next_config.final = plus_ranks;
	next_config.ctx = &million;
	next_config.fold_text = "a + b + 1";
	next_config.raw_text = "3 * a";
	next_config.final_text = "a + 1000000 * n";
	sum_config.name = "my sum";
	sum_config.fold = sum_f32;
	sum_config.fold_text = "a + b";
	first_config.name = "first";
	first_config.fold = keep_first;
	first_config.fold_text = "a";
	for (int form = 0; form < N_AFFINE_FORMS; form++) {
		affine[form] = affine_create((enum affine_form)form);
		next[form] = create(next_config, (enum affine_form)form);
		sum[form] = create(sum_config, (enum affine_form)form);
		affine_first[form] = create(first_config, (enum affine_form)form);
	}
}

/* --- a collective by an algorithm --- */

struct ask {
	enum collective collective;
	const struct algorithm *algorithm; /* NULL = as the rules say */
	choir_op op;
	size_t count;
};

static choir_status reduce_by(choir_comm *comm, const struct ask *ask, int n, const uint64_t *send, uint64_t *recv)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_buffer from = choir_host((void *)(uintptr_t)send), to = choir_host(recv);
	char options[64];

	if (ask->algorithm != NULL) {
		snprintf(options, sizeof options, "algorithm=%s", ask->algorithm->name);
		call.options = options;
	}
	switch (ask->collective) {
	case COLLECTIVE_ALLREDUCE:
		return choir_allreduce(comm, from, to, ask->count, CHOIR_U64, ask->op, &call, NULL);
	case COLLECTIVE_REDUCE:
		return choir_reduce(comm, from, to, ask->count, CHOIR_U64, ask->op, n - 1, &call, NULL);
	case COLLECTIVE_REDUCE_SCATTER:
		return choir_reduce_scatter(comm, from, to, ask->count / (size_t)n, CHOIR_U64, ask->op, &call, NULL);
	case COLLECTIVE_SCAN:
		return choir_scan(comm, from, to, ask->count, CHOIR_U64, ask->op, &call, NULL);
	default:
		return choir_exscan(comm, from, to, ask->count, CHOIR_U64, ask->op, &call, NULL);
	}
}

static bool is_right(const struct ask *ask, int n, int rank, const uint64_t *recv)
{
	bool scatters = ask->collective == COLLECTIVE_REDUCE_SCATTER;
	size_t count = scatters ? ask->count / (size_t)n : ask->count, first = scatters ? count * (size_t)rank : 0;
	int end = ask->collective == COLLECTIVE_SCAN ? rank + 1 : ask->collective == COLLECTIVE_EXSCAN ? rank : n;

	for (size_t i = 0; i < count; i++)
		if (recv[i] != affine_wanted(end, first + i))
			return false;
	return recv[count] == 77;
}

static void check_one(struct world *world, int rank, choir_comm *comm, const struct ask *ask)
{
	bool reorders = world->n > 1 && ask->algorithm != NULL && ask->algorithm->fold_order == PLAN_ORDER_ANY;
	const char *name = ask->algorithm != NULL ? ask->algorithm->name : "the rules'";
	uint64_t *send = calloc(ask->count + 1, 8), *recv = calloc(ask->count + 1, 8);
	bool has_result = ask->collective != COLLECTIVE_REDUCE || rank == world->n - 1;
	choir_status st;

	for (size_t i = 0; i < ask->count; i++)
		send[i] = affine_given(rank, i);
	recv[ask->collective == COLLECTIVE_REDUCE_SCATTER ? ask->count / (size_t)world->n : ask->count] = 77;
	st = reduce_by(comm, ask, world->n, send, recv);
	if (reorders) {
		world_is(world, rank, st, CHOIR_ARGUMENT, name);
		CHECK(strstr(choir_last_error(), "does not fold in rank order, which an operator that is not "
		                                 "commutative asks for"));
	} else if (st != CHOIR_UNSUPPORTED || ask->algorithm == NULL) {
		world_is(world, rank, st, CHOIR_SUCCESS, name);
		if (has_result && !is_right(ask, world->n, rank, recv))
			world_fail(world, rank, "%s by %s: %zu elements, operator %d: a wrong result",
			           collective_name(ask->collective), name, ask->count, (int)ask->op);
	}
	free(send);
	free(recv);
}

static const enum collective reductions[] = { COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	                                      COLLECTIVE_SCAN, COLLECTIVE_EXSCAN };
enum { N_REDUCTIONS = sizeof reductions / sizeof *reductions };

static void by_all(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	choir_op op = affine[*(enum affine_form *)form_p];
	size_t each = (size_t)world->n;

	for (size_t c = 0; c < N_REDUCTIONS; c++) {
		for (size_t i = 0; i < n_algorithms; i++)
			if (algorithms[i].collective == reductions[c])
				check_one(world, rank, comm,
				          &(struct ask){ reductions[c], &algorithms[i], op, each * COUNT });
		check_one(world, rank, comm, &(struct ask){ reductions[c], NULL, op, each });
		check_one(world, rank, comm, &(struct ask){ reductions[c], NULL, op, each * (LONG / 8) });
	}
}

static void every_algorithm(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (size_t i = 0; i < 5; i++)
			for (int per_node = 0; per_node < 3; per_node++) {
				bool skip = form != AFFINE_FUNCTIONS && (sizes[i] == 5 || sizes[i] == 8);

				if (!skip && !(quick_wanted() && sizes[i] == 8))
					world_run_at(sizes[i], per_node, 60000, by_all, &form);
			}
}

/* --- raw and final; lists; calls that are kept; in place --- */

static int32_t small(int rank, size_t i)
{
	return (int32_t)((size_t)(rank * 7 + 3) * i % 1000);
}

static bool is_next(int n, const int32_t *recv, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int32_t value = n - 1 + million * n;

		for (int r = 0; r < n; r++)
			value += 3 * small(r, first + i);
		if (recv[i] != value)
			return false;
	}
	return true;
}

static void raw_and_final(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	choir_op op = next[*(enum affine_form *)form_p];
	int n = world->n;
	int32_t *send = calloc(LONG, 4), *recv = calloc(LONG, 4);
	choir_tensor list[2] = { { choir_host(send), choir_host(recv), 100, CHOIR_I32 },
		                 { choir_host(send + 100), choir_host(recv + 100), LONG - 100, CHOIR_I32 } };
	choir_request *request = NULL;

	for (size_t i = 0; i < LONG; i++)
		send[i] = small(rank, i);
	for (size_t count = 1; count <= LONG; count = count == LONG ? LONG + 1 : LONG)
		for (int again = 0; again < 3; again++) {
			memset(recv, 0, LONG * 4);
			OK(choir_allreduce(comm, choir_host(send), choir_host(recv), count, CHOIR_I32, op, NULL, NULL));
			CHECK(is_next(n, recv, 0, count));
		}
	memset(recv, 0, LONG * 4);
	OK(choir_allreduce_multi(comm, list, 2, op, NULL, NULL));
	CHECK(is_next(n, recv, 0, LONG));
	memset(recv, 0, LONG * 4);
	if (OK(choir_allreduce_init(comm, choir_host(send), choir_host(recv), LONG, CHOIR_I32, op, NULL, &request)))
		OK(choir_start(request, NULL, NULL));
	CHECK(is_next(n, recv, 0, LONG));
	choir_request_free(request);
	IS(choir_scan(comm, choir_host(send), choir_host(recv), 1, CHOIR_I32, op, NULL, NULL), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "the operator next is not defined for scan"));
	OK(choir_allreduce(comm, choir_host(send), choir_host(send), LONG, CHOIR_I32, op, NULL, NULL));
	CHECK(is_next(n, send, 0, LONG));
	free(send);
	free(recv);
}

/* f16 accumulates in f32 in both forms, so the bits are those of the library's sum. */
static void sums_of_f16(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	choir_op op = sum[*(enum affine_form *)form_p];
	uint16_t send[COUNT], mine[COUNT] = { 0 }, theirs[COUNT] = { 0 };

	for (size_t i = 0; i < COUNT; i++)
		send[i] = (uint16_t)(0x3c00 + 37 * i + 411 * (size_t)rank);
	OK(choir_allreduce(comm, choir_host(send), choir_host(mine), COUNT, CHOIR_F16, op, NULL, NULL));
	OK(choir_allreduce(comm, choir_host(send), choir_host(theirs), COUNT, CHOIR_F16, CHOIR_OP_SUM, NULL, NULL));
	CHECK(memcmp(mine, theirs, sizeof mine) == 0);
}

static void whole_values(void **state)
{
	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (int n = 1; n <= 3; n++)
			for (int per_node = 0; per_node < 2; per_node++) {
				world_run_at(n, per_node, 60000, raw_and_final, &form);
				world_run_at(n, 0, 60000, sums_of_f16, &form);
			}
}

/* order=ranks holds for an operator that could be folded in another order: in place two values change places else. */
static void by_rank(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	choir_call call = CHOIR_CALL_INIT;
	float *data = calloc(LONG, sizeof *data);

	call.options = "order=ranks";
	for (size_t count = 1; count <= LONG; count = count == 1 ? COUNT : count == COUNT ? LONG : LONG + 1)
		for (int again = 0; again < 3; again++) {
			bool right = true;

			for (size_t i = 0; i < count; i++)
				data[i] = (float)(rank * LONG + (int)i);
			OK(choir_allreduce(comm, choir_host(data), choir_host(data), count, CHOIR_F32,
			                   affine_first[*(enum affine_form *)form_p], &call, NULL));
			for (size_t i = 0; i < count; i++)
				right &= data[i] == (float)i;
			if (!right)
				world_fail(world, rank, "%zu elements: not those of rank 0", count);
		}
	free(data);
}

static void in_rank_order(void **state)
{
	static const int layouts[][2] = { { 2, 0 }, { 2, 1 }, { 3, 0 }, { 8, 0 }, { 8, 4 }, { 8, 2 }, { 8, 1 } };

	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
			world_run_at(layouts[i][0], layouts[i][1], 60000, by_rank, &form);
}

static void in_memory(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	cl_context context = choir_device_context(world->device);
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, LONG * 4, NULL, NULL);
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(context, choir_device_id(world->device), NULL, NULL);
	int32_t *data = calloc(LONG, 4);
	choir_event *event = NULL;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < LONG; i++)
			data[i] = small(rank, i);
		clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, LONG * 4, data, 0, NULL, NULL);
		OK(choir_allreduce(comm, choir_mem(mem, 0), choir_mem(mem, 0), LONG, CHOIR_I32,
		                   next[*(enum affine_form *)form_p], NULL, round == 0 ? NULL : &event));
		if (round == 1 && OK(choir_event_wait(event, -1)))
			choir_event_release(event);
		clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, LONG * 4, data, 0, NULL, NULL);
		CHECK(is_next(world->n, data, 0, LONG));
	}
	clReleaseCommandQueue(queue);
	clReleaseMemObject(mem);
	free(data);
}

static void memory_of_a_device(void **state)
{
	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (int per_node = 0; per_node < 2; per_node++)
			world_run_at(3, per_node, 60000, in_memory, &form);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_algorithm), cmocka_unit_test(whole_values),
		                            cmocka_unit_test(in_rank_order), cmocka_unit_test(memory_of_a_device) };
	int failed;

	create_ops();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_device_drop();
	return failed;
}
