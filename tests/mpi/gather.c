/* SPDX-License-Identifier: MIT */
/* choir_comm_create_gather: forked processes start MPI from a gather of their own, without mpiexec.  Each process is a
 * node, so MPI carries the data. */
#include "need.h"

#include "lib/ranks.h"

#include <choir/choir.h>
#include <choir/mpi.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MS = 60000, END_MS = 120000, COUNT = 100000 };

static choir_comm_config config_of(void)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.deadline_ms = DEADLINE_MS;
	config.ranks_per_node = 1;
	return config;
}

static int sum_is_right(choir_comm *comm, int n)
{
	static double data[COUNT];

	for (int i = 0; i < COUNT; i++)
		data[i] = choir_comm_rank(comm) + i;
	NEED(choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_F64, CHOIR_OP_SUM, NULL, NULL) ==
	     CHOIR_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		NEED(data[i] == n * (n - 1) / 2 + (double)n * i);
	return 0;
}

/* Two comms one after another: MPI starts once. */
static int run_twice(const struct rank *me, void *unused)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	int bad = 0;

	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	for (int turn = 0; turn < 2; turn++) {
		NEED(choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm) == CHOIR_SUCCESS);
		NEED(choir_comm_nodes(comm) == me->n && choir_comm_rank(comm) == me->rank);
		NEED(getenv("PMI_FD") == NULL && getenv("PMI_RANK") == NULL);
		bad |= sum_is_right(comm, me->n);
		NEED(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	}
	choir_device_destroy(device);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	return bad;
}

/* Rank 0's gather fails while MPI starts, or writes nothing: no process ends, hangs or gets a comm. */
struct failing {
	choir_bootstrap inner;
	int left;
	int result;
};

static int fail_later(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct failing *failing = ctx;

	return failing->left-- == 0 ? failing->result : failing->inner.gather(failing->inner.ctx, mine, bytes, all);
}

static int run_failing(const struct rank *me, int result)
{
	struct failing failing = { .inner = rank_bootstrap(me), .left = 2, .result = result };
	choir_bootstrap bootstrap = failing.inner;
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_status st;

	bootstrap.gather = fail_later;
	bootstrap.ctx = &failing;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == CHOIR_TRANSPORT && strstr(choir_last_error(), "while MPI starts") != NULL);
	failing.left = 1000;
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == CHOIR_UNSUPPORTED && strstr(choir_last_error(), "could not start MPI before") != NULL);
	choir_device_destroy(device);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	return 0;
}

static int run_failure(const struct rank *me, void *unused)
{
	(void)unused;
	return run_failing(me, 1);
}

static int run_silence(const struct rank *me, void *unused)
{
	(void)unused;
	return run_failing(me, 0);
}

/* Rank 0 has initialised MPI by itself: all are told.  Then its world of one rank, where a launcher started two. */
static int run_foreign(const struct rank *me, void *unused)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_status st;

	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	if (me->rank == 0)
		MPI_Init(NULL, NULL);
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == CHOIR_UNSUPPORTED && strstr(choir_last_error(), "process 0 has initialised MPI itself") != NULL);
	if (me->rank == 0) {
		setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
		st = choir_comm_create_world(1, &device, &config, &comm);
		NEED(st == CHOIR_UNSUPPORTED && strstr(choir_last_error(), "OMPI_COMM_WORLD_SIZE=2") != NULL);
		unsetenv("OMPI_COMM_WORLD_SIZE");
		setenv("SLURM_NTASKS", "2", 1); /* of a batch script: no step was started */
		NEED(choir_comm_create_world(1, &device, &config, &comm) == CHOIR_SUCCESS);
		NEED(choir_comm_destroy(comm) == CHOIR_SUCCESS);
		setenv("SLURM_STEP_ID", "0", 1);
		st = choir_comm_create_world(1, &device, &config, &comm);
		NEED(st == CHOIR_UNSUPPORTED && strstr(choir_last_error(), "srun --mpi=pmi2") != NULL);
		MPI_Finalize();
	}
	choir_device_destroy(device);
	return 0;
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (folder != NULL && readdir(folder) != NULL)
		n++;
	if (folder != NULL)
		closedir(folder);
	return n;
}

static void set_default_stack(size_t bytes)
{
	pthread_attr_t attr;

	pthread_getattr_default_np(&attr);
	pthread_attr_setstacksize(&attr, bytes);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

/* No thread can be made for MPI_Init, since none may have so large a stack. */
static int run_without_thread(const struct rank *me, void *unused)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_status st;
	int before;

	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	before = open_descriptors();
	set_default_stack((size_t)1 << 47);
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == CHOIR_NO_MEMORY && strstr(choir_last_error(), "no thread to start MPI") != NULL);
	NEED(open_descriptors() == before && getenv("PMI_FD") == NULL);
	choir_device_destroy(device);
	return 0;
}

/* Process 0 cannot make that thread: the other is told, and both may try again. */
static int run_unable(const struct rank *me, void *unused)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_status st;

	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	if (me->rank == 0)
		set_default_stack((size_t)1 << 47);
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == (me->rank == 0 ? CHOIR_NO_MEMORY : CHOIR_UNSUPPORTED) && comm == NULL);
	NEED(me->rank == 0 || strstr(choir_last_error(), "process 0 has no memory, descriptor or thread") != NULL);
	NEED(getenv("PMI_FD") == NULL);
	set_default_stack((size_t)8 << 20);
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm) == CHOIR_SUCCESS);
	NEED(choir_barrier(comm, NULL, NULL) == CHOIR_SUCCESS && choir_comm_destroy(comm) == CHOIR_SUCCESS);
	choir_device_destroy(device);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	return 0;
}

