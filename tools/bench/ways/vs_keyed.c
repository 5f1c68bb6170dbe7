/* SPDX-License-Identifier: MIT */
/* --vs keyed: the same calls of choir on a keyed comm, each with a key. */
#include "ours.h"

#include <stdlib.h>

/* The rank's keyed comm, of all ways that are open: a list of tensors has many. */
static _Thread_local struct {
	choir_comm *comm;
	int users;
} shared;

struct vs_keyed {
	struct contender base;
	struct job job;
	struct contender *ours;
};

static int once(struct contender *self)
{
	struct vs_keyed *vs = (struct vs_keyed *)self;

	return vs->ours->once(vs->ours);
}

static void touch(struct contender *self)
{
	struct vs_keyed *vs = (struct vs_keyed *)self;

	vs->ours->touch(vs->ours);
}

static int fill(struct contender *self)
{
	struct vs_keyed *vs = (struct vs_keyed *)self;

	return vs->ours->fill(vs->ours);
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct vs_keyed *vs = (struct vs_keyed *)self;

	return vs->ours->verify(vs->ours, wrong_p);
}

static void leave_comm(void)
{
	if (--shared.users > 0)
		return;
	choir_comm_destroy(shared.comm);
	shared.comm = NULL;
}

static void close_keyed(struct contender *self)
{
	struct vs_keyed *vs = (struct vs_keyed *)self;

	vs->ours->close(vs->ours);
	leave_comm();
	free(vs);
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
	struct vs_keyed *vs = comm != NULL ? calloc(1, sizeof *vs) : NULL;

	if (vs != NULL) {
		vs->job = *job;
		vs->job.comm = comm;
		vs->job.keyed = true;
		vs->ours = ours_open(&vs->job, args_forced(job->args));
	}
	if (vs != NULL && vs->ours != NULL) {
		vs->base = *vs->ours;
		vs->base.name = "keyed";
		vs->base.once = once;
		vs->base.touch = vs->ours->touch != NULL ? touch : NULL;
		vs->base.fill = fill;
		vs->base.verify = verify;
		vs->base.close = close_keyed;
		return &vs->base;
	}
	free(vs);
	if (comm != NULL)
		leave_comm();
	return NULL;
}

static const char *unfit(const struct job *job)
{
	if (job->what == &collectives[SENDRECV])
		return "sends and receives match by their order, not by keys";
	if (job->args->memory == MEMORY_SYMMETRIC || job->args->memory == MEMORY_SYMMETRIC_DEVICE)
		return "symmetric memory is of the comm that has it, which is not keyed";
	return NULL;
}

const struct vs_way vs_keyed = { .name = "keyed",
	                         .about = "the same calls of choir on a keyed comm",
	                         .unfit = unfit,
	                         .open = open_keyed };
