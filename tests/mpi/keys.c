/* SPDX-License-Identifier: MIT */
/* Keyed comms and groups with names, their ranks in processes. */
#include "mpi/cases.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 40 };

struct keyed_sums {
	int32_t in[KEYS], out[KEYS];
	choir_event *events[KEYS];
};

/* The call of that key, whose number is its index times a prime: another order on every rank. */
static void start_one(struct job *job, choir_comm *comm, int i, int32_t unit, struct keyed_sums *sums)
{
	int at = (i * 7 + 11 * job->rank) % KEYS, rank = job->rank;
	choir_call call = CHOIR_CALL_INIT;
	struct world *world = &job->world;
	char key[16];

	snprintf(key, sizeof key, "key %d", at);
	call.key = key;
	sums->in[at] = unit * (at + 1) + rank;
	OK(choir_allreduce(comm, choir_host(&sums->in[at]), choir_host(&sums->out[at]), 1, CHOIR_I32, CHOIR_OP_SUM,
	                   &call, &sums->events[at]));
}

static void end_all(struct job *job, int32_t unit, struct keyed_sums *sums)
{
	int n = job->size, rank = job->rank;
	struct world *world = &job->world;

	for (int at = 0; at < KEYS; at++) {
		OK(choir_event_wait(sums->events[at], -1));
		CHECK(sums->out[at] == n * unit * (at + 1) + n * (n - 1) / 2);
		choir_event_release(sums->events[at]);
	}
}

/* Two comms with the same keys know nothing of each other. */
static void keyed(struct job *job, choir_comm *comm)
{
	struct keyed_sums sums[2] = { { .in = { 0 } } };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *comms[2] = { NULL, NULL };
	int rank = job->rank, first = rank % 2;
	struct world *world = &job->world;

	config.keyed = 1;
	for (int c = 0; c < 2; c++)
		if (!OK(choir_comm_split_config(comm, 0, 0, &config, &comms[c])))
			return;
	for (int i = 0; i < KEYS; i++) {
		start_one(job, comms[first], i, 1 + first, &sums[first]);
		if (i >= KEYS / 2)
			start_one(job, comms[!first], i - KEYS / 2, 1 + !first, &sums[!first]);
	}
	for (int i = KEYS / 2; i < KEYS; i++)
		start_one(job, comms[!first], i, 1 + !first, &sums[!first]);
	for (int c = 0; c < 2; c++)
		end_all(job, 1 + c, &sums[c]);
	for (int c = 0; c < 2; c++)
		choir_comm_destroy(comms[c]);
}

/* All ranks but 0, backwards; rank 0 calls for nothing, or asks. */
static void named(struct job *job, choir_comm *comm)
{
	int members[16], n = job->size - 1, rank = job->rank;
	choir_comm *group = NULL, *found = NULL;
	struct world *world = &job->world;

	for (int i = 0; i < n; i++)
		members[i] = n - i;
	if (n == 0)
		return;
	if (rank == 0) {
		IS(choir_comm_create_group(comm, "rest", members, n, NULL, &group), CHOIR_ARGUMENT);
		CHECK(strstr(choir_last_error(), "is not part of the group 'rest'") != NULL);
		return;
	}
	if (!OK(choir_comm_create_group(comm, "rest", members, n, NULL, &group)))
		return;
	CHECK(choir_comm_size(group) == n && choir_comm_rank(group) == n - rank);
	if (OK(choir_comm_find(comm, "rest", &found)))
		CHECK(found == group);
	world->n = n;
	matrix_roots(world, choir_comm_rank(group), group, NULL);
	world->n = job->size;
	choir_comm_destroy(group);
}

void case_keys(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "keys", &comm))
		return;
	keyed(job, comm);
	named(job, comm);
	choir_comm_destroy(comm);
}
