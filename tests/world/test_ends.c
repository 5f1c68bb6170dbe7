/* SPDX-License-Identifier: MIT */
/* How comms end: with calls that cannot, in a forked child, on several threads at once. */
#include "world/gate.h"

#include "exec/comm.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 2000 };

/* Calls that will never end: destroy waits for the deadline, then aborts; events tell it; any order of ranks. */
static void test_destroy_unfinished(void **state)
{
	(void)state;
	for (size_t l = 0; l < 2; l++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world;
		struct sum sums[2];
		cl_event gate = gate_make(choir_device_context(world_device()));
		choir_call call = CHOIR_CALL_INIT;

		config.ranks_per_node = (int)l;
		config.deadline_ms = 20000;
		call.cl_deps = &gate;
		call.n_cl_deps = 1;
		world_begin(&world, 3, &config);
		assert_int_equal(sum_start(&sums[0], world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
		assert_int_equal(sum_start(&sums[1], world.comms[1], COUNT, 1, &call, true), CHOIR_SUCCESS);
		world.comms[1]->deadline_ms = 200; /* that of the destruction, not of the calls, which may begin late */
		assert_int_equal(choir_comm_destroy(world.comms[1]), CHOIR_TIMEOUT);
		assert_true(says(choir_last_error(), "rank"));
		assert_int_equal(choir_event_wait(sums[1].event, -1), CHOIR_TIMEOUT);
		assert_int_equal(choir_event_wait(sums[0].event, -1), CHOIR_TIMEOUT);
		world.comms[1] = NULL;
		gate_open(gate, CL_COMPLETE);
		clReleaseEvent(gate);
		world_end(&world);
		sum_free(&sums[0]);
		sum_free(&sums[1]);
	}
}

/* A call of the child's own does not wait for an event of the parent. */
static bool refuses_dep(choir_event *event)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_device *device;
	choir_comm *own;
	struct sum sum;
	bool refused;

	if (choir_device_create_host(&device) != CHOIR_SUCCESS ||
	    choir_comm_create_local(1, &device, NULL, &own) != CHOIR_SUCCESS)
		return false;
	call.deps = &event;
	call.n_deps = 1;
	refused = sum_start(&sum, own, COUNT, 1, &call, true) == CHOIR_ARGUMENT && says(choir_last_error(), "fork") &&
	          sum_works(own, COUNT);
	return choir_comm_destroy(own) == CHOIR_SUCCESS && refused;
}

/* In a forked child every handle of the parent answers with an error, and nothing of the parent's is touched. */
static void in_child(struct world *world, choir_event *event)
{
	struct sum sum;
	int done;

	if (choir_barrier(world->comms[0], NULL, NULL) != CHOIR_ARGUMENT || !says(choir_last_error(), "fork"))
		_exit(1);
	if (sum_start(&sum, world->comms[0], COUNT, 1, NULL, true) != CHOIR_ARGUMENT)
		_exit(2);
	if (choir_event_wait(event, -1) != CHOIR_ARGUMENT || choir_event_test(event, &done) != CHOIR_ARGUMENT ||
	    !says(choir_last_error(), "fork"))
		_exit(3);
	if (choir_comm_abort(world->comms[0]) != CHOIR_ARGUMENT || choir_comm_status(world->comms[0]) != CHOIR_ARGUMENT)
		_exit(4);
	if (!refuses_dep(event))
		_exit(6);
	if (choir_comm_split(world->comms[0], 0, 0, &world->comms[1]) != CHOIR_ARGUMENT ||
	    choir_comm_destroy(world->comms[0]) != CHOIR_ARGUMENT)
		_exit(5);
	choir_event_release(event);
	_exit(0);
}

static void test_fork(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;
	struct sum sums[2], again[2];
	pid_t child;
	int status;

	(void)state;
	config.deadline_ms = 20000;
	world_begin(&world, 2, &config);
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&sums[r], world.comms[r], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	child = fork();
	if (child == 0)
		in_child(&world, sums[0].event);
	assert_true(waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	for (int r = 0; r < 2; r++)
		assert_int_equal(sum_start(&again[r], world.comms[r], COUNT, 3, NULL, true), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(choir_event_wait(sums[r].event, -1), CHOIR_SUCCESS);
		assert_int_equal(choir_event_wait(again[r].event, -1), CHOIR_SUCCESS);
		assert_true(sum_is(&sums[r], 2) && sum_is(&again[r], 2));
		sum_free(&sums[r]);
		sum_free(&again[r]);
	}
	world_end(&world);
}

/* Comms come and go on several threads: the last one to go stops the background thread while the next one starts it. */
static void *come_and_go(void *failed)
{
	bool *any = failed;
	choir_device *device = world_device();

	for (int i = 0; i < 60; i++) {
		choir_comm *comm;
		struct sum sum;

		if (choir_comm_create_local(1, &device, NULL, &comm) != CHOIR_SUCCESS ||
		    sum_start(&sum, comm, 10, 1, NULL, true) != CHOIR_SUCCESS)
			*any = true;
		if (choir_comm_destroy(comm) != CHOIR_SUCCESS || choir_event_wait(sum.event, -1) != CHOIR_SUCCESS ||
		    !sum_is(&sum, 1))
			*any = true;
		sum_free(&sum);
	}
	return NULL;
}

static void test_come_and_go(void **state)
{
	pthread_t threads[3];
	bool failed[3] = { false };

	(void)state;
	world_device();
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &failed[i]), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_false(failed[i]);
	}
}

/* --- calls that only send --- */

enum { MOST_CALLS = 1000 }; /* until the farewell is seen, which has left before the first of them */

static choir_status broadcast_some(choir_comm *comm, int *some)
{
	return choir_broadcast(comm, choir_host(some), choir_none(), COUNT, CHOIR_I32, 0, NULL, NULL);
}

static choir_status scan_some(choir_comm *comm, int *some)
{
	static int none[COUNT];

	return choir_exscan(comm, choir_host(some), choir_host(none), COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
}

static choir_status send_some(choir_comm *comm, int *some)
{
	return choir_send(comm, choir_host(some), COUNT, CHOIR_I32, 1, NULL, NULL);
}

static choir_status send_event(choir_comm *comm, int *some)
{
	choir_event *event = NULL;
	choir_status st = choir_send(comm, choir_host(some), COUNT, CHOIR_I32, 1, NULL, &event);

	st = st == CHOIR_SUCCESS ? choir_event_wait(event, -1) : st;
	choir_event_release(event);
	return st;
}

/* Rank 0 waits for nobody in its calls, and learns that rank 1 has gone all the same. */
static void only_send(struct world *world, int rank, choir_comm *comm, void *form)
{
	choir_status (*call)(choir_comm *, int *) = *(choir_status(**)(choir_comm *, int *))form;
	static int some[COUNT];
	choir_status st = CHOIR_SUCCESS;

	if (rank == 1) {
		world->comms[1] = NULL;
		OK(choir_comm_destroy(comm));
	}
	line_up();
	for (int i = 0; i < MOST_CALLS && rank == 0 && st == CHOIR_SUCCESS; i++)
		st = call(comm, some);
	if (rank == 0)
		SAYS(st, CHOIR_ABORTED, "waits for rank 1, which destroyed its comm before its first collective call");
}

static void test_only_send(void **state)
{
	choir_status (*forms[])(choir_comm *, int *) = { broadcast_some, scan_some, send_some, send_event };

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		for (int per_node = 0; per_node <= 1; per_node++)
			line_up_run(2, per_node, 60000, only_send, &forms[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_destroy_unfinished),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_come_and_go),
		cmocka_unit_test(test_only_send),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
