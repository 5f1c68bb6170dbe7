/* SPDX-License-Identifier: MIT */
#include "ours.h"

#include "bench/cases/job.h"
#include "bench/data/check.h"
#include "bench/ranks/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct set {
	struct check_buffers buffers;
	struct collective_args args;
	choir_event *event;
	char key[16]; /* of its calls, on a keyed comm */
};

/* What siblings share. */
struct sets {
	int owners, n;
	struct set set[]; /* [in flight] */
};

struct ours {
	struct contender base;
	const struct job *job;
	struct sets *sets;
	const char *wanted; /* algorithm; NULL = any */
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
	char algorithm[48];
	uint64_t wire_bytes;
	bool known; /* algorithm and wire_bytes were asked for */
};

choir_call ours_call(const struct args *args, choir_op op, const char *algorithm, char options[OURS_OPTIONS_BYTES])
{
	choir_call call = CHOIR_CALL_INIT;

	call.deadline_ms = (int64_t)(args->timeout_s * 1000);
	call.factor = values_factor(op);
	if (algorithm != NULL) {
		snprintf(options, OURS_OPTIONS_BYTES, "algorithm=%s", algorithm);
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

static int finish(struct ours *ours, struct set *set)
{
	choir_status st = choir_event_wait(set->event, -1);
	int status = st == CHOIR_SUCCESS
	                 ? EXIT_FINE
	                 : ours_failed(ours->job, ours->job->what->name, st, choir_event_error(set->event));

	if (!ours->known)
		learn(ours, set->event);
	choir_event_release(set->event);
	return status;
}

static const choir_call *call_of(struct ours *ours, struct set *set)
{
	ours->call.key = ours->job->keyed ? set->key : NULL;
	return &ours->call;
}

static int start(struct ours *ours, struct set *set)
{
	choir_status st = ours->job->what->call(&set->args, call_of(ours, set), &set->event);

	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(ours->job, ours->job->what->name, st, choir_last_error());
}

/* All in flight at once; the first time this way even for one call, since only events tell the algorithm. */
static int once_by_events(struct ours *ours)
{
	int worst = EXIT_FINE;

	for (int s = 0; s < ours->sets->n; s++) {
		int status = start(ours, &ours->sets->set[s]);

		if (status != EXIT_FINE)
			return status;
	}
	for (int s = 0; s < ours->sets->n; s++) {
		int status = finish(ours, &ours->sets->set[s]);

		worst = status > worst ? status : worst;
		ours->known = true;
	}
	return worst;
}

static int once(struct contender *self)
{
	struct ours *ours = (struct ours *)self;
	struct set *set = ours->sets->set;
	choir_status st;

	if (ours->sets->n > 1 || !ours->known)
		return once_by_events(ours);
	st = ours->job->what->call(&set->args, call_of(ours, set), NULL);
	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(ours->job, ours->job->what->name, st, choir_last_error());
}

static void touch(struct contender *self)
{
	struct ours *ours = (struct ours *)self;

	for (int s = 0; s < ours->sets->n; s++)
		check_touch(&ours->sets->set[s].buffers);
}

static int fill(struct contender *self)
{
	struct ours *ours = (struct ours *)self;

	for (int s = 0; s < ours->sets->n; s++)
		if (!check_fill(&ours->sets->set[s].buffers, ours->job))
			return EXIT_WRONG;
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct ours *ours = (struct ours *)self;

	*wrong_p = 0;
	for (int s = 0; s < ours->sets->n; s++) {
		uint64_t wrong;

		if (!check_count(&ours->sets->set[s].buffers, ours->job, &wrong))
			return EXIT_WRONG;
		*wrong_p += wrong;
	}
	return EXIT_FINE;
}

static void close_ours(struct contender *self)
{
	struct ours *ours = (struct ours *)self;

	if (ours->sets != NULL && --ours->sets->owners == 0) {
		for (int s = 0; s < ours->sets->n; s++)
			check_fini(&ours->sets->set[s].buffers);
		free(ours->sets);
	}
	free(ours);
}

static struct ours *make(const struct job *job, const char *algorithm)
{
	struct ours *ours = calloc(1, sizeof *ours);

	if (ours == NULL)
		return NULL;
	ours->base = (struct contender){ .name = "choir",
		                         .calls = job->args->in_flight,
		                         .once = once,
		                         .fill = fill,
		                         .verify = verify,
		                         .close = close_ours,
		                         .touch = job->args->fresh ? touch : NULL };
	ours->job = job;
	ours->wanted = algorithm;
	ours->call = ours_call(job->args, job->op, algorithm, ours->options);
	return ours;
}

static struct sets *make_sets(const struct job *job)
{
	struct sets *sets = calloc(1, sizeof *sets + (size_t)job->args->in_flight * sizeof *sets->set);

	if (sets == NULL)
		return NULL;
	for (sets->owners = 1; sets->n < job->args->in_flight; sets->n++) {
		struct set *set = &sets->set[sets->n];

		if (!check_init(&set->buffers, job))
			break;
		snprintf(set->key, sizeof set->key, "set/%d", sets->n);
		set->args = job_args(job, check_send(&set->buffers, job), check_recv(&set->buffers, job));
	}
	return sets;
}

struct contender *ours_open(const struct job *job, const char *algorithm)
{
	struct ours *ours = make(job, algorithm);

	if (ours == NULL)
		return NULL;
	ours->sets = make_sets(job);
	if (ours->sets != NULL && ours->sets->n == job->args->in_flight && fill(&ours->base) == EXIT_FINE)
		return &ours->base;
	close_ours(&ours->base);
	return NULL;
}

struct contender *ours_sibling(struct contender *self, const char *algorithm)
{
	struct ours *elder = (struct ours *)self, *ours = make(elder->job, algorithm);

	if (ours == NULL)
		return NULL;
	ours->sets = elder->sets;
	ours->sets->owners++;
	return &ours->base;
}

bool ours_fits(struct contender *self)
{
	struct ours *ours = (struct ours *)self;
	struct world *world = ours->job->world;
	struct set *set = ours->sets->set;
	choir_status st = ours->job->what->call(&set->args, call_of(ours, set), &set->event);
	int refused = st != CHOIR_SUCCESS;

	/* What an algorithm can do depends on what is the same everywhere; a rank alone with its opinion would wait for
	 * ever. */
	if (st != CHOIR_UNSUPPORTED && st != CHOIR_ARGUMENT && refused)
		world_fail(world, ours_failed(ours->job, ours->job->what->name, st, choir_last_error()));
	if (world_max_int(world, refused) != refused)
		world_fail(world, ours_failed(ours->job, ours->job->what->name, st, "another rank refused the call"));
	if (refused)
		return false;
	if (finish(ours, set) != EXIT_FINE)
		world_fail(world, EXIT_WRONG);
	ours->known = true;
	return ours->wanted == NULL || world_max_int(world, strcmp(ours->algorithm, ours->wanted) != 0) == 0;
}

const char *ours_algorithm(const struct contender *ours)
{
	return ((const struct ours *)ours)->algorithm;
}

uint64_t ours_wire_bytes(const struct contender *ours)
{
	return ((const struct ours *)ours)->wire_bytes;
}
