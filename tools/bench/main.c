/* SPDX-License-Identifier: MIT */
/* choir-bench: times and checks choir's collectives.  docs/bench.md is its manual. */
#include "bench/args/args.h"
#include "bench/report/compare.h"
#include "bench/report/header.h"
#include "bench/report/interrupt.h"
#include "kernel_mode.h"
#include "lib/flags.h"
#include "bench/ranks/place.h"
#include "bench/report/report.h"
#include "bench/run/run.h"
#include "bench/tune/tune_run.h"
#include "bench/ranks/watchdog.h"
#include "bench/ways/user_sum.h"

#include <choir/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRACE_S = 5 }; /* the library's own time-out comes first: it has more to say */

struct bench {
	const struct args *args;
	choir_device **devices; /* [local ranks] */
	choir_comm **comms;
};

static void print_log(void *ctx, int level, const char *text)
{
	(void)ctx;
	if (level <= 1)
		fprintf(stderr, "choir: %s\n", text);
}

/* Whether standard output is for a file that other programs read. */
static bool takes_stdout(const struct args *args)
{
	return (args->json_path != NULL && strcmp(args->json_path, "-") == 0) ||
	       (args->tune && args->tune_path == NULL);
}

/* One rank from its comm to its exit status. */
static int bench_rank(struct world *world, void *ctx)
{
	const struct bench *bench = ctx;
	const struct args *args = bench->args;
	int mine = world->has_mpi ? 0 : world->rank, status;
	bool to_text = world->rank == 0 && !takes_stdout(args);
	struct run run = { .args = args,
		           .world = world,
		           .device = bench->devices[mine],
		           .comm = bench->comms[mine],
		           .to_text = to_text };
	json_t *header;

	if (world_max_int(world, !run_fits(args, world) || (world->rank == 0 && report_ready(args) != EXIT_FINE)) !=
	    0) {
		if (world->rank == 0)
			report_remove_empty();
		return EXIT_USAGE;
	}
	world_warn_shared_cores(world);
	header = header_make(world, run.device);
	if (header != NULL)
		header_add_comm(header, world, run.comm);
	if (to_text && !args->csv)
		report_text_header(header);
	if (world->rank == 0)
		interrupt_keep(args, world, header, &run.results);
	status = args->tune ? tune_run(&run) : run_all(&run);
	if (world->rank == 0)
		interrupt_done();
	if (world->rank == 0 && status <= EXIT_WRONG) {
		int written = report_write(args, header, &run.results);

		status = status != EXIT_FINE ? status : written;
		status = status != EXIT_FINE ? status : report_judge_speed(args, &run.results);
	}
	if (world->rank == 0)
		report_remove_empty();
	if (to_text && status == EXIT_FINE && !args->csv)
		report_text_total(&run.results);
	if (world->rank == 0 && status == EXIT_WRONG)
		fprintf(stderr, "choir-bench: wrong data\n");
	json_decref(header);
	results_fini(&run.results);
	return world_max_int(world, status);
}

static int failed(const char *what, choir_status st)
{
	fprintf(stderr, "choir-bench: %s: %s: %s\n", what, choir_status_name(st), choir_last_error());
	return EXIT_WRONG;
}

static choir_comm_config config_of(const struct args *args)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = (int64_t)(args->timeout_s * 1000);
	config.name = "bench";
	return config;
}

static int bench_local(struct bench *bench)
{
	int n = bench->args->local, status = place_devices(bench->args, bench->args->local, bench->devices);
	choir_comm_config config = config_of(bench->args);
	choir_status st;

	if (status != EXIT_FINE)
		return status;
	st = choir_comm_create_local(n, bench->devices, &config, bench->comms);
	if (st != CHOIR_SUCCESS)
		return failed("choir_comm_create_local", st);
	status = world_run_local(n, bench_rank, bench);
	watchdog_stop();
	for (int r = 0; r < n; r++)
		choir_comm_destroy(bench->comms[r]);
	return status;
}

static int bench_mpi_rank(struct world *world, struct bench *bench)
{
	choir_comm_config config = config_of(bench->args);
	int status = place_device(bench->args, world->node_rank, &bench->devices[0]);
	choir_status st;

	status = world_max_int(world, status);
	if (status != EXIT_FINE)
		return status;
	st = choir_comm_create_mpi(world->comm, 1, bench->devices, &config, bench->comms);
	if (st != CHOIR_SUCCESS)
		status = failed("choir_comm_create_mpi", st);
	status = world_max_int(world, status);
	if (status == EXIT_FINE)
		status = bench_rank(world, bench);
	watchdog_stop();
	choir_comm_destroy(bench->comms[0]);
	return status;
}

static int bench_mpi(struct bench *bench)
{
	struct world world;
	int level, status;

	if (!world_open_mpi(&world, &level)) {
		fprintf(stderr, "choir-bench: MPI_Init_thread failed\n");
		return EXIT_WRONG;
	}
	status = bench_mpi_rank(&world, bench);
	world_close_mpi(&world, status);
	return status;
}

static int bench_main(const struct args *args)
{
	size_t n = args->local > 0 ? (size_t)args->local : 1;
	struct bench bench = { .args = args,
		               .devices = calloc(n, sizeof *bench.devices),
		               .comms = calloc(n, sizeof *bench.comms) };
	int status;

	if (bench.devices == NULL || bench.comms == NULL)
		return EXIT_WRONG;
	if (getenv("CHOIR_LOG") == NULL)
		choir_set_log(print_log, NULL);
	interrupt_watch();
	watchdog_start(args->timeout_s + GRACE_S);
	status = args->local > 0 ? bench_local(&bench) : bench_mpi(&bench);
	for (size_t i = 0; i < n; i++)
		choir_device_destroy(bench.devices[i]);
	free(bench.devices);
	free(bench.comms);
	return status;
}

static bool is_launched(void)
{
	const char *size = getenv("PMI_SIZE");

	return size != NULL && strtol(size, NULL, 10) > 1;
}

int main(int argc, char **argv)
{
	struct args args;
	char error[ARGS_ERROR_BYTES];
	int status = EXIT_USAGE;

	if (!args_parse(argc, (const char **)argv, &args, error)) {
		if (flags_speaks())
			fprintf(stderr, "choir-bench: %s\nchoir-bench --help tells more\n", error);
		return EXIT_USAGE;
	}
	if (args.told) {
		status = EXIT_FINE;
	} else if (kernel_mode_asked(&args)) {
		status = kernel_mode_run(argv, flags_speaks());
	} else if (args.compare_old != NULL) {
		status = compare_files(args.compare_old, args.compare_new, args.fail_over);
	} else if (args.local > 0 && is_launched()) {
		if (flags_speaks())
			fprintf(stderr, "choir-bench: --local makes its own ranks: start it without mpiexec\n");
	} else if (args.local > COLLECTIVE_MOST_RANKS) {
		fprintf(stderr, "choir-bench: more than %d ranks\n", COLLECTIVE_MOST_RANKS);
	} else if (!user_sum_create(&args)) {
		fprintf(stderr, "choir-bench: %s\n", choir_last_error());
	} else if (run_names_exist(&args, flags_speaks())) {
		status = bench_main(&args);
	}
	user_sum_destroy(&args);
	args_fini(&args);
	return status;
}
