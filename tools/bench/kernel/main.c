/* SPDX-License-Identifier: MIT */
/* choir-bench-kernel: what `choir-bench kernel NAME...` becomes (bench/kernel_mode.h).  All ranks run each kernel at
 * once, each on data of its own. */
#include "bench/report/header.h"
#include "bench/report/interrupt.h"
#include "bench/ranks/place.h"
#include "bench/report/report.h"
#include "bench/ranks/watchdog.h"
#include "bench/ways/user_sum.h"
#include "lib/flags.h"
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

/* Without a comm, ranks of the same host name are of one node. */
static void add_nodes(json_t *header, struct world *world)
{
	char mine[HOST_BYTES] = "", *all = calloc((size_t)world->size, HOST_BYTES);
	json_t *layout = json_array();
	int nodes = 0, *node = calloc((size_t)world->size, sizeof *node);

	if (all == NULL || node == NULL)
		world_fail(world, EXIT_WRONG);
	gethostname(mine, sizeof mine - 1);
	world_gather(world, mine, sizeof mine, all);
	for (int r = 0; r < world->size; r++) {
		node[r] = nodes;
		for (int s = 0; s < r && node[r] == nodes; s++)
			if (strcmp(all + (size_t)r * HOST_BYTES, all + (size_t)s * HOST_BYTES) == 0)
				node[r] = node[s];
		nodes += node[r] == nodes;
		json_array_append_new(layout, json_integer(node[r]));
	}
	if (header != NULL) {
		json_object_set_new(header, "nodes", json_integer(nodes));
		json_object_set(header, "node_layout", layout);
		json_object_set_new(header, "comm_info", json_object());
	}
	json_decref(layout);
	free(node);
	free(all);
}

static int finish(struct run *run, const json_t *header, int status)
{
	if (status > EXIT_WRONG)
		return status;
	if (status == EXIT_WRONG)
		fprintf(stderr, "choir-bench: wrong data\n");
	else if (run->to_text && !run->args->csv)
		report_text_total(&run->results);
	if (report_write(run->args, header, &run->results) != EXIT_FINE && status == EXIT_FINE)
		status = EXIT_USAGE;
	return status != EXIT_FINE ? status : report_judge_speed(run->args, &run->results);
}

struct bench {
	const struct args *args;
	choir_device **devices; /* [local ranks] */
};

static int bench_rank(struct world *world, void *ctx)
{
	const struct bench *bench = ctx;
	const struct args *args = bench->args;
	bool to_text = world->rank == 0 && (args->json_path == NULL || strcmp(args->json_path, "-") != 0);
	struct run run = { .args = args,
		           .world = world,
		           .device = bench->devices[world->has_mpi ? 0 : world->rank],
		           .to_text = to_text };
	json_t *header = header_make(world, run.device);
	int status;

	if (world_max_int(world, world->rank == 0 && report_ready(args) != EXIT_FINE) != 0) {
		json_decref(header);
		return EXIT_USAGE;
	}
	world_warn_shared_cores(world);
	add_nodes(header, world);
	if (to_text && !args->csv)
		report_text_header(header);
	if (world->rank == 0)
		interrupt_keep(args, world, header, &run.results);
	status = rows_run(&run);
	if (world->rank == 0)
		interrupt_done();
	if (world->rank == 0)
		status = finish(&run, header, status);
	json_decref(header);
	results_fini(&run.results);
	return world_max_int(world, status);
}

static int bench_mpi(struct bench *bench)
{
	struct world world;
	int level, status;

	if (!world_open_mpi(&world, &level)) {
		fprintf(stderr, "choir-bench: MPI_Init_thread failed\n");
		return EXIT_WRONG;
	}
	status = world_max_int(&world, place_device(bench->args, world.node_rank, &bench->devices[0]));
	if (status == EXIT_FINE)
		status = bench_rank(&world, bench);
	watchdog_stop();
	world_close_mpi(&world, status);
	return status;
}

static int bench_local(struct bench *bench)
{
	int status = EXIT_FINE;

	for (int r = 0; r < bench->args->local && status == EXIT_FINE; r++)
		status = place_device(bench->args, r, &bench->devices[r]);
	if (status == EXIT_FINE)
		status = world_run_local(bench->args->local, bench_rank, bench);
	watchdog_stop();
	return status;
}

static int bench_main(const struct args *args)
{
	size_t n = args->local > 0 ? (size_t)args->local : 1;
	struct bench bench = { .args = args, .devices = calloc(n, sizeof *bench.devices) };
	int status;

	if (bench.devices == NULL)
		return EXIT_WRONG;
	interrupt_watch();
	watchdog_start(args->timeout_s);
	status = args->local > 0 ? bench_local(&bench) : bench_mpi(&bench);
	for (size_t i = 0; i < n; i++)
		choir_device_destroy(bench.devices[i]);
	free(bench.devices);
	return status;
}

/* What makes no sense for kernels. */
static const char *complaint(const struct args *args)
{
	if (args->memory != MEMORY_DEVICE && args->memory != MEMORY_HOST)
		return "kernels run in --memory device or host";
	for (int i = 0; i < args->n_vs; i++)
		if (strcmp(args->vs[i], "bound") != 0 && strcmp(args->vs[i], "builtin") != 0)
			return "kernels have --vs bound and builtin, and nothing else";
	return args->all_algorithms ? "kernels take one --algorithm" : NULL;
}

int main(int argc, char **argv)
{
	bool speaks = flags_speaks();
	struct args args;
	char error[ARGS_ERROR_BYTES];
	int status = EXIT_USAGE;

	if (!args_parse(argc, (const char **)argv, &args, error)) {
		fprintf(stderr, "choir-bench: %s\n", error);
		return EXIT_USAGE;
	}
	if (args.told)
		return EXIT_FINE;
	if (args.n_vs == 0)
		args.vs[args.n_vs++] = "bound";
	if (complaint(&args) != NULL && speaks)
		fprintf(stderr, "choir-bench: %s\n", complaint(&args));
	if (complaint(&args) == NULL && rows_names_exist(&args, speaks)) {
		if (user_sum_create(&args))
			status = bench_main(&args);
		else
			fprintf(stderr, "choir-bench: %s\n", choir_last_error());
		user_sum_destroy(&args);
	}
	args_fini(&args);
	return status;
}
