/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include "bench/ways/ours.h"

#include <stdio.h>
#include <stdlib.h>

struct by_choir {
	struct contender base;
	struct replay *replay;
	bool computes, collects;
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
};

bool replay_open(struct replay *replay)
{
	for (replay->opened = 0; replay->opened < replay->n; replay->opened++) {
		struct replay_item *item = &replay->items[replay->opened];

		if (!check_init(&item->buffers, &item->job))
			return false;
		item->send = check_send(&item->buffers, &item->job);
		item->recv = check_recv(&item->buffers, &item->job);
		item->args = job_args(&item->job, item->send, item->recv);
	}
	return replay_fill(replay) == EXIT_FINE;
}

void replay_close(struct replay *replay)
{
	for (int i = 0; i < replay->opened; i++)
		check_fini(&replay->items[i].buffers);
	replay->opened = 0;
}

int replay_fill(struct replay *replay)
{
	for (int i = 0; i < replay->n; i++)
		if (!check_fill(&replay->items[i].buffers, &replay->items[i].job))
			return EXIT_WRONG;
	return EXIT_FINE;
}

int replay_verify(struct replay *replay, uint64_t *wrong_p)
{
	*wrong_p = 0;
	for (int i = 0; i < replay->n; i++) {
		uint64_t wrong;

		if (!check_count(&replay->items[i].buffers, &replay->items[i].job, &wrong))
			return EXIT_WRONG;
		*wrong_p += wrong;
	}
	return EXIT_FINE;
}

int replay_enqueue(struct replay *replay, int i)
{
	double us = i < replay->n ? replay->items[i].delay_us : replay->trailing_us;

	if (us <= 0 || compute_enqueue(replay->compute, us))
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: rank %d: the compute kernel cannot be enqueued\n", replay->world->rank);
	return EXIT_WRONG;
}

static int start(struct by_choir *by, struct replay_item *item)
{
	const struct job *job = &item->job;
	choir_status st = job->what->call(&item->args, &by->call, &item->event);

	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(job, job->what->name, st, choir_last_error());
}

static int finish(struct replay *replay, int n)
{
	int worst = EXIT_FINE;

	for (int i = 0; i < n; i++) {
		struct replay_item *item = &replay->items[i];
		choir_status st = choir_event_wait(item->event, -1);

		if (st != CHOIR_SUCCESS)
			worst = ours_failed(&item->job, item->job.what->name, st, choir_event_error(item->event));
		choir_event_release(item->event);
	}
	return worst;
}

static int once(struct contender *self)
{
	struct by_choir *by = (struct by_choir *)self;
	struct replay *replay = by->replay;
	int status = EXIT_FINE, started = 0, ended;

	for (int i = 0; i < replay->n && status == EXIT_FINE; i++) {
		if (by->computes)
			status = replay_enqueue(replay, i);
		if (by->collects && status == EXIT_FINE)
			status = start(by, &replay->items[i]);
		started += by->collects && status == EXIT_FINE;
	}
	if (by->computes && status == EXIT_FINE)
		status = replay_enqueue(replay, replay->n);
	if (replay->compute != NULL)
		clFlush(replay->compute->queue);
	ended = finish(replay, started);
	if (replay->compute != NULL)
		clFinish(replay->compute->queue);
	return status != EXIT_FINE ? status : ended;
}

static int fill(struct contender *self)
{
	return replay_fill(((struct by_choir *)self)->replay);
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	return replay_verify(((struct by_choir *)self)->replay, wrong_p);
}

static void close_choir(struct contender *self)
{
	free(self);
}

struct contender *replay_by_choir(struct replay *replay, const char *name, bool computes, bool collects)
{
	struct by_choir *by = calloc(1, sizeof *by);
	const struct args *args = replay->items->job.args;

	if (by == NULL)
		return NULL;
	by->base = (struct contender){ .name = name,
		                       .calls = 1,
		                       .once = once,
		                       .fill = collects ? fill : NULL,
		                       .verify = collects ? verify : NULL,
		                       .close = close_choir };
	by->replay = replay;
	by->computes = computes;
	by->collects = collects;
	by->call = ours_call(args, replay->items->job.op, args_forced(args), by->options);
	if (replay->compute != NULL)
		by->call.after = replay->compute->queue;
	return &by->base;
}
