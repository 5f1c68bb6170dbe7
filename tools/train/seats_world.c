/* SPDX-License-Identifier: MIT */
#include "lib/leave_mpi.h"
#include "seats.h"
#include "tune.h"

#include <choir/mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* How many cores a rank of this machine has: of each that it may run on, its share among the ranks that may. */
static int cores_of(MPI_Comm node)
{
	int n_ranks[CPU_SETSIZE];
	cpu_set_t cores;
	double share = 0.001; /* thirds may come to a little less than one */

	CPU_ZERO(&cores);
	sched_getaffinity(0, sizeof cores, &cores);
	for (int c = 0; c < CPU_SETSIZE; c++)
		n_ranks[c] = CPU_ISSET(c, &cores) != 0;
	if (MPI_Allreduce(MPI_IN_PLACE, n_ranks, CPU_SETSIZE, MPI_INT, MPI_SUM, node) != MPI_SUCCESS)
		return 1;
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &cores))
			share += 1.0 / n_ranks[c];
	return share > 1 ? (int)share : 1;
}

/* CPU drivers start a thread a core in every process; ranks of one machine share the cores instead.  What the user has
 * set stays.  Before the first OpenCL call. */
static void share_cores(int n_cores)
{
	char text[16];

	snprintf(text, sizeof text, "%d", n_cores);
	setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
	setenv("DPCPP_CPU_NUM_CUS", text, 0); /* Intel's */
}

static void find_node(int *rank_p, int *cores_p)
{
	MPI_Comm node;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, rank_p);
	*cores_p = cores_of(node);
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
	int level, n_cores, status;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &seat.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &seat.size);
	find_node(&seat.node_rank, &n_cores);
	share_cores(n_cores);
	fail_rank(seat.size > 1 ? seat.rank : -1);
	status = train_at(options, text, &seat);
	if (status != EXIT_FINE)
		MPI_Abort(MPI_COMM_WORLD, status); /* the others may be waiting for this rank */
	leave_mpi(status);
	return status;
}
