/* SPDX-License-Identifier: MIT */
#include "world.h"

#include "cores.h"
#include "lib/leave_mpi.h"
#include "lib/meeting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void world_close_mpi(struct world *world, int status)
{
	if (world->meeting != NULL)
		munmap(world->meeting, meeting_bytes(world->size));
	MPI_Comm_free(&world->comm);
	leave_mpi(status);
}

void world_barrier(struct world *world)
{
	if (world->meeting != NULL)
		meeting_wait(world->meeting);
	else
		MPI_Barrier(world->comm);
}

bool world_crowded(const struct world *world)
{
	return world->meeting != NULL && meeting_crowded(world->meeting);
}

void world_gather(struct world *world, const void *mine, size_t bytes, void *all)
{
	if (world->meeting != NULL)
		meeting_gather(world->meeting, world->rank, mine, bytes, all);
	else
		MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, world->comm);
}

void world_warn_shared_cores(struct world *world)
{
	struct cores mine = cores_mine(), *all = malloc((size_t)world->size * sizeof *all);
	char text[CORES_WARNING_BYTES];

	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	world_gather(world, &mine, sizeof mine, all);
	if (world->rank == 0 && cores_warning(all, world->size, text))
		fprintf(stderr, "choir-bench: warning: %s\n", text);
	free(all);
}

void world_max(struct world *world, double *values, size_t n)
{
	double *all = malloc((size_t)world->size * n * sizeof *all);

	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	world_gather(world, values, n * sizeof *values, all);
	for (int r = 0; r < world->size; r++)
		for (size_t i = 0; i < n; i++)
			if (all[(size_t)r * n + i] > values[i])
				values[i] = all[(size_t)r * n + i];
	free(all);
}

int world_max_int(struct world *world, int value)
{
	double largest = value;

	world_max(world, &largest, 1);
	return (int)largest;
}

static int open_shared_of(int rank, const int *pid_and_fd)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid_and_fd[2 * rank], pid_and_fd[2 * rank + 1]);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Processes: rank 0 makes a memfd and the others open it through /proc, which needs no room in /dev/shm. */
static void *share_mpi(struct world *world, size_t bytes)
{
	int mine[2] = { getpid(), -1 }, *all = malloc((size_t)world->size * sizeof mine);
	void *shared = MAP_FAILED;
	int fd;

	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	if (world->rank == 0) {
		mine[1] = memfd_create("choir-bench", MFD_CLOEXEC);
		if (mine[1] >= 0 && ftruncate(mine[1], (off_t)bytes) != 0) {
			close(mine[1]);
			mine[1] = -1;
		}
	}
	world_gather(world, mine, sizeof mine, all);
	fd = world->rank == 0 ? mine[1] : open_shared_of(0, all);
	free(all);
	if (fd >= 0)
		shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (world_max_int(world, shared == MAP_FAILED) == 1) {
		if (shared != MAP_FAILED)
			munmap(shared, bytes);
		shared = NULL;
	}
	if (fd >= 0)
		close(fd);
	return shared;
}

void *world_share(struct world *world, size_t bytes)
{
	void *mine = NULL, **all;

	if (world->has_mpi)
		return share_mpi(world, bytes);
	if (world->rank == 0)
		mine = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	all = malloc((size_t)world->size * sizeof *all);
	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	world_gather(world, &mine, sizeof mine, all);
	mine = all[0];
	free(all);
	return mine == MAP_FAILED ? NULL : mine;
}

/* Without it, in a machine out of memory, MPI's barrier does. */
static void open_meeting(struct world *world)
{
	struct meeting *meeting = world_share(world, meeting_bytes(world->size));

	if (meeting == NULL)
		return;
	if (world->rank == 0)
		meeting_init(meeting, world->size);
	MPI_Barrier(world->comm);
	world->meeting = meeting;
}

bool world_open_mpi(struct world *world, int *level_p)
{
	MPI_Comm node;
	int node_size;

	*world = (struct world){ .has_mpi = true };
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, level_p) != MPI_SUCCESS)
		return false;
	/* A comm of our own: choir duplicates the world for itself. */
	MPI_Comm_dup(MPI_COMM_WORLD, &world->comm);
	MPI_Comm_rank(world->comm, &world->rank);
	MPI_Comm_size(world->comm, &world->size);
	MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &world->node_rank);
	MPI_Comm_size(node, &node_size);
	MPI_Comm_free(&node);
	world->one_node = node_size == world->size;
	if (world->one_node)
		open_meeting(world);
	return true;
}

void world_unshare(struct world *world, void *shared, size_t bytes)
{
	world_barrier(world);
	if (shared != NULL && (world->has_mpi || world->rank == 0))
		munmap(shared, bytes);
}

void world_fail(struct world *world, int status)
{
	fflush(NULL);
	/* The other ranks may be saying why they failed, and mpiexec forgets what it has not read yet: a moment for
	 * both. */
	usleep(200000);
	if (world->has_mpi)
		MPI_Abort(MPI_COMM_WORLD, status);
	_exit(status);
}
