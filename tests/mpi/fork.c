/* SPDX-License-Identifier: MIT */
/* Processes without MPI: forked, they meet over a gather of their own (lib/meeting.h), and run a part of the table.  A
 * process that dies is noticed by the others. */
#include "lib/ranks.h"
#include "world/matrix.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEADLINE_MS = 60000, END_MS = 120000 };

/* Who has made the call that rank 0 does not answer. */
static _Atomic int *called;

static bool open_comm(struct world *world, const struct rank *me, choir_comm **comm_p)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int rank = me->rank;

	world->n = me->n;
	world->device = world_device();
	config.deadline_ms = DEADLINE_MS;
	config.name = "forked";
	return OK(choir_comm_create(&bootstrap, 1, &world->device, &config, comm_p));
}

static void run_table(struct world *world, int rank, choir_comm *comm)
{
	matrix_types(world, rank, comm, NULL);
	matrix_roots(world, rank, comm, NULL);
	matrix_sizes(world, rank, comm, world);
	OK(choir_comm_destroy(comm));
}

/* Rank 0 dies when the others have called. */
static void run_death(struct world *world, int rank, choir_comm *comm)
{
	static float data[1000];
	choir_event *event = NULL;

	OK(choir_barrier(comm, NULL, NULL));
	if (rank == 0) {
		while (atomic_load(called) < world->n - 1)
			sched_yield();
		raise(SIGKILL);
	}
	if (OK(choir_allreduce(comm, choir_host(data), choir_host(data), 1000, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                       &event))) {
		atomic_fetch_add(called, 1);
		if (IS(choir_event_wait(event, -1), CHOIR_PEER_DEAD))
			CHECK(strstr(choir_event_error(event), "rank 0 is dead") != NULL);
		choir_event_release(event);
	}
	OK(choir_comm_destroy(comm));
}

static int run_process(const struct rank *me, void *death)
{
	struct world world = { 0 };
	choir_comm *comm;

	if (open_comm(&world, me, &comm))
		(death != NULL ? run_death : run_table)(&world, me->rank, comm);
	world_device_drop();
	if (world.failure[0] != '\0')
		fprintf(stderr, "%s\n", world.failure);
	return world.failure[0] != '\0';
}

/* True if every process ended as it should. */
static bool run_world(int n, bool death)
{
	char why[RANKS_WHY_BYTES];
	struct ranks ranks;
	bool good;

	atomic_store(called, 0);
	ranks_fork(&ranks, n, n, run_process, death ? called : NULL);
	ranks_join(&ranks, END_MS);
	good = ranks_are_good(&ranks, death ? 0 : -1, why);
	if (!good)
		fprintf(stderr, "%d processes%s: %s\n", n, death ? ", one dies" : "", why);
	return good;
}

int main(void)
{
	static const int sizes[] = { 1, 2, 3, 5 };
	const char *per_node = getenv("CHOIR_RANKS_PER_NODE");
	bool good;

	called = mmap(NULL, sizeof *called, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	good = called != MAP_FAILED;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		good &= run_world(sizes[i], false);
	if (per_node == NULL || atoi(per_node) != 1) /* a node each: no way to see a death but the deadline */
		good &= run_world(2, true);
	return good ? 0 : 1;
}
