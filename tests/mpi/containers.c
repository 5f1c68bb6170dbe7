/* SPDX-License-Identifier: MIT */
/* Ranks of one machine in user and pid namespaces of their own, as in containers, are one node: they hand each other
 * descriptors where /proc/PID/fd is closed.  77, and the reason: no namespaces can be made here. */
#include "need.h"

#include "lib/ranks.h"

#include <choir/choir.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, DEADLINE_MS = 60000, END_MS = 120000, COUNT = 100000, SKIPPED = 77, DIED = 3 };

/* Two ranks have the same pid, 1; rank 1 has the pid that it says, but a closed /proc/PID/fd behind it. */
static const int spaces[RANKS] = { 0, CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWPID, CLONE_NEWUSER | CLONE_NEWPID };

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* The user stays the same one: other users are other nodes. */
static bool enter(int flags)
{
	char map[64];

	snprintf(map, sizeof map, "%d %d 1", (int)getuid(), (int)getuid());
	return flags == 0 || (unshare(flags) == 0 && write_file("/proc/self/uid_map", map));
}

/* Of memory of any kind, each rank with rank + i at i. */
static int sums(choir_comm *comm, double *data)
{
	int n = choir_comm_size(comm);

	for (int i = 0; i < COUNT; i++)
		data[i] = choir_comm_rank(comm) + i;
	NEED(choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_F64, CHOIR_OP_SUM, NULL, NULL) ==
	     CHOIR_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		NEED(data[i] == n * (n - 1) / 2 + (double)n * i);
	return 0;
}

static int sums_in_symmetric(choir_comm *comm)
{
	size_t bytes = COUNT * sizeof(double);
	void *made;

	NEED(choir_mem_alloc(comm, bytes, &made, NULL) == CHOIR_SUCCESS);
	NEED(sums(comm, made) == 0);
	NEED(choir_mem_free(comm, made) == CHOIR_SUCCESS);
	return 0;
}

/* A file of the caller's, mapped by each rank for itself. */
static int sums_in_registered(choir_comm *comm)
{
	size_t bytes = COUNT * sizeof(double);
	char path[] = "/tmp/choir-containers-XXXXXX";
	int fd = mkstemp(path);
	double *mapped;

	NEED(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(mapped != MAP_FAILED);
	NEED(choir_mem_register(comm, mapped, bytes) == CHOIR_SUCCESS);
	unlink(path);
	NEED(sums(comm, mapped) == 0);
	NEED(choir_mem_deregister(comm, mapped) == CHOIR_SUCCESS);
	munmap(mapped, bytes);
	close(fd);
	return 0;
}

static int sums_sparse(choir_comm *comm)
{
	static int32_t ind[COUNT], out_ind[COUNT + RANKS];
	static float val[COUNT], out_val[COUNT + RANKS];
	size_t n_ind = COUNT + RANKS, n_val = COUNT + RANKS;
	int rank = choir_comm_rank(comm);

	for (int i = 0; i < COUNT; i++)
		ind[i] = rank + i, val[i] = 1;
	NEED(choir_sparse_allreduce(comm, choir_host(ind), COUNT, choir_host(val), COUNT, choir_host(out_ind), &n_ind,
	                            choir_host(out_val), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL,
	                            NULL) == CHOIR_SUCCESS);
	NEED(n_ind == COUNT + RANKS - 1 && out_ind[0] == 0 && out_val[0] == 1 && out_val[RANKS] == RANKS);
	return 0;
}

static int one_node(const struct rank *me)
{
	static double data[COUNT];
	choir_bootstrap bootstrap = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = NULL;
	choir_comm *comm = NULL, *pair = NULL;

	config.deadline_ms = DEADLINE_MS;
	NEED(choir_device_create_host(&device) == CHOIR_SUCCESS);
	NEED(choir_comm_create(&bootstrap, 1, &device, &config, &comm) == CHOIR_SUCCESS);
	NEED(choir_comm_nodes(comm) == 1);
	NEED(sums(comm, data) == 0);
	NEED(sums_in_symmetric(comm) == 0);
	NEED(sums_in_registered(comm) == 0);
	NEED(sums_sparse(comm) == 0);
	NEED(choir_comm_split(comm, me->rank / 2, 0, &pair) == CHOIR_SUCCESS);
	NEED(sums(pair, data) == 0);
	NEED(choir_comm_destroy(pair) == CHOIR_SUCCESS);
	if (me->rank == RANKS - 1)
		_exit(DIED); /* as a process that is killed: a pid namespace's first process cannot kill itself */
	NEED(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
	choir_device_destroy(device);
	return 0;
}

/* The namespaces are the child's. */
static int run(const struct rank *me, void *unused)
{
	int status = 0;
	pid_t pid;

	(void)unused;
	if (!enter(spaces[me->rank])) {
		fprintf(stderr, "rank %d: no namespace: %s\n", me->rank, strerror(errno));
		return SKIPPED;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(one_node(me));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status) == (me->rank == RANKS - 1 ? DIED : 0) ? 0 : 1;
}

static int try_spaces(const struct rank *me, void *unused)
{
	(void)me, (void)unused;
	return enter(CLONE_NEWUSER | CLONE_NEWPID) ? 0 : SKIPPED;
}

int main(void)
{
	static struct ranks ranks;
	char why[RANKS_WHY_BYTES];

	if (!ranks_fork(&ranks, 1, 1, try_spaces, NULL))
		return 1;
	ranks_join(&ranks, END_MS);
	if (WIFEXITED(ranks.statuses[0]) && WEXITSTATUS(ranks.statuses[0]) == SKIPPED) {
		puts("skipped: no user and pid namespaces can be made here");
		return SKIPPED;
	}
	if (!ranks_fork(&ranks, RANKS, RANKS, run, NULL))
		return 1;
	ranks_join(&ranks, END_MS);
	if (ranks_are_good(&ranks, -1, why))
		return 0;
	fprintf(stderr, "%s\n", why);
	return 1;
}
