/* SPDX-License-Identifier: MIT */
/* The first argument names the case. */
#include "mpi_program.h"

#include <string.h>

int my_rank, my_size;

static const struct {
	const char *name;
	void (*run)(void);
	int level;
} cases[] = {
	{ "traffic", case_traffic, MPI_THREAD_MULTIPLE },   { "serialized", case_traffic, MPI_THREAD_SERIALIZED },
	{ "token", case_token, MPI_THREAD_MULTIPLE },       { "order", case_order, MPI_THREAD_MULTIPLE },
	{ "abort", case_abort, MPI_THREAD_MULTIPLE },       { "too_long", case_too_long, MPI_THREAD_MULTIPLE },
	{ "deadline", case_deadline, MPI_THREAD_MULTIPLE }, { "create", case_create, MPI_THREAD_MULTIPLE },
	{ "single", case_single, MPI_THREAD_SINGLE },       { "error", case_error, MPI_THREAD_MULTIPLE },
	{ "stopped", case_stopped, MPI_THREAD_MULTIPLE },   { "no_memory", case_no_memory, MPI_THREAD_MULTIPLE },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "traffic";
	int provided;

	if (strcmp(name, "world") == 0)
		return case_world();
	if (strcmp(name, "late") == 0) {
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
		MPI_Comm_size(MPI_COMM_WORLD, &my_size);
		return case_late();
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(name, cases[i].name) == 0) {
			MPI_Init_thread(&argc, &argv, cases[i].level, &provided);
			MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
			MPI_Comm_size(MPI_COMM_WORLD, &my_size);
			REQUIRE(provided == cases[i].level);
			cases[i].run();
			MPI_Finalize();
			return 0;
		}
	fprintf(stderr, "no case '%s'\n", name);
	return 2;
}
