/* SPDX-License-Identifier: MIT */
#include "sparse_job.h"

#include "ours.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

struct sparse_ours {
	struct contender base;
	const struct sparse_job *sparse;
	struct sparse_buffers buffers;
	choir_buffer send_ind, send_val, recv_ind, recv_val;
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
	size_t ind_count, val_count; /* what the last call gave */
	choir_sparse_stats stats;
	bool known;
};

static choir_status run(struct sparse_ours *ours, choir_event **event_p)
{
	const struct sparse_job *sparse = ours->sparse;
	const struct sparse_shape *shape = &sparse->shape;
	size_t in = sparse->mine.rows;

	ours->ind_count = sparse->expected.rows;
	ours->val_count = sparse->expected.rows * shape->args.width;
	return choir_sparse_allreduce(sparse->job->comm, ours->send_ind, in, ours->send_val, in * shape->args.width, ours->recv_ind,
				      &ours->ind_count, ours->recv_val, &ours->val_count, shape->args.index_dtype, shape->dtype, shape->op, NULL,
				      &ours->call, event_p);
}

/* The first call, by an event that tells what was done. */
static int once_by_event(struct sparse_ours *ours)
{
	choir_event *event = NULL;
	choir_status st = run(ours, &event);
	int status = EXIT_FINE;

	if (st != CHOIR_SUCCESS)
		return ours_failed(ours->sparse->job, "sparse_allreduce", st, choir_last_error());
	st = choir_event_wait(event, -1);
	if (st != CHOIR_SUCCESS)
		status = ours_failed(ours->sparse->job, "sparse_allreduce", st, choir_event_error(event));
	ours->stats.struct_size = sizeof ours->stats;
	if (status == EXIT_FINE && choir_event_sparse_stats(event, &ours->stats) != CHOIR_SUCCESS)
		status = ours_failed(ours->sparse->job, "sparse_allreduce", CHOIR_ARGUMENT, choir_last_error());
	ours->known = true;
	choir_event_release(event);
	return status;
}

static int once(struct contender *self)
{
	struct sparse_ours *ours = (struct sparse_ours *)self;
	choir_status st;

	if (!ours->known)
		return once_by_event(ours);
	st = run(ours, NULL);
	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(ours->sparse->job, "sparse_allreduce", st, choir_last_error());
}

static int fill(struct contender *self)
{
	struct sparse_ours *ours = (struct sparse_ours *)self;

	return sparse_buffers_fill(&ours->buffers, ours->sparse) ? EXIT_FINE : EXIT_WRONG;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct sparse_ours *ours = (struct sparse_ours *)self;

	if (!sparse_buffers_count(&ours->buffers, ours->sparse, ours->ind_count, wrong_p))
		return EXIT_WRONG;
	*wrong_p += ours->val_count != ours->ind_count * ours->sparse->shape.args.width;
	return EXIT_FINE;
}

static void close_ours(struct contender *self)
{
	struct sparse_ours *ours = (struct sparse_ours *)self;

	sparse_buffers_fini(&ours->buffers);
	free(ours);
}

struct contender *sparse_ours_open(const struct sparse_job *sparse)
{
	struct sparse_ours *ours = calloc(1, sizeof *ours);

	if (ours == NULL)
		return NULL;
	ours->stats.algorithm = "";
	ours->base = (struct contender){ .name = "choir", .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_ours };
	ours->sparse = sparse;
	ours->call = ours_call(sparse->job->args, sparse->job->op, args_forced(sparse->job->args), ours->options);
	if (!sparse_buffers_init(&ours->buffers, sparse) || fill(&ours->base) != EXIT_FINE) {
		close_ours(&ours->base);
		return NULL;
	}
	ours->send_ind = memory_buffer(&ours->buffers.send_ind, 0);
	ours->send_val = memory_buffer(&ours->buffers.send_val, 0);
	ours->recv_ind = memory_buffer(&ours->buffers.recv_ind, 0);
	ours->recv_val = memory_buffer(&ours->buffers.recv_val, 0);
	return &ours->base;
}

const char *sparse_ours_algorithm(const struct contender *ours)
{
	return ((const struct sparse_ours *)ours)->stats.algorithm;
}

const choir_sparse_stats *sparse_ours_stats(const struct contender *ours)
{
	return &((const struct sparse_ours *)ours)->stats;
}
