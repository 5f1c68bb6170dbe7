/* SPDX-License-Identifier: MIT */
/* Many calls in flight, on two comms: their deps end in another order on every rank, and some depend on others of
 * ours. */
#include "mpi/cases.h"
#include "world/flight.h"

#include <stdlib.h>

enum { CALLS = 20 };

struct flock {
	struct dense_flight flights[CALLS];
	cl_event gates[CALLS];
};

/* Call k of comm k % 2 waits for a cl_event of its own; every fifth also for the call before on the same comm. */
static void start(struct flock *flock, struct job *job, choir_comm *const *comms, int round)
{
	struct world *world = &job->world;
	int rank = job->rank;

	for (int k = 0; k < CALLS; k++) {
		struct dense_flight *flight = &flock->flights[k];
		struct dense_call c = { .what = &collectives[(k + round) % N_MOVING_COLLECTIVES],
			                .dtype = CHOIR_I32,
			                .op = CHOIR_OP_SUM,
			                .n = job->size,
			                .root = k % job->size,
			                .count = (size_t)(1 + k * 997),
			                .device = k % 3 == 0 };
		choir_call call = CHOIR_CALL_INIT;
		cl_int rc;

		flight_make(flight, world, rank, &c);
		flock->gates[k] = clCreateUserEvent(choir_device_context(world->device), &rc);
		CHECK(rc == CL_SUCCESS);
		if (!c.what->waits) { /* send and recv wait for each other in the call */
			call.cl_deps = &flock->gates[k];
			call.n_cl_deps = 1;
		}
		if (k % 5 == 4 && flock->flights[k - 2].event != NULL) {
			call.deps = &flock->flights[k - 2].event;
			call.n_deps = !flock->flights[k - 2].call.what->waits && !c.what->waits;
		}
		flight_start(flight, world, comms[k % 2], &call);
	}
}

static void open_gates(struct flock *flock, struct job *job)
{
	static const int steps[] = { 1, 3, 7, 9, 11, 13, 17, 19 }; /* prime to CALLS: a different order each */
	struct world *world = &job->world;
	int rank = job->rank;

	for (int i = 0; i < CALLS; i++) {
		int k = (i * steps[rank % 8] + rank) % CALLS;

		CHECK(clSetUserEventStatus(flock->gates[k], CL_COMPLETE) == CL_SUCCESS);
		if (i % 4 == rank % 4 && flock->flights[k].event != NULL)
			(void)choir_event_wait(flock->flights[k].event, 1);
	}
}

void case_flights(struct job *job)
{
	struct flock *flock = calloc(1, sizeof *flock);
	choir_comm *comms[2];
	struct world *world = &job->world;
	int rank = job->rank;

	if (!job_comms(job, 1, "flights", &comms[0]) || !OK(choir_comm_split(comms[0], 0, 0, &comms[1])))
		return;
	for (int round = 0; round < 3; round++) {
		start(flock, job, comms, round);
		open_gates(flock, job);
		for (int k = 0; k < CALLS; k++) {
			flight_land(&flock->flights[k], world);
			flight_free(&flock->flights[k]);
			clReleaseEvent(flock->gates[k]);
		}
	}
	choir_comm_destroy(comms[1]);
	choir_comm_destroy(comms[0]);
	free(flock);
}
