/* SPDX-License-Identifier: MIT */
#include "sparse_job.h"

#include "bench/ways/ours.h"
#include "bench/ranks/world.h"

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
	char sentence[512];
};

static choir_status run(struct sparse_ours *ours, choir_event **event_p)
{
	const struct sparse_job *sparse = ours->sparse;
	const struct sparse_shape *shape = &sparse->shape;
	size_t in = sparse->mine.rows;

	ours->ind_count = sparse->expected.rows;
	ours->val_count = sparse->expected.rows * shape->args.width;
	return choir_sparse_allreduce(sparse->job->comm, ours->send_ind, in, ours->send_val, in * shape->args.width,
	                              ours->recv_ind, &ours->ind_count, ours->recv_val, &ours->val_count,
	                              shape->args.index_dtype, shape->dtype, shape->op, NULL, &ours->call, event_p);
}

/* A call by an event, which tells what was done.  *sentence_p: of a call that failed. */
static choir_status run_by_event(struct sparse_ours *ours, const char **sentence_p)
{
	choir_event *event = NULL;
	choir_status st = run(ours, &event);

	*sentence_p = choir_last_error();
	if (st != CHOIR_SUCCESS)
		return st;
	st = choir_event_wait(event, -1);
	ours->stats.struct_size = sizeof ours->stats;
	if (st == CHOIR_SUCCESS)
		st = choir_event_sparse_stats(event, &ours->stats);
	if (st != CHOIR_SUCCESS) {
		snprintf(ours->sentence, sizeof ours->sentence, "%s", choir_event_error(event));
		*sentence_p = ours->sentence;
	}
	ours->known = true;
	choir_event_release(event);
	return st;
}

static int once(struct contender *self)
{
	struct sparse_ours *ours = (struct sparse_ours *)self;
	const char *sentence = NULL;
	choir_status st = ours->known ? run(ours, NULL) : run_by_event(ours, &sentence);

	if (st == CHOIR_SUCCESS)
		return EXIT_FINE;
	return ours_failed(ours->sparse->job, "sparse_allreduce", st, sentence != NULL ? sentence : choir_last_error());
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

struct contender *sparse_ours_open(const struct sparse_job *sparse, const char *algorithm)
{
	struct sparse_ours *ours = calloc(1, sizeof *ours);

	if (ours == NULL)
		return NULL;
	ours->stats.algorithm = "";
	ours->base = (struct contender){
		.name = "choir", .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_ours
	};
	ours->sparse = sparse;
	ours->call = ours_call(sparse->job->args, sparse->job->op, algorithm, ours->options);
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

bool sparse_ours_fits(struct contender *contender)
{
	struct sparse_ours *ours = (struct sparse_ours *)contender;
	const char *sentence;
	bool fits = run_by_event(ours, &sentence) == CHOIR_SUCCESS;

	return world_max_int(ours->sparse->job->world, !fits) == 0;
}

const char *sparse_ours_algorithm(const struct contender *ours)
{
	return ((const struct sparse_ours *)ours)->stats.algorithm;
}

const choir_sparse_stats *sparse_ours_stats(const struct contender *ours)
{
	return &((const struct sparse_ours *)ours)->stats;
}
