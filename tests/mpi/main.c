/* SPDX-License-Identifier: MIT */
/* Run by mpiexec: mpi_world CASE...  The layout comes from CHOIR_RANKS_PER_NODE.  0: all ranks passed; 1: a rank did not; 2: usage. */
#include "mpi/cases.h"

#include <stdio.h>
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
	{ "multi", case_multi, MPI_THREAD_MULTIPLE },
};

static const struct mpi_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

int main(int argc, char **argv)
{
	enum { WATCHDOG_S = 120 };
	struct job job;
	bool good = true;

	for (int i = 1; i < argc; i++)
		if (find(argv[i]) == NULL) {
			fprintf(stderr, "no case '%s'\n", argv[i]);
			return 2;
		}
	if (argc < 2)
		return 2;
	job_begin(&job, find(argv[1])->level, WATCHDOG_S);
	for (int i = 1; i < argc && good; i++) {
		find(argv[i])->run(&job);
		good = job_agree(&job, argv[i]);
	}
	job_end(&job, good);
	return good ? 0 : 1;
}
