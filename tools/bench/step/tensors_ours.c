/* SPDX-License-Identifier: MIT */
#include "tensors_ours.h"

#include "bench/ways/ours.h"

#include <stdlib.h>

struct way {
	struct contender base;
	struct replay *replay;
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
	choir_tensor tensors[]; /* [replay->n] */
};

typedef choir_status multi_fn(const struct way *way, const struct job *job);

static choir_status allreduce(const struct way *way, const struct job *job)
{
	return choir_allreduce_multi(job->comm, way->tensors, (size_t)way->replay->n, job->op, &way->call, NULL);
}

static choir_status reduce_scatter(const struct way *way, const struct job *job)
{
	return choir_reduce_scatter_multi(job->comm, way->tensors, (size_t)way->replay->n, job->op, &way->call, NULL);
}

static choir_status allgather(const struct way *way, const struct job *job)
{
	return choir_allgather_multi(job->comm, way->tensors, (size_t)way->replay->n, &way->call, NULL);
}

static choir_status broadcast(const struct way *way, const struct job *job)
{
	return choir_broadcast_multi(job->comm, way->tensors, (size_t)way->replay->n, job->root, &way->call, NULL);
}

static choir_status reduce(const struct way *way, const struct job *job)
{
	return choir_reduce_multi(job->comm, way->tensors, (size_t)way->replay->n, job->op, job->root, &way->call,
	                          NULL);
}

static multi_fn *const multi[N_COLLECTIVE_ROWS] = {
	[ALLREDUCE] = allreduce, [REDUCE_SCATTER] = reduce_scatter, [ALLGATHER] = allgather, [BROADCAST] = broadcast,
	[REDUCE] = reduce,
};

bool tensors_have(const char *collective)
{
	const struct collective_row *what = collective_find(collective);

	return what != NULL && multi[what - collectives] != NULL;
}

static int all_at_once(struct contender *self)
{
	struct way *way = (struct way *)self;
	const struct job *job = &way->replay->items->job;
	choir_status st = multi[job->what - collectives](way, job);

	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(job, "a list", st, choir_last_error());
}

static int one_by_one(struct contender *self)
{
	struct way *way = (struct way *)self;
	const struct job *job = &way->replay->items->job;
	int status = EXIT_FINE;

	for (int i = 0; i < way->replay->n && status == EXIT_FINE; i++) {
		const struct replay_item *item = &way->replay->items[i];
		choir_status st = item->job.what->call(&item->args, &way->call, NULL);

		if (st != CHOIR_SUCCESS)
			status = ours_failed(job, job->what->name, st, choir_last_error());
	}
	return status;
}

static int fill(struct contender *self)
{
	return replay_fill(((struct way *)self)->replay);
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	return replay_verify(((struct way *)self)->replay, wrong_p);
}

static void close_way(struct contender *self)
{
	free(self);
}

static struct contender *open_way(struct replay *replay, const char *name, int (*once)(struct contender *))
{
	struct way *way = calloc(1, sizeof *way + (size_t)replay->n * sizeof *way->tensors);
	const struct job *job = &replay->items->job;

	if (way == NULL)
		return NULL;
	way->base = (struct contender){
		.name = name, .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_way
	};
	way->replay = replay;
	way->call = ours_call(job->args, job->op, args_forced(job->args), way->options);
	for (int i = 0; i < replay->n; i++) {
		const struct replay_item *item = &replay->items[i];

		way->tensors[i] = (choir_tensor){ item->send, item->recv, item->job.layout.count, item->job.dtype };
	}
	return &way->base;
}

struct contender *tensors_multi(struct replay *replay)
{
	return open_way(replay, "multi", all_at_once);
}

struct contender *tensors_each(struct replay *replay)
{
	return open_way(replay, "each", one_by_one);
}
