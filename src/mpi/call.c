/* SPDX-License-Identifier: MIT */
/* Note [who may call MPI].  With MPI_THREAD_MULTIPLE any number of our threads may be inside MPI; below it one at a time, over all
 * transports of the process.  That is a read-write lock, taken for reading or for writing by level.  MPI_Finalize takes it for writing:
 * an attribute of MPI_COMM_SELF is deleted as the first thing it does, and from then on no call is made, however late a comm is
 * destroyed.  Writers go first, since readers that poll in a loop would keep them out. */
#include "mpi/call.h"

#include "mpi/link.h"

#include <choir/transport.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;
static bool begun;          /* under begin_lock */
static _Atomic int level;   /* set before anybody enters */
static bool closed;         /* under gate: MPI is finalised or about to be */
static _Atomic bool fenced; /* closed cannot be told by the attribute: ask MPI each time */

struct quarantined {
	struct quarantined *next;
	void *memory;
};
static pthread_mutex_t quarantine_lock = PTHREAD_MUTEX_INITIALIZER;
static struct quarantined *quarantine; /* reachable, so that leak checkers stay useful */

static int finalising(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)value, (void)extra;
	mpi_links_finalise();
	pthread_rwlock_wrlock(&gate);
	closed = true;
	pthread_rwlock_unlock(&gate);
	return MPI_SUCCESS;
}

static void watch_finalise(void)
{
	int keyval;

	if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalising, &keyval, NULL) != MPI_SUCCESS ||
	    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) != MPI_SUCCESS)
		atomic_store(&fenced, true);
	else
		MPI_Comm_free_keyval(&keyval); /* only the handle: the attribute keeps it */
}

static bool finalised(void)
{
	int done = 1;

	MPI_Finalized(&done);
	return done != 0;
}

static choir_status begin_once(void)
{
	int initialised = 0, main_thread = 0, found = MPI_THREAD_SINGLE;

	MPI_Initialized(&initialised);
	if (!initialised)
		return choir_transport_error(CHOIR_ARGUMENT,
		                             "MPI is not initialised: call MPI_Init_thread first, or use choir_comm_create_world");
	if (finalised())
		return choir_transport_error(CHOIR_ARGUMENT, "MPI is finalised already");
	MPI_Query_thread(&found);
	atomic_store(&level, found);
	MPI_Is_thread_main(&main_thread);
	if (found < MPI_THREAD_SERIALIZED && !main_thread)
		return choir_transport_error(CHOIR_UNSUPPORTED,
		                             "MPI runs with %s, so only the thread that initialised it may create comms (needed from other "
		                             "threads: MPI_THREAD_SERIALIZED)",
		                             mpi_level_name(found));
	if (!begun)
		watch_finalise();
	begun = true;
	return CHOIR_SUCCESS;
}

choir_status mpi_begin(void)
{
	choir_status st;

	pthread_mutex_lock(&begin_lock);
	st = begin_once();
	pthread_mutex_unlock(&begin_lock);
	return st;
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
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length = 0;

	if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
		return choir_transport_error(CHOIR_TRANSPORT, "%s failed with MPI error %d", call, rc);
	for (char *at = text; (at = strchr(at, '\n')) != NULL;) /* a stack of lines, and ours is one sentence */
		*at = ' ';
	return choir_transport_error(CHOIR_TRANSPORT, "%s: %s", call, text);
}

choir_status mpi_gone(const char *who)
{
	return choir_transport_error(CHOIR_ABORTED, "%s: MPI was finalised before the comm was destroyed", who);
}

choir_status mpi_narrow(const char *what, size_t bytes, int *count_p)
{
	if (bytes > INT_MAX)
		return choir_transport_error(CHOIR_UNSUPPORTED, "%s of %zu bytes: MPI counts to %d", what, bytes, INT_MAX);
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
			mpi_error(what, rc); /* while MPI may be asked for its text */
		mpi_leave();
		if (rc != MPI_SUCCESS)
			return CHOIR_TRANSPORT;
		if (done)
			return CHOIR_SUCCESS;
		if (mpi_now_ms() - start > deadline_ms)
			return choir_transport_error(CHOIR_TIMEOUT,
			                             "%s took longer than the deadline of %lld ms: not every process has come to it", what,
			                             (long long)deadline_ms);
		sched_yield();
	}
}

void mpi_quarantine(void *memory)
{
	struct quarantined *entry = memory != NULL ? malloc(sizeof *entry) : NULL;

	if (entry == NULL)
		return; /* without memory for the entry it stays, too: that is all that matters */
	entry->memory = memory;
	pthread_mutex_lock(&quarantine_lock);
	entry->next = quarantine;
	quarantine = entry;
	pthread_mutex_unlock(&quarantine_lock);
}
