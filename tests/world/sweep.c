/* SPDX-License-Identifier: MIT */
#include "world/sweep.h"

#include "world/allocations.h"
#include "world/world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { DEADLINE_MS = 20000, SETTLE_S = 1, LEARNS_S = 10, STRIDE = 17, AGAIN = 12 };

static choir_comm *comms[SWEEP_RANKS];
static cl_mem mems[SWEEP_RANKS];

struct pass {
	act_fn act;
	choir_status st[SWEEP_RANKS];
	char text[SWEEP_RANKS][512];
};

static void rank_acts(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct pass *pass = arg;

	(void)world;
	pass->st[rank] = pass->act(comm, rank);
	snprintf(pass->text[rank], sizeof pass->text[rank], "%s",
	         pass->st[rank] != CHOIR_SUCCESS ? choir_last_error() : "");
	if (pass->st[rank] != CHOIR_SUCCESS)
		(void)choir_comm_abort(comm);
}

static bool late(const struct timespec *since, int most_s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - since->tv_sec > most_s;
}

/* Both ranks' calls came out and the comm works, or one is out of memory and both comms have failed. */
static void judge(struct world *world, const struct pass *pass)
{
	bool failed = pass->st[0] != CHOIR_SUCCESS || pass->st[1] != CHOIR_SUCCESS;
	struct timespec since;

	clock_gettime(CLOCK_MONOTONIC, &since);
	for (int rank = 0; rank < SWEEP_RANKS; rank++) {
		if (pass->st[rank] == CHOIR_TIMEOUT || pass->st[rank] == CHOIR_ARGUMENT ||
		    (pass->st[rank] != CHOIR_SUCCESS && pass->text[rank][0] == '\0'))
			world_fail(world, rank, "%s: %s", choir_status_name(pass->st[rank]), pass->text[rank]);
		while (failed && choir_comm_status(world->comms[rank]) == CHOIR_SUCCESS && !late(&since, LEARNS_S))
			sched_yield();
		if ((choir_comm_status(world->comms[rank]) != CHOIR_SUCCESS) != failed)
			world_fail(world, rank, "the comm %s where the calls gave %s (%s), %s (%s)",
			           failed ? "stands" : "has failed", choir_status_name(pass->st[0]), pass->text[0],
			           choir_status_name(pass->st[1]), pass->text[1]);
	}
	if (failed && pass->st[0] != CHOIR_NO_MEMORY && pass->st[1] != CHOIR_NO_MEMORY)
		world_fail(world, 0, "no rank is out of memory: %s (%s), %s (%s)", choir_status_name(pass->st[0]),
		           pass->text[0], choir_status_name(pass->st[1]), pass->text[1]);
}

/* False: no memory for the comms (which is said). */
static bool make_world(struct world *world, const struct sweep *s, int per_node)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[SWEEP_RANKS] = { world_device(), world_device() };
	choir_status st;

	memset(world, 0, sizeof *world);
	memset(comms, 0, sizeof comms);
	config.deadline_ms = DEADLINE_MS;
	config.ranks_per_node = per_node;
	config.keyed = s->keyed;
	world->n = SWEEP_RANKS;
	world->device = devices[0];
	world->comms = comms;
	st = choir_comm_create_local(SWEEP_RANKS, devices, &config, comms);
	if (st != CHOIR_SUCCESS && (st != CHOIR_NO_MEMORY || choir_last_error()[0] == '\0' || comms[0] != NULL))
		world_fail(world, 0, "create: %s: %s", choir_status_name(st), choir_last_error());
	return st == CHOIR_SUCCESS;
}

static void pass_once(struct world *world, const struct sweep *s, int per_node, unsigned k)
{
	struct pass pass = { .act = s->act };
	bool made;

	allocations_fail(s->act == NULL ? k : 0);
	made = make_world(world, s, per_node);
	if (made && s->act != NULL) {
		allocations_fail(k);
		world_threads(world, rank_acts, &pass);
		allocations_stop();
		judge(world, &pass);
	}
	for (int i = 0; i < SWEEP_RANKS; i++)
		if (made && choir_comm_destroy(world->comms[i]) != CHOIR_SUCCESS)
			world_fail(world, i, "destroy: %s", choir_last_error());
	allocations_stop();
}

/* Frees may come a little later, from the background thread. */
static bool settles(size_t wanted)
{
	struct timespec since;

	clock_gettime(CLOCK_MONOTONIC, &since);
	while (allocations_live() > wanted && !late(&since, SETTLE_S))
		sched_yield();
	return allocations_live() <= wanted;
}

/* True: the k-th allocation was reached, and failed. */
static bool pass_fails(const struct sweep *s, int per_node, unsigned k, const void **left_p)
{
	struct world world;
	const void *site;
	size_t before = allocations_live();
	unsigned mark = allocations_mark();
	bool failed;

	pass_once(&world, s, per_node, k);
	failed = allocations_failed(&site);
	if (world.failure[0] != '\0')
		fail_msg("allocation %u (of %p) failed:%s", k, site, world.failure);
	*left_p = s->may_leave || settles(before) ? NULL : allocations_since(mark);
	return failed;
}

/* Every stride-th allocation from the first one on.  What a process keeps for later (a spare of each kernel for each of
 * its threads) does not grow each time when the same allocation fails again. */
static void sweep_layout(const struct sweep *s, int per_node, unsigned first, unsigned stride)
{
	const void *left;
	bool failed = true;

	for (int i = 0; i < 3; i++)
		(void)pass_fails(s, per_node, 0, &left);
	for (unsigned k = first; failed; k += stride) {
		failed = pass_fails(s, per_node, k, &left);
		for (int again = 0; left != NULL && again < AGAIN; again++)
			(void)pass_fails(s, per_node, k, &left);
		if (left != NULL)
			fail_msg("allocation %u failed: what %p allocated is never freed", k, left);
	}
}

void sweep_run(const struct sweep *s)
{
	unsigned stride = getenv("CHOIR_TEST_LONG") != NULL ? 1 : s->stride > 0 ? s->stride : STRIDE;

	for (int per_node = 0; per_node < 2; per_node++)
		sweep_layout(s, per_node, 1 + (unsigned)per_node, stride);
}

void sweep_test(void **state)
{
	sweep_run(*state);
}

choir_comm *const *sweep_comms(void)
{
	return comms;
}

cl_mem sweep_mem(int rank)
{
	return mems[rank];
}

bool sweep_all_are(const float *values, size_t n, float wanted)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] != wanted)
			return false;
	return true;
}

void sweep_fill(float *values, size_t n, float with)
{
	for (size_t i = 0; i < n; i++)
		values[i] = with;
}

int sweep_open(void **state)
{
	float ones[SWEEP_COUNT];
	cl_int rc = CL_SUCCESS;

	(void)state;
	sweep_fill(ones, SWEEP_COUNT, 1);
	for (int i = 0; i < SWEEP_RANKS && rc == CL_SUCCESS; i++)
		mems[i] =
		    clCreateBuffer(choir_device_context(world_device()), CL_MEM_COPY_HOST_PTR, sizeof ones, ones, &rc);
	return rc;
}

int sweep_close(void **state)
{
	(void)state;
	for (int i = 0; i < SWEEP_RANKS; i++)
		clReleaseMemObject(mems[i]);
	world_device_drop();
	return 0;
}
