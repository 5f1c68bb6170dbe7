/* SPDX-License-Identifier: MIT */
/* result=atomic: every collective that can be in place gives what it gives without, and where it fails on a rank, that
 * rank's memory is as it was, byte for byte, which without it would not be so. */
#include "quick.h"
#include "world/flight.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

static const char atomic[] = "result=atomic";

/* --- it works --- */

static void all_shapes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const size_t counts[] = { 0, 1, 1000, 70001 };

	(void)arg;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (int k = 0; k < 16; k++) {
			struct dense_call c = { .what = &collectives[what],
				                .dtype = CHOIR_F32,
				                .op = CHOIR_OP_SUM,
				                .count = counts[k / 4],
				                .n = world->n,
				                .root = k % world->n,
				                .in_place = k & 1,
				                .device = k & 2 };
			struct dense_flight flight;

			if ((quick_wanted() || world->n >= 5) && k % 4 != k / 4) /* each count once */
				continue;
			if (c.count > 10000 && !collectives[what].in_place)
				continue;
			flight_make(&flight, world, rank, &c);
			if (k % 8 < 4 || collectives[what].waits) {
				if (OK(flight_call(&flight, comm, NULL, NULL)))
					flight_compare(&flight, world);
			} else {
				flight_start(&flight, world, comm, NULL);
				flight_land(&flight, world);
			}
			flight_free(&flight);
		}
}

/* As the comm's option, which other calls than those in place do not look at. */
static void test_shapes(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int per_node = 0; per_node <= 1; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

			if ((per_node > 0 && i % 2 == 0) || sizes[i] * per_node == 8 || (quick_wanted() && i % 2 == 0))
				continue;
			config.options = atomic;
			config.ranks_per_node = per_node;
			world_run(sizes[i], &config, all_shapes, NULL);
		}
}

enum { TENSORS = 5, ELEMENTS = 3000 };

struct list {
	struct memory memory[TENSORS];
	choir_tensor tensors[TENSORS];
};

/* Host memory and cl_mems of two types, in place. */
static void make_list(struct list *list, choir_device *device, int rank)
{
	for (int t = 0; t < TENSORS; t++) {
		size_t count = ELEMENTS / (size_t)(t + 1);

		if (!memory_make(&list->memory[t], device, t % 2, count * 4, 4))
			abort();
		for (size_t e = 0; e < count; e++) {
			int32_t whole = (int32_t)(e % 100) + t + rank;
			float real = (float)whole;

			memcpy(memory_payload(&list->memory[t]) + 4 * e, t < 2 ? (void *)&whole : (void *)&real, 4);
		}
		memory_push(&list->memory[t]);
		list->tensors[t] = (choir_tensor){ list->memory[t].buffer, list->memory[t].buffer, count,
			                           t < 2 ? CHOIR_I32 : CHOIR_F32 };
	}
}

static void free_list(struct list *list)
{
	for (int t = 0; t < TENSORS; t++)
		memory_free(&list->memory[t]);
}

static bool list_is(struct list *list, int n, int times)
{
	bool right = true;

	for (int t = 0; t < TENSORS; t++) {
		memory_pull(&list->memory[t]);
		right &= memory_sentinels_stand(&list->memory[t]);
		for (size_t e = 0; e < list->tensors[t].count; e++) {
			int32_t sum = n * ((int32_t)(e % 100) + t) + n * (n - 1) / 2, whole;
			float real;

			for (int again = 1; again < times; again++)
				sum *= n;
			memcpy(&whole, memory_payload(&list->memory[t]) + 4 * e, 4);
			memcpy(&real, &whole, 4);
			right &= t < 2 ? whole == sum : real == (float)sum;
		}
	}
	return right;
}

/* Lists of several buckets, and kept calls, which find the result of the start before as their input. */
static void lists_and_kept(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request;
	choir_event *event;
	struct list list;

	(void)arg;
	call.options = "result=atomic, bucket_bytes=9000";
	make_list(&list, world->device, rank);
	OK(choir_allreduce_multi(comm, list.tensors, TENSORS, CHOIR_OP_SUM, &call, NULL));
	CHECK(list_is(&list, world->n, 1));
	if (OK(choir_allreduce_multi(comm, list.tensors, TENSORS, CHOIR_OP_SUM, &call, &event))) {
		OK(choir_event_wait(event, -1));
		choir_event_release(event);
	}
	CHECK(list_is(&list, world->n, 2));
	if (OK(choir_allreduce_multi_init(comm, list.tensors, TENSORS, CHOIR_OP_SUM, &call, &request))) {
		OK(choir_start(request, NULL, NULL));
		choir_request_free(request);
	}
	CHECK(list_is(&list, world->n, 3));
	for (int t = 0; t < TENSORS; t++) {
		choir_tensor *one = &list.tensors[t];

		if (!OK(choir_allreduce_init(comm, one->send, one->recv, one->count, one->dtype, CHOIR_OP_MAX, &call,
		                             &request)))
			continue;
		for (int k = 0; k < 3; k++)
			OK(choir_start(request, NULL, NULL));
		choir_request_free(request);
	}
	CHECK(list_is(&list, world->n, 3));
	free_list(&list);
}

