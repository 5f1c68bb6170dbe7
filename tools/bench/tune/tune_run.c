/* SPDX-License-Identifier: MIT */
#include "tune_run.h"

#include "bench/sparse/sparse.h"
#include "tune.h"
#include "tune_costs.h"
#include "bench/ranks/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_rules(const struct run *run)
{
	const char *path = run->args->tune_path;
	FILE *to = path != NULL ? fopen(path, "w") : stdout;
	char device[160] = "", *comm = NULL;
	struct tune_place place = { .ranks = run->world->size,
		                    .nodes = choir_comm_nodes(run->comm),
		                    .device = device,
		                    .iterations = run->args->iterations };
	bool written = to != NULL;

	clGetDeviceInfo(choir_device_id(run->device), CL_DEVICE_NAME, sizeof device - 1, device, NULL);
	if (to != NULL) {
		tune_write(to, &run->results, &place);
		if (choir_comm_json(run->comm, &comm) == CHOIR_SUCCESS)
			tune_costs_write(to, &run->results, comm);
		free(comm);
		written = !ferror(to) && (to == stdout ? fflush(to) : fclose(to)) == 0;
	}
	if (written)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: %s cannot be written: %s\n", path != NULL ? path : "standard output",
	        strerror(errno));
	return EXIT_USAGE;
}

/* sparse_allreduce has costs instead of rules; it is measured apart. */
static bool take_sparse(struct args *args)
{
	int n = 0;

	for (int i = 0; i < args->n_collectives; i++)
		if (strcmp(args->collectives[i], "sparse_allreduce") != 0)
			args->collectives[n++] = args->collectives[i];
	n -= args->n_collectives;
	args->n_collectives += n;
	return n < 0;
}

/* Few and many pairs, narrow and wide, thin and dense: so that each constant counts somewhere. */
static void run_sparse(struct run *run, struct args *args)
{
	static const struct {
		size_t rows, width, range;
		enum args_ids ids;
	} shapes[] = {
		{ 64, 1, 100000, IDS_UNIFORM },     { 4096, 64, 43056, IDS_ZIPF },      { 1024, 16, 2000, IDS_ZIPF },
		{ 20000, 1, 1000000, IDS_UNIFORM }, { 100000, 1, 500000, IDS_UNIFORM },
	};

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		args->sparse.rows = args->rows[0] = shapes[i].rows;
		args->sparse.width = shapes[i].width;
		args->sparse.range = shapes[i].range;
		args->sparse.ids = shapes[i].ids;
		args->n_rows = 1;
		sparse_run(run);
	}
}

int tune_run(struct run *run)
{
	const struct args *given = run->args;
	struct args args = *given;
	bool one_node = choir_comm_nodes(run->comm) == 1;
	bool sparse = take_sparse(&args);
	int status = EXIT_FINE;

	run->args = &args;
	args.memory = MEMORY_SYMMETRIC;
	if (one_node && args.n_collectives > 0)
		status = run_all(run);
	args.memory = given->memory == MEMORY_SYMMETRIC ? MEMORY_HOST : given->memory;
	if (status == EXIT_FINE && args.n_collectives > 0)
		status = run_all(run);
	if (sparse)
		run_sparse(run, &args);
	if (run_is_wrong(run))
		status = EXIT_WRONG;
	run->args = given;
	if (status == EXIT_FINE && run->world->rank == 0)
		status = write_rules(run);
	return status;
}
