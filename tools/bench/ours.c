/* SPDX-License-Identifier: MIT */
#include "ours.h"

#include "cases.h"
#include "check.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

struct set {
	struct check_buffers buffers;
	choir_buffer send, recv;
	choir_event *events[CASE_MAX_EVENTS];
};

struct ours {
	struct contender base;
	const struct job *job;
	struct set *sets; /* [in flight] */
	int n_sets;
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
	char algorithm[48];
	uint64_t wire_bytes;
	bool known; /* algorithm and wire_bytes were asked for */
};

choir_call ours_call(const struct args *args, char options[OURS_OPTIONS_BYTES])
{
	choir_call call = CHOIR_CALL_INIT;

	call.deadline_ms = (int64_t)(args->timeout_s * 1000);
	if (args->algorithm != NULL) {
		snprintf(options, OURS_OPTIONS_BYTES, "algorithm=%s", args->algorithm);
		call.options = options;
	}
	return call;
}

int ours_failed(const struct job *job, const char *what, choir_status st, const char *sentence)
{
	fprintf(stderr, "choir-bench: rank %d: %s: %s: %s\n", job->rank, what, choir_status_name(st), sentence);
	return st == CHOIR_TIMEOUT ? EXIT_LATE : EXIT_WRONG;
}

static void learn(struct ours *ours, choir_event *event)
{
	const char *algorithm = choir_event_algorithm(event);

	snprintf(ours->algorithm, sizeof ours->algorithm, "%s", algorithm);
	ours->wire_bytes += choir_event_wire_bytes(event);
}

/* Waits for every event of a set, whatever becomes of the first. */
static int finish(struct ours *ours, struct set *set)
{
	int worst = EXIT_FINE;

	for (int e = 0; e < ours->job->what->n_events; e++) {
		choir_status st = choir_event_wait(set->events[e], -1);

		if (st != CHOIR_SUCCESS)
			worst = ours_failed(ours->job, ours->job->what->name, st, choir_event_error(set->events[e]));
		if (!ours->known)
			learn(ours, set->events[e]);
		choir_event_release(set->events[e]);
	}
	return worst;
}

static int start(struct ours *ours, struct set *set)
{
	choir_status st = ours->job->what->run(ours->job, set->send, set->recv, &ours->call, set->events);

	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(ours->job, ours->job->what->name, st, choir_last_error());
}

/* All in flight at once; the first time this way even for one call, since only events tell the algorithm. */
static int once_by_events(struct ours *ours)
{
	int worst = EXIT_FINE;

	for (int s = 0; s < ours->n_sets; s++) {
		int status = start(ours, &ours->sets[s]);

		if (status != EXIT_FINE)
			return status;
	}
	for (int s = 0; s < ours->n_sets; s++) {
		int status = finish(ours, &ours->sets[s]);

		worst = status > worst ? status : worst;
		ours->known = true;
	}
	return worst;
}

static int once(struct contender *self)
{
	struct ours *ours = (struct ours *)self;
	choir_status st;

	if (ours->n_sets > 1 || !ours->known)
		return once_by_events(ours);
	st = ours->job->what->run(ours->job, ours->sets->send, ours->sets->recv, &ours->call, NULL);
	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(ours->job, ours->job->what->name, st, choir_last_error());
}

static int fill(struct contender *self)
{
	struct ours *ours = (struct ours *)self;

	for (int s = 0; s < ours->n_sets; s++)
		if (!check_fill(&ours->sets[s].buffers, ours->job))
			return EXIT_WRONG;
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct ours *ours = (struct ours *)self;

	*wrong_p = 0;
	for (int s = 0; s < ours->n_sets; s++) {
		uint64_t wrong;

		if (!check_count(&ours->sets[s].buffers, ours->job, &wrong))
			return EXIT_WRONG;
		*wrong_p += wrong;
	}
	return EXIT_FINE;
}

static void close_ours(struct contender *self)
{
	struct ours *ours = (struct ours *)self;

	for (int s = 0; s < ours->n_sets; s++)
		check_fini(&ours->sets[s].buffers);
	free(ours->sets);
	free(ours);
}

struct contender *ours_open(const struct job *job)
{
	struct ours *ours = calloc(1, sizeof *ours);

	if (ours == NULL)
		return NULL;
	ours->base = (struct contender){ .name = "choir", .calls = job->args->in_flight, .once = once, .fill = fill, .verify = verify,
					 .close = close_ours };
	ours->job = job;
	ours->call = ours_call(job->args, ours->options);
	ours->sets = calloc((size_t)job->args->in_flight, sizeof *ours->sets);
	for (; ours->sets != NULL && ours->n_sets < job->args->in_flight; ours->n_sets++) {
		struct set *set = &ours->sets[ours->n_sets];

		if (!check_init(&set->buffers, job))
			break;
		set->send = check_send(&set->buffers, job);
		set->recv = check_recv(&set->buffers, job);
	}
	if (ours->n_sets == job->args->in_flight && fill(&ours->base) == EXIT_FINE)
		return &ours->base;
	close_ours(&ours->base);
	return NULL;
}

const char *ours_algorithm(const struct contender *ours)
{
	return ((const struct ours *)ours)->algorithm;
}

uint64_t ours_wire_bytes(const struct contender *ours)
{
	return ((const struct ours *)ours)->wire_bytes;
}