static bool ignores_launcher, swaps_ranks;

/* The library's call comes here. */
__attribute__((visibility("default"))) int setenv(const char *name, const char *value, int overwrite)
{
	int (*real)(const char *, const char *, int) = NULL;

	if (ignores_launcher && strncmp(name, "PMI_", 4) == 0)
		return 0;
	if (swaps_ranks && strcmp(name, "PMI_RANK") == 0)
		value = value[0] == '1' ? "2" : "1";
	*(void **)&real = dlsym(RTLD_NEXT, "setenv");
	return real(name, value, overwrite);
}

/* MPI took another launcher: all processes are told, and none makes a comm of its own after that. */
static int is_refused(const struct rank *me, const char *words)
{
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_status st;

	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	st = choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm);
	NEED(st == CHOIR_UNSUPPORTED && comm == NULL);
	NEED(strstr(choir_last_error(), words) != NULL);
	st = choir_comm_create_world(1, &device, &config, &comm);
	NEED(st == CHOIR_UNSUPPORTED && strstr(choir_last_error(), "this process could not start MPI before") != NULL);
	choir_device_destroy(device);
	return 0;
}

/* MPI begins in each process alone: none computes with itself in silence. */
static int run_apart(const struct rank *me, void *unused)
{
	(void)unused;
	ignores_launcher = true;
	return is_refused(me, "process 0 of 2 is its rank 0 of 1");
}

/* Two of three processes have each other's number in MPI; the one whose number is right is told too. */
static int run_swapped(const struct rank *me, void *unused)
{
	(void)unused;
	swaps_ranks = me->rank > 0;
	return is_refused(me, "process 1 of 3 is its rank 2 of 3");
}

/* The program has had its own MPI, and the library no part in it. */
static int run_finalised(const struct rank *me, void *unused)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;

	(void)me;
	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	MPI_Init(NULL, NULL);
	MPI_Finalize();
	NEED(choir_comm_create_world(1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(strstr(choir_last_error(), "MPI is finalised already") != NULL);
	NEED(choir_comm_create_world(0, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(strstr(choir_last_error(), "choir_comm_create_world: n_local is 0") != NULL);
	choir_device_destroy(device);
	return 0;
}

/* A caller's older, shorter struct: without ctx. */
static int gather_alone(void *ctx, const void *mine, size_t bytes, void *all)
{
	if (ctx != NULL)
		return 1;
	memcpy(all, mine, bytes);
	return 0;
}

static int run_shorter(const struct rank *me, void *unused)
{
	choir_bootstrap bootstrap = {
		.struct_size = offsetof(choir_bootstrap, ctx), .size = 1, .gather = gather_alone, .ctx = &bootstrap
	};
	choir_comm_config config = config_of();
	choir_device *device = NULL;
	choir_comm *comm = NULL;

	(void)me;
	(void)unused;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, &config, &comm) == CHOIR_SUCCESS);
	NEED(choir_comm_size(comm) == 1);
	NEED(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	choir_device_destroy(device);
	NEED(choir_finalize_world() == CHOIR_SUCCESS);
	return 0;
}

static int refuse_arguments(void)
{
	choir_bootstrap bootstrap = { .struct_size = sizeof bootstrap, .size = 1 };
	choir_device *device = NULL;
	choir_comm *comm = NULL;

	NEED(choir_comm_create_gather(NULL, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	bootstrap.gather = fail_later;
	NEED(choir_comm_create_gather(&bootstrap, 0, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(choir_comm_create_gather(&bootstrap, 1, NULL, NULL, &comm) == CHOIR_ARGUMENT);
	bootstrap.rank = 1;
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(strstr(choir_last_error(), "no process 1 of 1") != NULL);
	bootstrap.rank = 0;
	bootstrap.struct_size = sizeof bootstrap + 8;
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(strstr(choir_last_error(), "this library knows") != NULL);
	bootstrap.struct_size = offsetof(choir_bootstrap, ctx) + 4; /* inside a member */
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	NEED(strstr(choir_last_error(), "this library knows") != NULL);
	bootstrap.struct_size = 0;
	NEED(choir_comm_create_gather(&bootstrap, 1, &device, NULL, &comm) == CHOIR_ARGUMENT);
	return 0;
}

static int run_world(int n, int (*run)(const struct rank *me, void *), const char *what)
{
	char why[RANKS_WHY_BYTES];
	struct ranks ranks;

	ranks_fork(&ranks, n, n, run, NULL);
	ranks_join(&ranks, END_MS);
	if (ranks_are_good(&ranks, -1, why))
		return 0;
	fprintf(stderr, "%d processes, %s: %s\n", n, what, why);
	return 1;
}

int main(int argc, char **argv)
{
	int bad = refuse_arguments(), turns = argc > 1 ? atoi(argv[1]) : 1;

	for (int turn = 0; turn < turns; turn++) {
		bad |= run_world(2, run_twice, "two comms");
		bad |= run_world(3, run_twice, "two comms");
	}
	bad |= run_world(2, run_failure, "a gather fails");
	bad |= run_world(2, run_silence, "a gather writes nothing");
	bad |= run_world(2, run_foreign, "MPI is there");
	bad |= run_world(1, run_shorter, "a shorter bootstrap");
	bad |= run_world(1, run_without_thread, "no thread");
	bad |= run_world(2, run_unable, "one has no thread");
	bad |= run_world(2, run_apart, "MPI asks no launcher");
	bad |= run_world(3, run_swapped, "MPI has other numbers");
	bad |= run_world(1, run_finalised, "MPI is finalised");
	return bad;
}
