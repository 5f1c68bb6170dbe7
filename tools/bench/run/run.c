/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "bench/cases/job.h"
#include "bench/step/overlap.h"
#include "bench/report/report.h"
#include "bench/sparse/sparse.h"
#include "bench/step/tensors.h"
#include "bench/topk/topk.h"
#include "bench/ranks/world.h"

#include "lib/number.h"

#include <stdio.h>
#include <string.h>

/* A pair of calls has no row. */
static bool is_measured(const struct collective_row *what)
{
	return what->about != NULL;
}

static const struct collective_row *find(const char *name)
{
	const struct collective_row *what = collective_find(name);

	return what != NULL && is_measured(what) ? what : NULL;
}

static void run_dense(struct run *run, const struct collective_row *what)
{
	run_collective(run, what, what->name, RESULT_DENSE, run_row);
}

/* May a rule be about it?  A form of another collective follows that one's. */
static bool has_rules(const struct collective_row *what)
{
	return what->asks == NULL;
}

static void run_every_dense(struct run *run)
{
	for (int i = 0; i < N_COLLECTIVE_ROWS; i++)
		if (is_measured(&collectives[i]) && (!run->args->tune || has_rules(&collectives[i])))
			run_dense(run, &collectives[i]);
}

static void run_overlap(struct run *run)
{
	overlap_run(run, "overlap", &collectives[ALLREDUCE]);
}

/* Words that are no case's name. */
static const struct {
	const char *name;
	void (*run)(struct run *run);
} others[] = {
	{ "all", run_every_dense },
	{ "sparse_allreduce", sparse_run },
	{ "topk", topk_run },
	{ "overlap", run_overlap },
};

static const struct collective_row *overlapped(const char *word)
{
	const struct collective_row *what = strncmp(word, "overlap_", 8) == 0 ? find(word + 8) : NULL;

	return what != NULL && what->kind != SPREAD_NOTHING ? what : NULL;
}

static bool word_exists(const char *word)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].name, word) == 0)
			return true;
	return find(word) != NULL || overlapped(word) != NULL;
}

static bool is_tuned(const char *word)
{
	return strcmp(word, "all") == 0 || strcmp(word, "sparse_allreduce") == 0 ||
	       (find(word) != NULL && has_rules(find(word)));
}

static void run_word(struct run *run, const char *word)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].name, word) == 0)
			others[i].run(run);
	if (find(word) != NULL)
		run_dense(run, find(word));
	if (overlapped(word) != NULL)
		overlap_run(run, word, overlapped(word));
}

bool run_names_exist(const struct args *args, bool says)
{
	const char *stranger = vs_check_names(args->vs, args->n_vs), *unknown = NULL, *stale = NULL, *single = NULL,
		   *untuned = NULL;

	single = args->trainer_path != NULL ? "--trainer" : args->tensors != NULL ? "--tensors" : NULL;
	for (int i = 0; i < args->n_collectives && unknown == NULL; i++) {
		if (strncmp(args->collectives[i], "overlap", strlen("overlap")) == 0)
			single = args->collectives[i];
		if (!word_exists(args->collectives[i]))
			unknown = args->collectives[i];
		else if (args->tune && !is_tuned(args->collectives[i]))
			untuned = args->collectives[i];
		else if (args->fresh && find(args->collectives[i]) == NULL && strcmp(args->collectives[i], "all") != 0)
			stale = args->collectives[i];
	}
	if (says && unknown != NULL) {
		fprintf(stderr, "choir-bench: there is no collective '%s'; there are:", unknown);
		for (int i = 0; i < N_COLLECTIVE_ROWS; i++)
			if (is_measured(&collectives[i]))
				fprintf(stderr, " %s", collectives[i].name);
		fputs(" sparse_allreduce, topk, overlap and overlap_NAME, and all for the dense ones\n", stderr);
	}
	if (says && stranger != NULL)
		fprintf(stderr,
		        "choir-bench: --vs: '%s' is none of mpi, staged, bound, dense, keyed, or named too often\n",
		        stranger);
	if (says && stale != NULL)
		fprintf(stderr, "choir-bench: --fresh is for dense collectives, not for '%s'\n", stale);
	if (says && untuned != NULL)
		fprintf(stderr, "choir-bench: --tune: no rule can be about '%s'\n", untuned);
	if (!args->all_algorithms)
		single = NULL;
	if (says && single != NULL)
		fprintf(stderr, "choir-bench: %s takes one --algorithm at a time\n", single);
	return unknown == NULL && stranger == NULL && stale == NULL && single == NULL && untuned == NULL;
}

bool run_fits(const struct args *args, const struct world *world)
{
	if (args->root < world->size && world->size <= COLLECTIVE_MOST_RANKS)
		return true;
	if (world->rank == 0 && world->size > COLLECTIVE_MOST_RANKS)
		fprintf(stderr, "choir-bench: more than %d ranks\n", COLLECTIVE_MOST_RANKS);
	else if (world->rank == 0)
		fprintf(stderr, "choir-bench: --root %d: there %s only %d rank%s\n", args->root,
		        world->size == 1 ? "is" : "are", world->size, number_plural(world->size));
	return false;
}

bool run_is_wrong(const struct run *run)
{
	uint64_t wrong = run->faults;

	for (size_t i = 0; i < run->results.n; i++)
		wrong += run->results.rows[i].wrong;
	return wrong > 0;
}

int run_all(struct run *run)
{
	const struct args *args = run->args;

	for (int i = 0; i < args->n_collectives; i++)
		run_word(run, args->collectives[i]);
	if (args->trainer_path != NULL)
		trainer_run(run);
	if (args->tensors != NULL)
		tensors_run(run);
	if (run->results.n == 0)
		return EXIT_USAGE;
	return run_is_wrong(run) ? EXIT_WRONG : EXIT_FINE;
}
