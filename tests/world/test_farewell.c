/* SPDX-License-Identifier: MIT */
/* A send that no longer reaches its rank: what that rank said before it went counts, though nobody has looked at it
 * yet. */
#include "exec/comm_list.h"
#include "exec/engine.h"
#include "lib/ranks.h"
#include "net/hub.h"
#include "world/gate.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 2000 };

static void both_call(struct world *world)
{
	struct sum sums[2];

	for (int rank = 0; rank < 2; rank++)
		assert_int_equal(sum_start(&sums[rank], world->comms[rank], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	for (int rank = 0; rank < 2; rank++) {
		assert_int_equal(choir_event_wait(sums[rank].event, -1), CHOIR_SUCCESS);
		sum_free(&sums[rank]);
	}
}

static void test_said_before(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct hub_faults faults = { .dead = true, .dead_endpoint = 1, .refuses = true };
	struct world world;
	struct engine *engine;
	struct sum sum;

	(void)state;
	config.ranks_per_node = 1;
	config.deadline_ms = 30000;
	world_begin(&world, 2, &config);
	both_call(&world);
	engine = &world.comms[0]->engine;
	while (!engine_enter(engine)) /* rank 0 looks at no message from here on */
		sched_yield();
	assert_int_equal(choir_comm_destroy(world.comms[1]), CHOIR_SUCCESS);
	world.comms[1] = NULL;
	hub_set_faults(hub_of(messenger_transport(world.comms[0]->messenger)), &faults);
	assert_int_equal(sum_start(&sum, world.comms[0], COUNT, 1, NULL, true), CHOIR_SUCCESS);
	engine_leave(engine);
	assert_int_equal(choir_event_wait(sum.event, -1), CHOIR_ABORTED);
	assert_true(says(choir_last_error(), "waits for rank 1, which destroyed its comm after allreduce #0 (2000 x"));
	sum_free(&sum);
	world_end(&world);
}

/* --- a comm so large that a rank tells some others only --- */

enum { RANKS = 66, GONE = 3, SENT = 2, TAG = 5, SOON_MS = 20000 };

static void exchange(choir_comm *comm, bool sends, int64_t tag, choir_status wanted)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	int number = 7;

	call.tag = tag;
	if (sends)
		assert_int_equal(choir_send(comm, choir_host(&number), 1, CHOIR_I32, 0, &call, &event), CHOIR_SUCCESS);
	else
		assert_int_equal(choir_recv(comm, choir_host(&number), 1, CHOIR_I32, GONE, &call, &event),
		                 CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, SOON_MS), wanted);
	choir_event_release(event);
}

/* Rank 0 receives what rank 3 has sent before it went, and one message more, of that tag.  Rank 3 tells ranks 2 and 4,
 * 1 and 5, and so on; these pass it on. */
static void waits_for_more(int64_t tag)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct world world;

	config.ranks_per_node = 1;
	config.deadline_ms = 120000;
	world_begin(&world, RANKS, &config);
	for (int k = 0; k < SENT; k++)
		exchange(world.comms[GONE], true, tag, CHOIR_SUCCESS);
	assert_int_equal(choir_comm_destroy(world.comms[GONE]), CHOIR_SUCCESS);
	world.comms[GONE] = NULL;
	for (int k = 0; k < SENT; k++)
		exchange(world.comms[0], false, tag, CHOIR_SUCCESS);
	exchange(world.comms[0], false, tag, CHOIR_ABORTED);
	assert_true(says(choir_last_error(), "rank 0: send/recv #2|waits for rank 3, which destroyed its comm before"));
	world_end(&world);
}

static void test_passed_on(void **state)
{
	(void)state;
	waits_for_more(0);
	waits_for_more(TAG);
}

/* --- exit() while a thread has the list of comms --- */

enum holder { NOBODY, ANOTHER_BRIEFLY, ANOTHER_FOR_EVER, THE_THREAD_ITSELF };

static _Atomic int *n_said; /* farewells; in memory of parent and child */
static sem_t is_held, may_go;
static bool goes;

bool __real_comm_list_trylock(void);
bool __wrap_comm_list_trylock(void);

/* The holder goes once the end of the process has found the list held. */
bool __wrap_comm_list_trylock(void)
{
	bool has_it = __real_comm_list_trylock();

	if (goes)
		sem_post(&may_go);
	return has_it;
}

choir_status __real_comm_send(struct choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                              size_t bytes);
choir_status __wrap_comm_send(struct choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                              size_t bytes);

choir_status __wrap_comm_send(struct choir_comm *comm, int rank, struct wire_header *header, const void *payload,
                              size_t bytes)
{
	if (n_said != NULL && header->kind == WIRE_GONE)
		atomic_fetch_add(n_said, 1);
	return __real_comm_send(comm, rank, header, payload, bytes);
}

static void *hold(void *unused)
{
	(void)unused;
	comm_list_lock();
	sem_post(&is_held);
	while (sem_wait(&may_go) != 0)
		;
	comm_list_unlock();
	return NULL;
}

/* In the child: comms of host memory alone, each rank on a node of its own. */
static void end_with_comms(enum holder holder)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device, *devices[2];
	choir_comm *comms[2];
	pthread_t thread;

	config.ranks_per_node = 1;
	if (choir_device_create_host(&device) != CHOIR_SUCCESS)
		_exit(1);
	devices[0] = devices[1] = device;
	if (choir_comm_create_local(2, devices, &config, comms) != CHOIR_SUCCESS)
		_exit(2);
	sem_init(&is_held, 0, 0);
	sem_init(&may_go, 0, 0);
	goes = holder == ANOTHER_BRIEFLY;
	if (holder == THE_THREAD_ITSELF)
		comm_list_lock();
	if (holder == ANOTHER_BRIEFLY || holder == ANOTHER_FOR_EVER) {
		if (pthread_create(&thread, NULL, hold, NULL) != 0)
			_exit(3);
		pthread_detach(thread);
		while (sem_wait(&is_held) != 0)
			;
	}
	exit(0);
}

static void test_said_at_the_end(void **state)
{
	static const int wanted[] = {
		[NOBODY] = 2, [ANOTHER_BRIEFLY] = 2, [ANOTHER_FOR_EVER] = 0, [THE_THREAD_ITSELF] = 0
	};

	(void)state;
	n_said = mmap(NULL, sizeof *n_said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(n_said != MAP_FAILED);
	for (enum holder holder = NOBODY; holder <= THE_THREAD_ITSELF; holder++) {
		pid_t child;
		int status;

		*n_said = 0;
		child = fork();
		if (child == 0)
			end_with_comms(holder);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		assert_int_equal(*n_said, wanted[holder]);
	}
	munmap((void *)n_said, sizeof *n_said);
	n_said = NULL;
}

int main(void)
{
	/* the first forks, before there are threads */
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_said_at_the_end), cmocka_unit_test(test_said_before),
		                            cmocka_unit_test(test_passed_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
