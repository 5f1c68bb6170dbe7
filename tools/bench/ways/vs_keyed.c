/* SPDX-License-Identifier: MIT */
/* --vs keyed: the same calls of choir on a keyed comm, each with a key. */
#include "twin.h"

/* The rank's keyed comm, of all ways that are open: a list of tensors has many. */
static _Thread_local struct {
	choir_comm *comm;
	int users;
} shared;

static void leave_comm(void)
{
	if (--shared.users > 0)
		return;
	choir_comm_destroy(shared.comm);
	shared.comm = NULL;
}

/* Collective. */
static choir_comm *enter_comm(const struct job *job)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_status st = CHOIR_SUCCESS;

	config.keyed = 1;
	if (shared.comm == NULL)
		st = choir_comm_split_config(job->comm, 0, job->rank, &config, &shared.comm);
	if (st != CHOIR_SUCCESS) {
		ours_failed(job, "choir_comm_split_config", st, choir_last_error());
		return NULL;
	}
	shared.users++;
	return shared.comm;
}

static struct contender *open_keyed(const struct job *job)
{
	choir_comm *comm = enter_comm(job);
	struct contender *twin;
	struct job keyed = *job;

	if (comm == NULL)
		return NULL;
	keyed.comm = comm;
	keyed.keyed = true;
	twin = twin_open(&keyed, "keyed", leave_comm);
	if (twin == NULL)
		leave_comm();
	return twin;
}

static const char *unfit(const struct job *job)
{
	if (job->what == &collectives[SENDRECV])
		return "sends and receives match by their order, not by keys";
	if (job->args->memory == MEMORY_SYMMETRIC || job->args->memory == MEMORY_SYMMETRIC_DEVICE)
		return "symmetric memory is of the comm that has it, which is not keyed";
	return NULL;
}

const struct vs_way vs_keyed = {
	.name = "keyed", .about = "the same calls of choir on a keyed comm", .unfit = unfit, .open = open_keyed
};
