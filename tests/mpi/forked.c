/* SPDX-License-Identifier: MIT */
/* A process forks while another thread of it is in a call that begins MPI, which holds the library's locks.  The child
 * has its own MPI where its parent's had not begun, else it is refused.
 * usage: mpi_forked own: it forks when the program has initialised MPI itself, and the library has not used it yet */
#include "need.h"

#include <choir/choir.h>
#include <choir/mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_S = 30 };

static sem_t inside, go_on;
static choir_device *device;

static void wait_inside(void)
{
	sem_post(&inside);
	sem_wait(&go_on);
}

/* The library's call comes here. */
__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int wanted, int *found)
{
	wait_inside();
	return PMPI_Init_thread(argc, argv, wanted, found);
}

static int copy(void *ctx, const void *mine, size_t bytes, void *all)
{
	(void)ctx;
	memcpy(all, mine, bytes);
	return 0;
}

static int wait_and_fail(void *ctx, const void *mine, size_t bytes, void *all)
{
	(void)ctx, (void)mine, (void)bytes, (void)all;
	wait_inside();
	return 1;
}

static choir_status create_alone(int (*gather)(void *, const void *, size_t, void *), choir_comm **comm_p)
{
	choir_bootstrap bootstrap = { .struct_size = sizeof bootstrap, .size = 1, .gather = gather };

	return choir_comm_create_gather(&bootstrap, 1, &device, NULL, comm_p);
}

static bool is_refused(choir_status st)
{
	return st == CHOIR_ARGUMENT && strstr(choir_last_error(), "MPI belongs to the process before fork") != NULL;
}

static int refused_in_child(void)
{
	choir_comm *comm = NULL;
	choir_event *event = NULL;

	NEED(is_refused(choir_comm_create_world(1, &device, NULL, &comm)));
	NEED(is_refused(choir_comm_create_mpi(MPI_COMM_WORLD, 1, &device, NULL, &comm)));
	NEED(is_refused(choir_comm_create_mpi_start(MPI_COMM_WORLD, 1, &device, NULL, &comm, &event)));
	NEED(is_refused(create_alone(copy, &comm)));
	NEED(is_refused(choir_finalize_world()));
	NEED(comm == NULL && event == NULL);
	return 0;
}

static int fresh_in_child(void)
{
	choir_comm *comm = NULL;

	sem_post(&go_on);
	NEED(create_alone(copy, &comm) == CHOIR_SUCCESS);
	NEED(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	return 0;
}

/* The exit status of run in a child that is forked while a thread is in call. */
static int forked_inside(void *(*call)(void *), int (*run)(void))
{
	pthread_t thread;
	int status = -1;
	pid_t child;

	NEED(pthread_create(&thread, NULL, call, NULL) == 0);
	sem_wait(&inside);
	child = fork();
	if (child == 0) {
		alarm(CHILD_S);
		_exit(run());
	}
	NEED(waitpid(child, &status, 0) == child);
	sem_post(&go_on);
	pthread_join(thread, NULL);
	return status;
}

static void *begin_gather(void *unused)
{
	choir_comm *comm = NULL;

	(void)create_alone(wait_and_fail, &comm);
	return unused;
}

static void *begin_world(void *unused)
{
	choir_comm *comm = NULL;

	if (choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_SUCCESS)
		choir_comm_destroy(comm);
	return unused;
}

static int forked_before_use(void)
{
	int provided, status = -1;
	pid_t child;

	NEED(PMPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
	child = fork();
	if (child == 0) {
		alarm(CHILD_S);
		_exit(refused_in_child());
	}
	NEED(waitpid(child, &status, 0) == child && status == 0);
	NEED(MPI_Finalize() == MPI_SUCCESS);
	return 0;
}

int main(int argc, char **argv)
{
	int bad;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	if (argc > 1 && strcmp(argv[1], "own") == 0) {
		bad = forked_before_use();
		choir_device_destroy(device);
		return bad;
	}
	NEED(forked_inside(begin_gather, fresh_in_child) == 0);
	NEED(forked_inside(begin_world, refused_in_child) == 0);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	choir_device_destroy(device);
	return 0;
}
