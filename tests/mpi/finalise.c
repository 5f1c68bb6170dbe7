/* SPDX-License-Identifier: MIT */
/* The end of MPI: every process comes out of MPI_Finalize, though the last one makes progress while the others are on
 * their way there, which over TCP answers their last messages before it sends its own.
 * usage: mpiexec -n N mpi_finalise world|mixed|own
 *   world: the library initialises and finalises MPI     mixed: rank 0 calls MPI_Finalize itself
 *   own: the program initialises and finalises MPI
 * usage: mpiexec -n N mpi_finalise killed: rank 1 is killed: the others, which report in the file JOB_REPORT/rank
 *   (survivors.sh), come out of choir_finalize_world by the deadline
 * usage: mpi_finalise mute: alone, with a launcher that stops in the middle of its answer
 * usage: mpi_finalise met: alone, the library finalises, with a launcher that answers the first barrier only */
#include <choir/choir.h>
#include <choir/mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 300000, WATCHDOG_S = 110 };
#define LATE_S 0.3

static float values[COUNT];

static int fails(int rank, const char *what)
{
	fprintf(stderr, "rank %d: %s: %s\n", rank, what, choir_last_error());
	return EXIT_FAILURE;
}

static int broadcast_twice(choir_comm *comm)
{
	int rank = choir_comm_rank(comm);

	for (size_t i = 0; i < COUNT; i++)
		values[i] = 1;
	for (int root = 0; root < 2 && root < choir_comm_size(comm); root++)
		if (choir_broadcast(comm, choir_host(values), choir_host(values), COUNT, CHOIR_F32, root, NULL, NULL) !=
		    CHOIR_SUCCESS)
			return fails(rank, "broadcast");
	return EXIT_SUCCESS;
}

static void be_late(void)
{
	int found;

	for (double end = MPI_Wtime() + LATE_S; MPI_Wtime() < end;)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static const char *way;

/* MPI is there already, without a launcher. */
static int name_launcher(const char *answer)
{
	char text[16];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
	    send(ends[1], answer, strlen(answer), 0) != (ssize_t)strlen(answer))
		return -1;
	snprintf(text, sizeof text, "%d", ends[0]);
	return setenv("PMI_FD", text, 1);
}

/* The library's call comes here. */
__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int wanted, int *found)
{
	int rc = PMPI_Init_thread(argc, argv, wanted, found);

	if (strcmp(way, "mute") == 0)
		return name_launcher("cmd=barrier_out");
	return strcmp(way, "met") == 0 ? name_launcher("cmd=barrier_out\n") : rc;
}

static choir_status create(choir_device *device, choir_comm **comm_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int provided;

	config.ranks_per_node = strcmp(way, "killed") == 0 ? 0 : 1; /* CHOIR_RANKS_PER_NODE */
	if (strcmp(way, "own") != 0 && strcmp(way, "mute") != 0)
		return choir_comm_create_world(1, &device, &config, comm_p);
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
		return CHOIR_TRANSPORT;
	return choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, &config, comm_p);
}

/* Is there a launcher for the library to meet by?  As it says itself: Note [finalising together]. */
static bool meets_by_launcher(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	int length;

	MPI_Get_library_version(version, &length);
	return strstr(version, "ch4:ucx") != NULL && strstr(version, "--with-pmi") == NULL;
}

static choir_status finalise(int rank)
{
	bool ours = strcmp(way, "world") == 0 || strcmp(way, "met") == 0;

	if (!ours && (strcmp(way, "mixed") != 0 || rank == 0))
		return MPI_Finalize() == MPI_SUCCESS ? choir_finalize_world() : CHOIR_TRANSPORT;
	return choir_finalize_world();
}

/* Does not return.  mpiexec may lose what is printed after a death. */
static void end_without(choir_comm *comm, int rank)
{
	char name[512], done[512];
	choir_status dead, st, again;
	const char *folder = getenv("JOB_REPORT");
	FILE *file;

	if (rank == 1)
		raise(SIGKILL);
	dead = choir_barrier(comm, NULL, NULL);
	choir_comm_destroy(comm);
	st = choir_finalize_world();
	again = choir_finalize_world();
	snprintf(name, sizeof name, "%s/.%d", folder, rank);
	snprintf(done, sizeof done, "%s/%d", folder, rank);
	file = fopen(name, "w");
	if (file != NULL &&
	    fprintf(file, "rank %d %s: %s, %s: %s\n", rank,
	            dead != CHOIR_SUCCESS && st == CHOIR_TIMEOUT && again == st ? "survived" : "failed",
	            choir_status_name(dead), choir_status_name(st), choir_last_error()) > 0 &&
	    fclose(file) == 0)
		rename(name, done);
	exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	int rank, size, status;
	choir_status ended;

	way = argc > 1 ? argv[1] : "world";
	alarm(WATCHDOG_S);
	signal(SIGUSR1, SIG_IGN); /* of mpiexec at a death, as in failures.c */
	signal(SIGPIPE, SIG_IGN);
	if (choir_device_create_host(&device) != CHOIR_SUCCESS || create(device, &comm) != CHOIR_SUCCESS)
		return fails(-1, "create");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	status = broadcast_twice(comm);
	if (strcmp(way, "killed") == 0)
		end_without(comm, rank);
	choir_comm_destroy(comm);
	choir_device_destroy(device);
	if (rank == size - 1)
		be_late();
	if (strcmp(way, "met") == 0 && !meets_by_launcher()) {
		fprintf(stderr, "skipped: this MPI has no launcher that answers lines of PMI-1, or is not over UCX\n");
		return 77;
	}
	ended = finalise(rank);
	if (ended != (strcmp(way, "met") == 0 ? CHOIR_TIMEOUT : CHOIR_SUCCESS))
		return fails(rank, "finalise");
	return status;
}
