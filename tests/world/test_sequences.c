/* SPDX-License-Identifier: MIT */
/* Recorded sequences. */
#include "world/chained.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STARTS = 5 };

/* The ranks' halves sum, twice by the same request, and all ranks scan in reverse order between: each request reads
 * what the one before it wrote, on another comm. */
static void any_comms(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int n = world->n, of_mine = (n + 1 - rank % 2) / 2; /* ranks */
	int64_t mine = 0, scanned = 0, wanted = 0, half = 0;
	choir_comm *alike = NULL, *reverse = NULL;
	choir_request *sum = NULL, *scan = NULL, *requests[4];
	choir_sequence *sequence = NULL;

	(void)arg;
	OK(choir_comm_split(comm, rank % 2, 0, &alike));
	OK(choir_comm_split(comm, 0, -rank, &reverse));
	OK(choir_allreduce_init(alike, choir_host(&mine), choir_host(&mine), 1, CHOIR_I64, CHOIR_OP_SUM, NULL, &sum));
	OK(choir_scan_init(reverse, choir_host(&mine), choir_host(&scanned), 1, CHOIR_I64, CHOIR_OP_SUM, NULL, &scan));
	requests[0] = requests[1] = requests[3] = sum;
	requests[2] = scan;
	OK(choir_sequence_create(requests, 4, &sequence));
	for (int start = 0; start < STARTS && sequence != NULL; start++) {
		choir_event *event = NULL;

		mine = rank + start;
		OK(choir_sequence_start(sequence, NULL, start % 2 == 0 ? NULL : &event));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		wanted = half = 0;
		for (int r = n - 1; r >= 0; r--) {
			int64_t of_half = 0;

			for (int other = r % 2; other < n; other += 2)
				of_half += other + start;
			half = r == rank ? of_half : half;
			wanted += r >= rank ? of_half * ((n + 1 - r % 2) / 2) : 0;
		}
		CHECK(scanned == wanted && mine == half * of_mine * of_mine);
	}
	choir_sequence_free(sequence);
	choir_request_free(sum);
	choir_request_free(scan);
	choir_comm_destroy(alike);
	choir_comm_destroy(reverse);
}

static void refuses(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_request *request = NULL, *none[2];
	choir_sequence *sequence = NULL;
	choir_call call = CHOIR_CALL_INIT;

	(void)arg;
	OK(choir_barrier_init(comm, NULL, &request));
	none[0] = request;
	none[1] = NULL;
	SAYS(choir_sequence_create(none, 2, &sequence), CHOIR_ARGUMENT, "requests[1] is null");
	SAYS(choir_sequence_create(none, 0, &sequence), CHOIR_ARGUMENT, "0 requests");
	SAYS(choir_sequence_create(NULL, 1, &sequence), CHOIR_ARGUMENT, "null");
	SAYS(choir_sequence_start(NULL, NULL, NULL), CHOIR_ARGUMENT, "null sequence");
	OK(choir_sequence_create(&request, 1, &sequence));
	call.options = "algorithm=flags";
	SAYS(choir_sequence_start(sequence, &call, NULL), CHOIR_ARGUMENT, "request 0 of 1|options");
	OK(choir_comm_abort(comm));
	IS(choir_sequence_start(sequence, NULL, NULL), CHOIR_ABORTED);
	choir_sequence_free(sequence);
	choir_sequence_free(NULL);
	choir_request_free(request);
}

static void test_sequences(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			world_run_at(sizes[i], per_node, 60000, chained, NULL);
			world_run_at(sizes[i], per_node, 60000, any_comms, NULL);
		}
	world_run_at(1, 0, 30000, refuses, NULL);
}

/* One thread drives both ranks: a blocking start would wait for a call that nobody makes, unless the other rank is
 * ahead. */
static void test_would_deadlock(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_request *barriers[2], *twice[2], *others[2];
	choir_comm *alone;
	choir_sequence *one, *two, *behind; /* another comm's first */
	choir_event *event;
	struct world world;

	(void)state;
	config.deadline_ms = 30000;
	world_begin(&world, 2, &config);
	for (int i = 0; i < 2; i++)
		assert_int_equal(choir_barrier_init(world.comms[i], NULL, &barriers[i]), CHOIR_SUCCESS);
	twice[0] = twice[1] = others[1] = barriers[0];
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &alone), CHOIR_SUCCESS);
	assert_int_equal(choir_barrier_init(alone, NULL, &others[0]), CHOIR_SUCCESS);
	assert_int_equal(choir_sequence_create(others, 2, &behind), CHOIR_SUCCESS);
	assert_int_equal(choir_sequence_create(twice, 1, &one), CHOIR_SUCCESS);
	assert_int_equal(choir_sequence_create(twice, 2, &two), CHOIR_SUCCESS);
	assert_int_equal(choir_start(barriers[1], NULL, &event), CHOIR_SUCCESS);
	assert_int_equal(choir_sequence_start(two, NULL, NULL), CHOIR_WOULD_DEADLOCK);
	assert_true(says(choir_last_error(), "choir_sequence_start|rank 0 would block for rank 1"));
	assert_int_equal(choir_sequence_start(one, NULL, NULL), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
	choir_event_release(event);
	assert_int_equal(choir_sequence_start(one, NULL, NULL), CHOIR_WOULD_DEADLOCK);
	assert_int_equal(choir_sequence_start(behind, NULL, NULL), CHOIR_WOULD_DEADLOCK);
	assert_int_equal(choir_comm_status(world.comms[0]), CHOIR_SUCCESS);
	choir_sequence_free(one);
	choir_sequence_free(two);
	choir_sequence_free(behind);
	for (int i = 0; i < 2; i++)
		choir_request_free(barriers[i]);
	choir_request_free(others[0]);
	choir_comm_destroy(alone);
	world_end(&world);
}

/* A choir_call that ends before its deps: the requests are chained all the same. */
static void test_short_call(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_call call = CHOIR_CALL_INIT;
	int32_t first = 1, others = 1, second = 0, third = 0;
	choir_request *requests[2];
	choir_sequence *sequence;
	choir_event *event;
	struct world world;
	choir_comm *alone;
	int done;

	(void)state;
	config.deadline_ms = 30000;
	world_begin(&world, 2, &config);
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &alone), CHOIR_SUCCESS);
	assert_int_equal(choir_allreduce_init(world.comms[0], choir_host(&first), choir_host(&second), 1, CHOIR_I32,
	                                      CHOIR_OP_SUM, NULL, &requests[0]),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_allreduce_init(alone, choir_host(&second), choir_host(&third), 1, CHOIR_I32,
	                                      CHOIR_OP_SUM, NULL, &requests[1]),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_sequence_create(requests, 2, &sequence), CHOIR_SUCCESS);
	call.struct_size = offsetof(choir_call, deps);
	assert_int_equal(choir_sequence_start(sequence, &call, &event), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, 20), CHOIR_TIMEOUT);
	assert_int_equal(choir_event_test(event, &done), CHOIR_SUCCESS);
	assert_false(done);
	assert_int_equal(choir_allreduce(world.comms[1], choir_host(&others), choir_host(&others), 1, CHOIR_I32,
	                                 CHOIR_OP_SUM, NULL, NULL),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
	assert_int_equal(third, 2);
	choir_event_release(event);
	choir_sequence_free(sequence);
	for (int i = 0; i < 2; i++)
		choir_request_free(requests[i]);
	choir_comm_destroy(alone);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sequences), cmocka_unit_test(test_would_deadlock),
		                            cmocka_unit_test(test_short_call) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
