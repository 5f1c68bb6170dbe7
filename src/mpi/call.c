/* SPDX-License-Identifier: MIT */
/* Note [threads inside MPI].  With MPI_THREAD_MULTIPLE any number of the library's threads may be inside MPI; below
 * that level one at a time, over all transports of the process.  So `gate` is a read-write lock that is taken for
 * reading or for writing, by level.  MPI_Finalize first deletes an attribute of MPI_COMM_SELF, whose callback takes the
 * lock for writing and closes the gate: no call follows, however late a comm is destroyed.  Writers have priority,
 * since readers that poll in a loop would starve them. */
#include "mpi/call.h"

#include <choir/transport.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic int level;   /* set before the first mpi_enter */
static bool closed;         /* under gate: MPI is finalised or about to be */
static _Atomic bool fenced; /* the attribute could not be set: every mpi_enter asks MPI_Finalized */
static _Atomic bool begins; /* the library has called MPI_Init_thread, which may not have returned */
static bool forked;         /* MPI is another process's */

struct quarantined {
	struct quarantined *next;
	void *memory;
};
MPI_LOCK(quarantine_lock)
static struct quarantined *quarantine; /* reachable, so that leak checkers stay useful */

static bool finalised(void)
{
	int done = 1;

	MPI_Finalized(&done);
	return done != 0;
}

/* MPI's connections are the parent's, and another thread of it may have held the lock. */
static void child_forked(void)
{
	int there = 0;

	MPI_Initialized(&there);
	if (!there && !atomic_load(&begins))
		return;
	gate = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	closed = forked = true;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, child_forked);
}

void mpi_begins(void)
{
	atomic_store(&begins, true);
}

choir_status mpi_check_process(const char *call)
{
	if (forked)
		return choir_transport_error(CHOIR_ARGUMENT, "%s: MPI belongs to the process before fork", call);
	return CHOIR_SUCCESS;
}

void mpi_open(int thread_level, bool watched)
{
	atomic_store(&level, thread_level);
	if (!watched)
		atomic_store(&fenced, true);
}

void mpi_close(void)
{
	pthread_rwlock_wrlock(&gate);
	closed = true;
	pthread_rwlock_unlock(&gate);
}

int mpi_level(void)
{
	return atomic_load(&level);
}

const char *mpi_level_name(int value)
{
	switch (value) {
	case MPI_THREAD_SINGLE:
		return "MPI_THREAD_SINGLE";
	case MPI_THREAD_FUNNELED:
		return "MPI_THREAD_FUNNELED";
	case MPI_THREAD_SERIALIZED:
		return "MPI_THREAD_SERIALIZED";
	case MPI_THREAD_MULTIPLE:
		return "MPI_THREAD_MULTIPLE";
	default:
		return "an unknown thread level";
	}
}

bool mpi_uses_ucx(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;

	return MPI_Get_library_version(text, &length) == MPI_SUCCESS && strstr(text, "ch4:ucx") != NULL;
}

bool mpi_enter(void)
{
	if (mpi_level() == MPI_THREAD_MULTIPLE)
		pthread_rwlock_rdlock(&gate);
	else
		pthread_rwlock_wrlock(&gate);
	if (!closed && !(atomic_load_explicit(&fenced, memory_order_relaxed) && finalised()))
		return true;
	pthread_rwlock_unlock(&gate);
	return false;
}

void mpi_leave(void)
{
	pthread_rwlock_unlock(&gate);
}

choir_status mpi_error(const char *call, int rc)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "", *stack, *cause;
	int length = 0;

	if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT, "%s failed with MPI error %d", call, rc);
	/* MPICH: "Invalid rank, error stack:", a line "place: words" for each function, the innermost last. */
	stack = strstr(text, ", error stack:\n");
	if (stack == NULL) {
		for (char *at = text; (at = strchr(at, '\n')) != NULL;)
			*at = ' ';
		return choir_transport_error(CHOIR_TRANSPORT, "%s: %s", call, text);
	}
	*stack = '\0';
	cause = strrchr(stack + 1, '\n') + 1;
	if (strstr(cause, ": ") != NULL)
		cause = strstr(cause, ": ") + 2;
	return choir_transport_error(CHOIR_TRANSPORT, "%s: %s: %s", call, text, cause);
}

choir_status mpi_said(const char *call, choir_status st)
{
	char text[512] = "";

	if (st == CHOIR_SUCCESS)
		return st;
	strncpy(text, choir_last_error(), sizeof text - 1);
	return choir_transport_error(st, "%s: %s", call, text);
}

choir_status mpi_gone(const char *who)
{
	return choir_transport_error(CHOIR_ABORTED, "%s: MPI was finalised before the comm was destroyed", who);
}

choir_status mpi_narrow(const char *what, size_t bytes, int *count_p)
{
	if (bytes > INT_MAX)
		return choir_transport_error(CHOIR_UNSUPPORTED, "%s of %zu bytes: MPI counts at most %d", what, bytes,
		                             INT_MAX);
	*count_p = (int)bytes;
	return CHOIR_SUCCESS;
}

int64_t mpi_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

choir_status mpi_wait_done(MPI_Request *request, int64_t deadline_ms, const char *what)
{
	int64_t start = mpi_now_ms();

	for (;;) {
		int done = 0, rc;

		if (!mpi_enter())
			return mpi_gone(what);
		rc = MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (rc != MPI_SUCCESS)
			mpi_error(what, rc); /* before mpi_leave, since it calls MPI */
		mpi_leave();
		if (rc != MPI_SUCCESS)
			return CHOIR_TRANSPORT;
		if (done)
			return CHOIR_SUCCESS;
		if (mpi_now_ms() - start > deadline_ms)
			return choir_transport_error(
			    CHOIR_TIMEOUT,
			    "%s took longer than the deadline of %lld ms: not every process has called it", what,
			    (long long)deadline_ms);
		sched_yield();
	}
}

void mpi_quarantine(void *memory)
{
	struct quarantined *entry = memory != NULL ? malloc(sizeof *entry) : NULL;

	if (entry == NULL)
		return; /* without an entry the memory is kept too, but leak checkers report it */
	entry->memory = memory;
	pthread_mutex_lock(&quarantine_lock);
	entry->next = quarantine;
	quarantine = entry;
	pthread_mutex_unlock(&quarantine_lock);
}
