/* SPDX-License-Identifier: MIT */
/* Processes without MPI: forked, they meet over a gather of their own (a shared page), and run a part of the table.  A
 * process that dies is noticed by the others. */
#include "world/matrix.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8, GATHER_BYTES = 1 << 16, WATCHDOG_S = 60, DEADLINE_MS = 30000 };

struct page {
	_Atomic int arrived[MOST], left[MOST]; /* gathers begun and finished by each */
	_Atomic int called[MOST];              /* who has made the call that rank 0 does not answer */
	unsigned char bytes[MOST][GATHER_BYTES];
};

struct place {
	struct page *page;
	int rank, n, gathers;
};

static void wait_all(_Atomic int *counters, int n, int value)
{
	for (int r = 0; r < n; r++)
		while (atomic_load(&counters[r]) < value)
			sched_yield();
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct place *place = ctx;
	int number = ++place->gathers;

	if (bytes > GATHER_BYTES)
		return 1;
	memcpy(place->page->bytes[place->rank], mine, bytes);
	atomic_store(&place->page->arrived[place->rank], number);
	wait_all(place->page->arrived, place->n, number);
	for (int r = 0; r < place->n; r++)
		memcpy((unsigned char *)all + (size_t)r * bytes, place->page->bytes[r], bytes);
	atomic_store(&place->page->left[place->rank], number);
	wait_all(place->page->left, place->n, number);
	return 0;
}

static bool open_comm(struct world *world, struct place *place, choir_comm **comm_p)
{
	choir_bootstrap bootstrap = { sizeof bootstrap, place->rank, place->n, gather, place };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int rank = place->rank;

	world->n = place->n;
	world->device = world_device();
	config.deadline_ms = DEADLINE_MS;
	config.name = "forked";
	return OK(choir_comm_create(&bootstrap, 1, &world->device, &config, comm_p));
}

static void run_table(struct world *world, const struct place *place, choir_comm *comm)
{
	int rank = place->rank;

	matrix_types(world, rank, comm, NULL);
	matrix_roots(world, rank, comm, NULL);
	matrix_sizes(world, rank, comm, world);
	OK(choir_comm_destroy(comm));
}

/* Rank 0 dies when the others have called. */
static void run_death(struct world *world, const struct place *place, choir_comm *comm)
{
	static float data[1000];
	choir_event *event = NULL;
	int rank = place->rank;

	OK(choir_barrier(comm, NULL, NULL));
	if (rank == 0) {
		wait_all(place->page->called + 1, place->n - 1, 1);
		raise(SIGKILL);
	}
	if (OK(choir_allreduce(comm, choir_host(data), choir_host(data), 1000, CHOIR_F32, CHOIR_OP_SUM, NULL,
	                       &event))) {
		atomic_store(&place->page->called[rank], 1);
		if (IS(choir_event_wait(event, -1), CHOIR_PEER_DEAD))
			CHECK(strstr(choir_event_error(event), "rank 0 is dead") != NULL);
		choir_event_release(event);
	}
	OK(choir_comm_destroy(comm));
}

static int run_process(struct place place, bool death)
{
	struct world world = { 0 };
	choir_comm *comm;

	alarm(WATCHDOG_S);
	if (open_comm(&world, &place, &comm))
		(death ? run_death : run_table)(&world, &place, comm);
	world_device_drop();
	if (world.failure[0] != '\0')
		fprintf(stderr, "%s\n", world.failure);
	return world.failure[0] != '\0';
}

/* True if every process ended as it should. */
static bool run_world(int n, bool death)
{
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MOST];
	bool good = page != MAP_FAILED;

	for (int r = 0; r < n && good; r++) {
		pids[r] = fork();
		if (pids[r] == 0)
			exit(run_process((struct place){ page, r, n, 0 }, death));
		good = pids[r] > 0;
	}
	for (int r = 0; r < n && good; r++) {
		int status = -1;

		waitpid(pids[r], &status, 0);
		if (death && r == 0)
			good &= WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		else if (status != 0)
			good = false;
		if (!good)
			fprintf(stderr, "%d processes%s: process %d ended with %x\n", n, death ? ", one dies" : "", r,
			        (unsigned)status);
	}
	munmap(page, sizeof *page);
	return good;
}

int main(void)
{
	static const int sizes[] = { 1, 2, 3, 5 };
	const char *per_node = getenv("CHOIR_RANKS_PER_NODE");
	bool good = true;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		good &= run_world(sizes[i], false);
	if (per_node == NULL || atoi(per_node) != 1) /* a node each: no way to see a death but the deadline */
		good &= run_world(2, true);
	return good ? 0 : 1;
}