/* Blocks of a list of one, the last ones shorter: nothing behind the result is written. */
static void padded(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	int32_t send[7] = { 1, 2, 3, 4, 5, 6, 7 }, part[8], whole[8] = { 0, 0, 0, 0, 0, 0, 0, -1 };
	int n = world->n, block = (7 + n - 1) / n;

	(void)arg;
	call.options = atomic;
	part[block] = -1;
	OK(choir_reduce_scatter_padded(comm, choir_host(send), choir_host(part), 7, CHOIR_I32, CHOIR_OP_SUM, &call,
	                               NULL));
	for (int e = 0; e < block; e++)
		CHECK(part[e] == (rank * block + e < 7 ? n * (rank * block + e + 1) : 0));
	OK(choir_allgather_padded(comm, choir_host(part), choir_host(whole), 7, CHOIR_I32, &call, NULL));
	for (int e = 0; e < 7; e++)
		CHECK(whole[e] == n * (e + 1));
	CHECK(part[block] == -1 && whole[7] == -1);
}

static void test_lists(void **state)
{
	(void)state;
	for (int n = 1; n <= 5; n += 2)
		for (int per_node = 0; per_node < (n > 1 ? 2 : 1); per_node++)
			world_run_at(n, per_node, 30000, lists_and_kept, NULL);
	world_run_at(3, 0, 30000, padded, NULL);
	world_run_at(5, 1, 30000, padded, NULL);
}

/* --- it fails --- */

enum { DEADLINE_MS = 100, PATIENCE_MS = 6400 };

struct failing {
	int what, missing;
	bool device;
	_Atomic int failed;  /* ranks */
	_Atomic int changed; /* of them: their memory is not as it was */
	const char *options;
};

/* All but one rank make the call, and some of them wait for that one until the deadline. */
static void without_one(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct failing *failing = arg;
	struct dense_call c = { .what = &collectives[failing->what],
		                .dtype = CHOIR_F32,
		                .op = CHOIR_OP_SUM,
		                .count = 20000,
		                .n = world->n,
		                .in_place = true,
		                .device = failing->device,
		                .options = failing->options };
	struct dense_flight flight;
	unsigned char *before;

	if (rank == failing->missing)
		return;
	flight_make(&flight, world, rank, &c);
	before = malloc(flight.send.bytes + 1);
	memcpy(before, memory_payload(&flight.send), flight.send.bytes);
	if (flight_call(&flight, comm, NULL, NULL) != CHOIR_SUCCESS) {
		memory_pull(&flight.send);
		failing->failed++;
		failing->changed += memcmp(before, memory_payload(&flight.send), flight.send.bytes) != 0;
		CHECK(memory_sentinels_stand(&flight.send));
	}
	free(before);
	flight_free(&flight);
}

static struct failing fail_each(int what, const char *options, bool device, int64_t deadline_ms)
{
	struct failing failing = { .what = what, .device = device, .options = options };

	for (int k = 0; k < 2; k++) {
		failing.missing = 2 * k;
		world_run_at(3, 1, deadline_ms, without_one, &failing);
	}
	return failing;
}

/* Algorithms that change the input before the missing rank's part is there; the other collectives have none. */
static const struct {
	const char *collective, *atomic, *without;
} early[] = {
	{ "allreduce", "result=atomic, algorithm=recursive_doubling", "algorithm=recursive_doubling" },
	{ "allgather", "result=atomic, algorithm=broadcast", "algorithm=broadcast" },
	{ "allgatherv", "result=atomic, algorithm=ring", "algorithm=ring" },
	{ "alltoall", "result=atomic, algorithm=pairwise", "algorithm=pairwise" },
	{ "reduce", "result=atomic, algorithm=binomial", "algorithm=binomial" },
	{ "gather", "result=atomic, algorithm=linear", "algorithm=linear" },
	{ "gatherv", "result=atomic, algorithm=linear", "algorithm=linear" },
};
enum { N_EARLY = sizeof early / sizeof *early };

static int early_of(int what)
{
	int i = 0;

	while (i < N_EARLY && strcmp(early[i].collective, collectives[what].name) != 0)
		i++;
	return i;
}

