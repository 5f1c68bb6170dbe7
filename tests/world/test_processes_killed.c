/* SPDX-License-Identifier: MIT */
/* A process that is killed or ends: the others say so, long before the deadline.  (Of sparse calls:
 * test_processes_killed_sparse.c.) */
#include "exec/comm.h"
#include "exec/liveness.h"
#include "node/arena.h"
#include "node/process_id.h"
#include "world/endings.h"
#include "world/memory.h"
#include "world/processes.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Rank 0's process is killed: the others, who wait for it, say so, long before the deadline. */
static void killed(const struct rank *me, int per_node)
{
	choir_comm *comm;
	struct sum sum;

	processes_create(me, 1, per_node, 30000, &comm);
	MUST(sum_works(comm, 1000));
	meeting_wait(me->meeting); /* all have their result: what is read late is no death */
	if (me->rank == 0)
		raise(SIGKILL);
	MUST(sum_start(&sum, comm, 1000, 1, NULL, false) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), "rank 0 is dead, and allreduce #|waits for it"));
	if (per_node == 0)
		MUST(says(choir_last_error(), "it; its last collective call was allreduce #|(1000 x f32, sum, "));
	MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
}

static struct meeting *left; /* of all but rank 0 */

/* Rank 0's process is killed: the ranks that are left destroy their comm and make one of their own. */
static void made_again(const struct rank *me, int per_node)
{
	struct rank again = { me->rank - 1, me->n - 1, left };
	choir_comm *comm;

	processes_create(me, 1, per_node, 30000, &comm);
	MUST(sum_works(comm, 1000));
	meeting_wait(me->meeting);
	if (me->rank == 0)
		raise(SIGKILL);
	MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
	processes_create(&again, 1, per_node, 30000, &comm);
	MUST(choir_comm_size(comm) == again.n && choir_comm_rank(comm) == again.rank);
	MUST(sum_works(comm, 1000));
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
}

/* Rank 0's process ends by _exit in a comm of no calls, or when its last one is far back. */
static void exited(const struct rank *me, int n_barriers)
{
	choir_comm *comm;
	int32_t value = 0;

	processes_create(me, 1, 0, 30000, &comm);
	for (int i = 0; i < n_barriers; i++)
		MUST(choir_barrier(comm, NULL, NULL) == CHOIR_SUCCESS);
	meeting_wait(me->meeting);
	if (me->rank == 0)
		_exit(0);
	MUST(choir_recv(comm, choir_host(&value), 1, CHOIR_I32, 0, NULL, NULL) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), n_barriers == 0 ? "rank 0 is dead|; it has made no collective call"
	                                              : "rank 0 is dead|; its last collective call was barrier #8"));
	choir_comm_destroy(comm);
}

/* Rank 1 is killed, for which rank 0 does not wait: it only sends. */
static void only_sends(const struct rank *me, int broadcasts)
{
	enum { LONGEST_S = 10 };
	choir_comm *comm;
	int32_t some[10] = { 0 }, none[10];
	choir_status st = CHOIR_SUCCESS;
	time_t end;

	processes_create(me, 1, 1, 30000, &comm);
	meeting_wait(me->meeting);
	end = time(NULL) + LONGEST_S;
	if (me->rank == 1)
		raise(SIGKILL);
	while (st == CHOIR_SUCCESS && time(NULL) < end)
		st = broadcasts ? choir_broadcast(comm, choir_host(some), choir_none(), 10, CHOIR_I32, 0, NULL, NULL)
		                : choir_exscan(comm, choir_host(some), choir_host(none), 10, CHOIR_I32, CHOIR_OP_SUM,
		                               NULL, NULL);
	MUST(st == CHOIR_PEER_DEAD && says(choir_last_error(), "rank 0: rank 1 is dead, and |waits for it"));
	choir_comm_destroy(comm);
}

/* Rank 2 is killed.  Rank 1 learns that in a call of a split's comm, and destroys all its comms; rank 0, which waits
 * for it in the parent, is told the cause. */
static void killed_beside(const struct rank *me, int per_node)
{
	choir_comm *parent, *child;
	int32_t value = 0;

	processes_create(me, 1, per_node, 30000, &parent);
	MUST(choir_comm_split(parent, 0, 0, &child) == CHOIR_SUCCESS);
	meeting_wait(me->meeting);
	if (me->rank == 2)
		raise(SIGKILL);
	if (me->rank == 1) {
		MUST(choir_recv(child, choir_host(&value), 1, CHOIR_I32, 2, NULL, NULL) == CHOIR_PEER_DEAD);
	} else {
		MUST(choir_recv(parent, choir_host(&value), 1, CHOIR_I32, 1, NULL, NULL) == CHOIR_PEER_DEAD);
		MUST(says(choir_last_error(), "waits for rank 1, which destroyed its comm after allgather #|"
		                              "; another of its comms had failed: |rank 2 is dead, and send/recv #0"));
	}
	MUST(choir_comm_destroy(child) == CHOIR_SUCCESS);
	MUST(choir_comm_destroy(parent) == CHOIR_SUCCESS);
}

static choir_status sum_in(choir_comm *comm, float *in, float *out, size_t count, choir_event **event_p)
{
	for (size_t i = 0; i < count; i++)
		in[i] = (float)(choir_comm_rank(comm) + 1);
	return choir_allreduce(comm, choir_host(in), choir_host(out), count, CHOIR_F32, CHOIR_OP_SUM, NULL, event_p);
}

/* Symmetric memory, at an offset of its own in each process; one gives memory of its own instead; then rank 0's process
 * is killed, and the memory still stands. */
