/* SPDX-License-Identifier: MIT */
/* Prepares the first use of MPI by this library, and ends its use when the application finalises MPI. */
#include "mpi/begin.h"

#include "mpi/call.h"
#include "mpi/config.h"
#include "mpi/finalise.h"
#include "mpi/link.h"
#include "mpi/start.h"

#include <choir/transport.h>
#include <stdatomic.h>

MPI_LOCK(begin_lock)
static bool begun, watched; /* under begin_lock */
static _Atomic bool ended;

bool mpi_end(int64_t *deadline_ms_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int64_t deadline_ms = mpi_deadline_ms(&config);

	*deadline_ms_p = deadline_ms;
	if (atomic_exchange(&ended, true))
		return true;
	mpi_links_finalise();
	return finalise_meet(deadline_ms, mpi_close) != FINALISE_MISSED;
}

static int finalising(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int64_t deadline_ms;

	(void)comm, (void)keyval, (void)value, (void)extra;
	(void)mpi_end(&deadline_ms);
	return MPI_SUCCESS;
}

/* Sets an attribute of MPI_COMM_SELF, which MPI_Finalize deletes first: that calls finalising.  False if it cannot. */
static bool watch_finalise(void)
{
	int keyval;

	if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalising, &keyval, NULL) != MPI_SUCCESS ||
	    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) != MPI_SUCCESS)
		return false;
	MPI_Comm_free_keyval(&keyval); /* only the handle: the attribute keeps it */
	return true;
}

static choir_status begin_once(void)
{
	int initialised = 0, finalised = 0, main_thread = 0, found = MPI_THREAD_SINGLE;

	TRY(mpi_start_check());
	MPI_Initialized(&initialised);
	if (!initialised)
		return choir_transport_error(
		    CHOIR_ARGUMENT,
		    "MPI is not initialised: call MPI_Init_thread first, or use choir_comm_create_world");
	MPI_Finalized(&finalised);
	if (finalised)
		return choir_transport_error(CHOIR_ARGUMENT, "MPI is finalised already");
	MPI_Query_thread(&found);
	MPI_Is_thread_main(&main_thread);
	if (found < MPI_THREAD_SERIALIZED && !main_thread)
		return choir_transport_error(
		    CHOIR_UNSUPPORTED,
		    "MPI runs with %s, so only the thread that initialised it may create comms (needed from other "
		    "threads: MPI_THREAD_SERIALIZED)",
		    mpi_level_name(found));
	if (!begun)
		watched = watch_finalise();
	begun = true;
	mpi_open(found, watched);
	return CHOIR_SUCCESS;
}

choir_status mpi_begin(const char *call)
{
	choir_status st;

	TRY(mpi_check_process(call));
	pthread_mutex_lock(&begin_lock);
	st = begin_once();
	pthread_mutex_unlock(&begin_lock);
	return st;
}