static void stands(int what, const char *options, bool device)
{
	struct failing failing = fail_each(what, options, device, DEADLINE_MS);

	if (failing.failed == 0 || failing.changed > 0)
		fail_msg("%s: on %d ranks it failed, on %d of them the input changed", collectives[what].name,
		         failing.failed, failing.changed);
}

/* On a busy machine the parts that change the input may come late. */
static bool changes(int what, const char *options)
{
	for (int64_t ms = DEADLINE_MS; ms <= PATIENCE_MS; ms *= 4)
		if (fail_each(what, options, false, ms).changed > 0)
			return true;
	return false;
}

/* The input that changes without the option is in host memory: a cl_mem of class stage is written last anyway. */
static void test_failures(void **state)
{
	int n_early = 0;

	(void)state;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		int i = early_of(what);

		if (!collectives[what].in_place)
			continue;
		stands(what, i < N_EARLY ? early[i].atomic : atomic, what % 2);
		if (i == N_EARLY)
			continue;
		stands(what, early[i].atomic, !(what % 2));
		if (!changes(what, early[i].without))
			fail_msg("%s: without result=atomic the input did not change either", collectives[what].name);
		n_early++;
	}
	assert_int_equal(n_early, N_EARLY);
}

/* By an algorithm that changes the input early. */
static void list_without_one(struct world *world, int rank, choir_comm *comm, void *changed_p)
{
	choir_call call = CHOIR_CALL_INIT;
	_Atomic int *changed = changed_p;
	struct list list, before;

	if (rank == world->n - 1)
		return;
	call.options = changed != NULL ? "bucket_bytes=9000, algorithm=recursive_doubling"
	                               : "result=atomic, bucket_bytes=9000, algorithm=recursive_doubling";
	make_list(&list, world->device, rank);
	make_list(&before, world->device, rank);
	CHECK(choir_allreduce_multi(comm, list.tensors, TENSORS, CHOIR_OP_SUM, &call, NULL) != CHOIR_SUCCESS);
	for (int t = 0; t < TENSORS; t++) {
		bool same;

		memory_pull(&list.memory[t]);
		same = memcmp(memory_payload(&list.memory[t]), memory_payload(&before.memory[t]),
		              before.memory[t].bytes) == 0;
		if (changed != NULL)
			*changed += !same;
		else
			CHECK(same);
	}
	free_list(&list);
	free_list(&before);
}

static void test_failing_list(void **state)
{
	_Atomic int changed = 0;

	(void)state;
	world_run_at(3, 1, DEADLINE_MS, list_without_one, NULL);
	world_run_at(3, 0, DEADLINE_MS, list_without_one, NULL);
	for (int64_t ms = DEADLINE_MS; changed == 0 && ms <= PATIENCE_MS; ms *= 4)
		world_run_at(3, 1, ms, list_without_one, &changed);
	assert_true(changed > 0);
}

/* --- misuse --- */

static void misuse(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_call call = CHOIR_CALL_INIT;
	float value[4] = { 1, 2, 3, 4 };
	size_t counts[1] = { 2 };

	(void)arg;
	call.options = "result=atomicc";
	SAYS(choir_allreduce(comm, choir_host(value), choir_host(value), 4, CHOIR_F32, CHOIR_OP_SUM, &call, NULL),
	     CHOIR_ARGUMENT, "option result is 'atomicc'|auto, atomic");
	call.options = atomic;
	SAYS(choir_allreduce(comm, choir_host(value), choir_host(value + 1), 3, CHOIR_F32, CHOIR_OP_SUM, &call, NULL),
	     CHOIR_ARGUMENT, "overlap");
	SAYS(choir_allreduce(comm, choir_host(value), choir_none(), 3, CHOIR_F32, CHOIR_OP_SUM, &call, NULL),
	     CHOIR_ARGUMENT, "recv buffer: none is given");
	SAYS(choir_alltoallv(comm, choir_host(value), counts, NULL, choir_host(value + 2), counts, NULL, CHOIR_F32,
	                     &call, NULL),
	     CHOIR_ARGUMENT, "result=atomic|in place");
	SAYS(choir_send(comm, choir_host(value), 1, CHOIR_F32, 0, &call, NULL), CHOIR_ARGUMENT,
	     "result=atomic|in place");
	SAYS(choir_barrier(comm, &call, NULL), CHOIR_SUCCESS, "");
	CHECK(value[0] == 1 && value[3] == 4);
}

static void test_misuse(void **state)
{
	(void)state;
	world_run_at(1, 0, 30000, misuse, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),       cmocka_unit_test(test_lists),  cmocka_unit_test(test_failures),
		cmocka_unit_test(test_failing_list), cmocka_unit_test(test_misuse),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
