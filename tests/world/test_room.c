/* SPDX-License-Identifier: MIT */
/* Calls that only send, to a process that takes no messages: Note [room] in net/sends.h. */
#include "exec/comm.h"
#include "world/processes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

/* The sanitizers' own memory grows with that of the program, and stays. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MOST_KB = 1000000 };
#else
enum { MOST_KB = 100000 };
#endif
enum { SHORT_COUNT = 2048, MESSAGES = 6144, MIB_COUNT = 1 << 18 };
enum { DEADLINE_MS = 1000, LONGEST_MS = 30000, LONG_MS = 60000 };

/* The process of that rank; all call it. */
static pid_t pid_of(const struct rank *me, int rank)
{
	pid_t mine = getpid(), all[RANKS_MOST];

	meeting_gather(me->meeting, me->rank, &mine, sizeof mine, all);
	return all[rank];
}

enum way { SENDS, EVENT_SENDS, BROADCASTS, EXSCANS, WAYS };

static choir_status send_once(choir_comm *comm, enum way way)
{
	static int32_t some[SHORT_COUNT], none[SHORT_COUNT];
	choir_event *event = NULL;
	choir_status st;

	switch (way) {
	case BROADCASTS:
		return choir_broadcast(comm, choir_host(some), choir_none(), SHORT_COUNT, CHOIR_I32, 0, NULL, NULL);
	case EXSCANS:
		return choir_exscan(comm, choir_host(some), choir_host(none), SHORT_COUNT, CHOIR_I32, CHOIR_OP_SUM,
		                    NULL, NULL);
	case EVENT_SENDS:
		st = choir_send(comm, choir_host(some), SHORT_COUNT, CHOIR_I32, 1, NULL, &event);
		return world_wait(st, event);
	default:
		return choir_send(comm, choir_host(some), SHORT_COUNT, CHOIR_I32, 1, NULL, NULL);
	}
}

static int64_t most_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Until a call fails, but not for ever.  *last_ms: how long the last one took; *more_kb: what memory grew by. */
static choir_status send_on(choir_comm *comm, enum way way, int64_t *last_ms, int64_t *more_kb)
{
	int64_t start = rank_now_ms(), end = start + LONGEST_MS, kb = most_kb();
	choir_status st = CHOIR_SUCCESS;

	for (*more_kb = 0; st == CHOIR_SUCCESS && start < end && *more_kb < MOST_KB; *more_kb = most_kb() - kb) {
		start = rank_now_ms();
		st = send_once(comm, way);
		*last_ms = rank_now_ms() - start;
	}
	return st;
}

/* Rank 1's process stops outside the library: rank 0 says so by its deadline, and its memory holds. */
static void stopped(const struct rank *me, int what)
{
	int64_t last_ms, more_kb;
	choir_comm *comm;
	pid_t peer;

	processes_create(me, 1, what / WAYS, DEADLINE_MS, &comm);
	peer = pid_of(me, 1);
	if (me->rank == 1)
		raise(SIGSTOP);
	MUST(send_on(comm, (enum way)(what % WAYS), &last_ms, &more_kb) == CHOIR_TIMEOUT);
	MUST(says(choir_last_error(), "waits for rank 1"));
	MUST(last_ms < 15 * DEADLINE_MS && more_kb < MOST_KB); /* a loaded machine needs some of it */
	kill(peer, SIGKILL);
	choir_comm_destroy(comm);
}

static void test_stopped(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++)
		processes_run(2, way + WAYS, stopped, 1);
	processes_run(2, SENDS, stopped, 1);
	processes_run(2, EVENT_SENDS, stopped, 1);
}

