/* SPDX-License-Identifier: MIT */
/* Run by mpiexec: mpi_world [layouts] CASE...  The layout comes from CHOIR_RANKS_PER_NODE; with "layouts" all cases run
 * as the machine is, then with each rank a node, then with two a node.  0: all ranks passed; 1: a rank did not; 2:
 * usage. */
#include "mpi/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mpi_case {
	const char *name;
	void (*run)(struct job *);
	int level;
} cases[] = {
	{ "matrix", case_matrix, MPI_THREAD_MULTIPLE },     { "serialized", case_matrix, MPI_THREAD_SERIALIZED },
	{ "oracle", case_oracle, MPI_THREAD_MULTIPLE },     { "locals", case_locals, MPI_THREAD_MULTIPLE },
	{ "split", case_split, MPI_THREAD_MULTIPLE },       { "sparse", case_sparse, MPI_THREAD_MULTIPLE },
	{ "flights", case_flights, MPI_THREAD_MULTIPLE },   { "mismatch", case_mismatch, MPI_THREAD_MULTIPLE },
	{ "silent", case_silent, MPI_THREAD_MULTIPLE },     { "abort", case_abort, MPI_THREAD_MULTIPLE },
	{ "funneled", case_funneled, MPI_THREAD_FUNNELED }, { "refused", case_refused, MPI_THREAD_FUNNELED },
	{ "killed", case_killed, MPI_THREAD_MULTIPLE },     { "symmetric", case_symmetric, MPI_THREAD_MULTIPLE },
	{ "multi", case_multi, MPI_THREAD_MULTIPLE },       { "op", case_op, MPI_THREAD_MULTIPLE },
	{ "starts", case_starts, MPI_THREAD_MULTIPLE },     { "few", case_starts_refused, MPI_THREAD_FUNNELED },
	{ "lists", case_lists, MPI_THREAD_MULTIPLE },       { "keys", case_keys, MPI_THREAD_MULTIPLE },
	{ "tags", case_tags, MPI_THREAD_MULTIPLE },         { "sequences", case_sequences, MPI_THREAD_MULTIPLE },
	{ "order", case_order, MPI_THREAD_MULTIPLE },
};

static const struct mpi_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

static bool run(struct job *job, char **names, const char *layout)
{
	char what[80];
	bool good = true;

	for (; *names != NULL && good; names++) {
		snprintf(what, sizeof what, "%s%s%s", *names, layout != NULL ? ", ranks a node: " : "",
		         layout != NULL ? layout : "");
		find(*names)->run(job);
		good = job_agree(job, what);
	}
	return good;
}

static bool run_in_layouts(struct job *job, char **names)
{
	static const char *const layouts[] = { "0", "1", "2" };
	bool good = true;

	for (size_t i = 0; i < sizeof layouts / sizeof *layouts && good; i++) {
		setenv("CHOIR_RANKS_PER_NODE", layouts[i], 1);
		good = run(job, names, layouts[i]);
	}
	return good;
}

int main(int argc, char **argv)
{
	enum { WATCHDOG_S = 120 };
	struct job job;
	bool layouts = argc > 1 && strcmp(argv[1], "layouts") == 0, good;
	char **names = argv + 1 + layouts;

	for (int i = 0; names[i] != NULL; i++)
		if (find(names[i]) == NULL) {
			fprintf(stderr, "no case '%s'\n", names[i]);
			return 2;
		}
	if (argc < 2 + layouts)
		return 2;
	job_begin(&job, find(names[0])->level, WATCHDOG_S);
	good = layouts ? run_in_layouts(&job, names) : run(&job, names, NULL);
	job_end(&job, good);
	return good ? 0 : 1;
}