static void killed_symmetric(const struct rank *me, int per_node)
{
	enum { COUNT = 3001 };
	int n = me->n;
	static float plain[COUNT];
	choir_event *event;
	choir_comm *comm;
	float *share;

	processes_create(me, 1, per_node, 30000, &comm);
	MUST(choir_mem_alloc(comm, 8 * COUNT * sizeof *share, (void **)&share, NULL) == CHOIR_SUCCESS);
	for (int odd = -1; odd < n; odd++) {
		float *in = me->rank == odd ? plain : share + 3 * me->rank + 1, *out = share + 4 * COUNT - me->rank;

		MUST(sum_in(comm, in, out, COUNT, &event) == CHOIR_SUCCESS &&
		     choir_event_wait(event, -1) == CHOIR_SUCCESS);
		MUST(out[0] == (float)(n * (n + 1) / 2) && out[COUNT - 1] == out[0]);
		MUST((strncmp(choir_event_algorithm(event), "direct", 6) == 0) == (odd < 0));
		choir_event_release(event);
	}
	meeting_wait(me->meeting);
	if (me->rank == 0)
		raise(SIGKILL);
	MUST(sum_in(comm, share, share + COUNT, COUNT, NULL) == CHOIR_PEER_DEAD &&
	     says(choir_last_error(), "rank 0 is dead|allreduce"));
	MUST(choir_mem_free(comm, share) == CHOIR_PEER_DEAD);
	memset(share, 1, 8 * COUNT * sizeof *share);
	choir_comm_destroy(comm);
}

/* Rank 0's process is killed while the others are in a call that was made again and again. */
static void killed_inside(const struct rank *me, int kind)
{
	struct ending e = { .kind = (enum ending_kind)kind, .who = 0, .all = processes_all, .ctx = (void *)me };
	const char *wrong;

	processes_create(me, 1, 0, 30000, &e.comm);
	MUST(ending_begin(&e));
	meeting_wait(me->meeting);
	if (me->rank == 0) {
		MUST(ending_wait_inside(&e));
		raise(SIGKILL);
	}
	wrong = ending_check(&e, CHOIR_PEER_DEAD, "rank 0 is dead", 0, 10000);
	if (wrong != NULL)
		fprintf(stderr, "%s\n", wrong);
	MUST(wrong == NULL);
	ending_free(&e);
	MUST(choir_comm_destroy(e.comm) == CHOIR_SUCCESS);
}

/* Rank 0 is killed before it shares its memory, or before rank 2, whose comm this is, maps that. */
static choir_comm *kills_in;

choir_status __real_arena_open(const struct arena_address *address, struct arena **out_p);
choir_status __wrap_arena_open(const struct arena_address *address, struct arena **out_p);
choir_status __wrap_arena_open(const struct arena_address *address, struct arena **out_p)
{
	uint64_t before = 0, calls = 0;
	int watch;

	if (kills_in == NULL)
		return __real_arena_open(address, out_p);
	(void)liveness_calls(kills_in, 2, &before);
	while (!liveness_calls(kills_in, 0, &calls) || calls <= before) /* the second of the two gathers */
		sched_yield();
	watch = peer_watch_open(address->process);
	kill(process_pid(address->process), SIGKILL);
	while (!peer_watch_dead(watch))
		sched_yield();
	peer_watch_close(watch);
	return __real_arena_open(address, out_p);
}

static void killed_sharing(const struct rank *me, int before)
{
	choir_comm *comm;
	void *share;

	processes_create(me, 1, 0, 30000, &comm);
	MUST(sum_works(comm, 1000));
	meeting_wait(me->meeting);
	if (me->rank == 0 && before)
		raise(SIGKILL);
	if (me->rank == 2 && !before)
		kills_in = comm;
	MUST(choir_mem_alloc(comm, 5000, &share, NULL) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), "choir_mem_alloc|rank 0|dead"));
	choir_comm_destroy(comm);
}

static void test_killed(void **state)
{
	(void)state;
	processes_run(2, 0, killed, 0);
	processes_run(3, 0, killed, 0);
	processes_run(3, 1, killed, 0); /* each rank a node of its own, all on this machine */
	for (int per_node = 0; per_node <= 2; per_node++)
		processes_run(3, per_node, killed_beside, 2);
	for (int broadcasts = 0; broadcasts < 2; broadcasts++)
		processes_run(2, broadcasts, only_sends, 1);
	processes_run(2, 0, exited, -1);
	processes_run(2, 9, exited, -1);
	processes_run(2, 0, killed_symmetric, 0);
	processes_run(3, 0, killed_symmetric, 0);
	for (int before = 0; before < 2; before++)
		processes_run(3, before, killed_sharing, 0);
}

static void test_made_again(void **state)
{
	enum { RANKS = 3 };

	(void)state;
	left = memory_map_shared(meeting_bytes(RANKS - 1));
	assert_non_null(left);
	for (int per_node = 0; per_node <= 2; per_node++) {
		meeting_init(left, RANKS - 1);
		processes_run(RANKS, per_node, made_again, 0);
	}
	munmap(left, meeting_bytes(RANKS - 1));
}

static void test_killed_inside(void **state)
{
	(void)state;
	for (int kind = 0; kind < ENDING_KINDS; kind++)
		processes_run(kind == ENDS_ALLTOALLV || kind == ENDS_SENDRECV ? 3 : 2, kind, killed_inside, 0);
	processes_run(2, ENDS_SENDRECV, killed_inside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed), cmocka_unit_test(test_made_again),
		                            cmocka_unit_test(test_killed_inside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