/* The process goes on while rank 0 waits for room: all arrives.  The messages are short enough to need no credit. */
static void goes_on(const struct rank *me, int per_node)
{
	enum { COUNT = MIB_COUNT, SENT = 64, STUCK_MS = 100 };
	choir_event *events[SENT];
	choir_comm *comm;
	int32_t *data = calloc((size_t)SENT * COUNT, sizeof *data);
	pid_t peer;

	MUST(data != NULL);
	processes_create(me, 1, per_node, LONG_MS, &comm);
	peer = pid_of(me, 1);
	for (int i = 0; i < SENT * COUNT && me->rank == 0; i++)
		data[i] = i * 7;
	if (me->rank == 0) {
		kill(peer, SIGSTOP);
		for (int m = 0; m < SENT; m++)
			MUST(choir_send(comm, choir_host(data + m * COUNT), COUNT, CHOIR_I32, 1, NULL, &events[m]) ==
			     CHOIR_SUCCESS);
		MUST(choir_event_wait(events[SENT - 1], STUCK_MS) == CHOIR_TIMEOUT);
		kill(peer, SIGCONT);
	}
	meeting_wait(me->meeting);
	for (int m = 0; m < SENT; m++)
		MUST((me->rank == 0 ? world_wait(CHOIR_SUCCESS, events[m])
		                    : choir_recv(comm, choir_host(data + m * COUNT), COUNT, CHOIR_I32, 0, NULL,
		                                 NULL)) == CHOIR_SUCCESS);
	for (int i = 0; i < SENT * COUNT; i++)
		MUST(data[i] == i * 7);
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	free(data);
}

static void test_goes_on(void **state)
{
	(void)state;
	processes_run(2, 0, goes_on, -1);
	processes_run(2, 1, goes_on, -1);
}

/* Starts sends to rank 1 until one is stuck, which the caller releases.  *n_p: how many, with that one. */
static choir_event *fill_room(const struct rank *me, choir_comm *comm, int32_t *data, int32_t *n_p)
{
	enum { STUCK_MS = 500, MOST = 100 };
	choir_event *event = NULL;

	for (*n_p = 1; *n_p <= MOST; ++*n_p) {
		MUST(choir_send(comm, choir_host(data), MIB_COUNT, CHOIR_I32, 1, NULL, &event) == CHOIR_SUCCESS);
		/* where this thread stood still within the first wait, the second one sees the send end */
		if (choir_event_wait(event, STUCK_MS) == CHOIR_TIMEOUT &&
		    choir_event_wait(event, STUCK_MS) == CHOIR_TIMEOUT)
			return event;
		MUST(choir_event_status(event) == CHOIR_SUCCESS);
		choir_event_release(event);
	}
	MUST(false);
	return NULL;
}

static void send_much(const struct rank *me, choir_comm *comm, int32_t *data)
{
	for (int m = 0; m < MESSAGES; m++) {
		data[0] = m;
		MUST(choir_send(comm, choir_host(data), SHORT_COUNT, CHOIR_I32, 1, NULL, NULL) == CHOIR_SUCCESS);
	}
}

static void recv_much(const struct rank *me, choir_comm *comm, int32_t *data, int32_t n_before)
{
	for (int i = 0; i < n_before; i++)
		MUST(choir_recv(comm, choir_host(data), MIB_COUNT, CHOIR_I32, 0, NULL, NULL) == CHOIR_SUCCESS);
	for (int m = 0; m < MESSAGES; m++) {
		MUST(choir_recv(comm, choir_host(data), SHORT_COUNT, CHOIR_I32, 0, NULL, NULL) == CHOIR_SUCCESS);
		for (int i = 1; i < SHORT_COUNT; i++)
			MUST(data[0] == m && data[i] == i);
	}
}

/* Rank 1 receives last what rank 0 sent first, of which it keeps more than there is room for. */
static void other_comm_first(const struct rank *me, int per_node)
{
	static int32_t data[MIB_COUNT];
	choir_comm *first, *second;
	choir_event *stuck;
	int32_t n_stuck = 0;
	pid_t peer;

	processes_create(me, 1, per_node, LONG_MS, &first);
	MUST(choir_comm_split(first, 0, 0, &second) == CHOIR_SUCCESS);
	peer = pid_of(me, 1);
	if (me->rank == 0) {
		for (int i = 0; i < MIB_COUNT; i++)
			data[i] = i;
		kill(peer, SIGSTOP);
		stuck = fill_room(me, first, data, &n_stuck);
		kill(peer, SIGCONT);
		MUST(world_wait(CHOIR_SUCCESS, stuck) == CHOIR_SUCCESS);
		send_much(me, first, data);
		MUST(choir_send(second, choir_host(&n_stuck), 1, CHOIR_I32, 1, NULL, NULL) == CHOIR_SUCCESS);
	} else {
		MUST(choir_recv(second, choir_host(&n_stuck), 1, CHOIR_I32, 0, NULL, NULL) == CHOIR_SUCCESS);
		recv_much(me, first, data, n_stuck);
	}
	MUST(choir_comm_destroy(second) == CHOIR_SUCCESS && choir_comm_destroy(first) == CHOIR_SUCCESS);
}

