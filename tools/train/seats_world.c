/* SPDX-License-Identifier: MIT */
#include "lib/leave_mpi.h"
#include "seats.h"
#include "tune.h"

#include <choir/mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* CPU drivers start a thread a core in every process; ranks of one machine share the cores instead.  What the user has set stays.  Before
 * the first OpenCL call. */
static void share_cores(int n_ranks)
{
	cpu_set_t cores;
	char text[16];
	int n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;

	snprintf(text, sizeof text, "%d", n > n_ranks ? n / n_ranks : 1);
	setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
	setenv("DPCPP_CPU_NUM_CUS", text, 0); /* Intel's */
}

static void find_node(int *rank_p, int *size_p)
{
	MPI_Comm node;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, rank_p);
	MPI_Comm_size(node, size_p);
	MPI_Comm_free(&node);
}

static int train_at(const struct options *options, const struct text *text, struct seat *seat)
{
	choir_status st = choir_device_create_default(seat->node_rank, &seat->device);

	if (st != CHOIR_SUCCESS) {
		fail_choir("no OpenCL device", st);
		return EXIT_NO_DEVICE;
	}
	st = tune(choir_device_id(seat->device));
	if (st == CHOIR_SUCCESS && options->via == VIA_CHOIR) {
		st = choir_comm_create_world(1, &seat->device, NULL, &seat->comm);
		if (st != CHOIR_SUCCESS)
			fail_choir("choir_comm_create_world", st);
	}
	if (st == CHOIR_SUCCESS)
		st = train_run(options, text, seat);
	if (st == CHOIR_SUCCESS && seat->comm && choir_comm_destroy(seat->comm) != CHOIR_SUCCESS)
		st = fail_choir("choir_comm_destroy", choir_comm_status(seat->comm));
	choir_device_destroy(seat->device);
	return st == CHOIR_SUCCESS ? EXIT_FINE : EXIT_FAILED;
}

int seats_world(const struct options *options, const struct text *text)
{
	struct seat seat = { 0 };
	int level, node_size, status;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &seat.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &seat.size);
	find_node(&seat.node_rank, &node_size);
	share_cores(node_size);
	fail_rank(seat.size > 1 ? seat.rank : -1);
	status = train_at(options, text, &seat);
	if (status != EXIT_FINE)
		MPI_Abort(MPI_COMM_WORLD, status); /* the others may be waiting for this rank */
	leave_mpi(status);
	return status;
}
