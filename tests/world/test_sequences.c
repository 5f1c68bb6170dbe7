/* SPDX-License-Identifier: MIT */
/* Recorded sequences. */
#include "world/chained.h"
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sequences) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