static void test_other_comm_first(void **state)
{
	(void)state;
	processes_run(2, 0, other_comm_first, -1);
	processes_run(2, 1, other_comm_first, -1);
}

/* Ranks 0 and 2, while a send to rank 1 lacks room: the others' calls, in the same comm too, go on. */
static void beside(const struct rank *me, int per_node)
{
	enum { ROUNDS = 20 };
	static int32_t data[MIB_COUNT];
	choir_comm *comm, *pair;
	choir_event *stuck = NULL;
	int32_t value = 0, n_stuck;
	pid_t peer;

	processes_create(me, 1, per_node, LONG_MS, &comm);
	MUST(choir_comm_split(comm, me->rank == 1, 0, &pair) == CHOIR_SUCCESS);
	peer = pid_of(me, 1);
	if (me->rank == 1)
		raise(SIGSTOP);
	if (me->rank == 0)
		stuck = fill_room(me, comm, data, &n_stuck);
	for (int i = 0; i < ROUNDS; i++) {
		MUST(sum_works(pair, 1000));
		value = i;
		if (me->rank == 0)
			MUST(choir_send(comm, choir_host(&value), 1, CHOIR_I32, 2, NULL, NULL) == CHOIR_SUCCESS);
		else
			MUST(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 0, NULL, NULL) == CHOIR_SUCCESS &&
			     value == i);
	}
	MUST(sum_works(pair, 10)); /* both are done before rank 1 is dead, for which rank 0's comm fails */
	if (me->rank == 0) {
		MUST(choir_event_status(stuck) == CHOIR_RUNNING);
		kill(peer, SIGKILL);
		MUST(world_wait(CHOIR_SUCCESS, stuck) == CHOIR_PEER_DEAD);
	}
	choir_comm_destroy(pair);
	choir_comm_destroy(comm);
}

static void test_beside(void **state)
{
	(void)state;
	processes_run(3, 0, beside, 1);
	processes_run(3, 1, beside, 1);
}

/* Rank 1 is not in the call either, but its process takes messages: rank 2, which is stopped, is the one to name. */
static void names_the_stopped(const struct rank *me, int none)
{
	int64_t last_ms, more_kb;
	choir_comm *comm, *two;
	int32_t value = 0;
	pid_t peer;

	(void)none;
	processes_create(me, 1, 1, LONG_MS, &comm);
	MUST(choir_comm_split(comm, me->rank == 2, 0, &two) == CHOIR_SUCCESS);
	peer = pid_of(me, 2);
	comm->deadline_ms = DEADLINE_MS;
	if (me->rank == 2)
		raise(SIGSTOP);
	if (me->rank == 1) {
		choir_call call = CHOIR_CALL_INIT;

		call.deadline_ms = LONG_MS;
		MUST(choir_recv(two, choir_host(&value), 1, CHOIR_I32, 0, &call, NULL) == CHOIR_SUCCESS);
	}
	if (me->rank == 0) {
		MUST(send_on(comm, BROADCASTS, &last_ms, &more_kb) == CHOIR_TIMEOUT &&
		     says(choir_last_error(), "waits for rank 2"));
		MUST(choir_send(two, choir_host(&value), 1, CHOIR_I32, 1, NULL, NULL) == CHOIR_SUCCESS);
		kill(peer, SIGKILL);
	}
	choir_comm_destroy(two);
	choir_comm_destroy(comm);
}

static void test_names_the_stopped(void **state)
{
	(void)state;
	processes_run(3, 0, names_the_stopped, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),           cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_other_comm_first),  cmocka_unit_test(test_beside),
		cmocka_unit_test(test_names_the_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
