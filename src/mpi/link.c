/* SPDX-License-Identifier: MIT */
/* Note [burial].  Ranks may destroy their comms in different orders, so freeing a communicator must not wait for other
 * ranks.  It must not be early either: MPI reuses its context id, and a late message would arrive on another
 * communicator.  So the last release of a link starts a nonblocking barrier and buries the link: it goes to a list.
 * Each later creation or burial tests the barriers of the list and frees the links whose barrier is complete.  Messages
 * that arrive meanwhile are received and dropped.  MPI_Finalize waits up to FINALISE_MS for the rest.
 *
 * Note [aborted links].  MPI_Finalize hangs while a large message of the library waits for its receiver (UCX over TCP
 * flushes its connections).  After an abort no rank receives, so mpi_links_finalise receives the messages of aborted
 * links until none has come for QUIET_MS. */
#include "mpi/link.h"

#include "mpi/finalise.h"

#include <choir/transport.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { FINALISE_MS = 2000, QUIET_MS = 100 };

MPI_LOCK(buried_lock) /* taken before entering MPI */
static struct mpi_link *buried, *aborted;

/* Inside MPI: receives and drops late messages, one at a time; true if there is none. */
static bool drain(struct mpi_link *link)
{
	MPI_Message message;
	MPI_Status status;
	int done = 0, found = 0, count = 0;

	if (link->late != MPI_REQUEST_NULL) {
		if (MPI_Test(&link->late, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
			return false;
		free(link->late_data);
		link->late_data = NULL;
		link->late = MPI_REQUEST_NULL;
	}
	if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, link->comm, &found, &message, &status) != MPI_SUCCESS)
		return false;
	if (!found)
		return true;
	MPI_Get_count(&status, MPI_BYTE, &count);
	link->late_data = malloc(count > 0 ? (size_t)count : 1);
	if (link->late_data != NULL &&
	    MPI_Imrecv(link->late_data, count, MPI_BYTE, &message, &link->late) != MPI_SUCCESS)
		link->late = MPI_REQUEST_NULL;
	return false;
}

/* Inside MPI: tests a buried link; true if it has freed the communicator. */
static bool tend(struct mpi_link *link)
{
	int done = 0;

	if (!link->goodbye_done && MPI_Test(&link->goodbye, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
		link->goodbye_done = true;
	if (!drain(link) || !link->goodbye_done)
		return false;
	MPI_Comm_free(&link->comm);
	return true;
}

/* Inside MPI, with buried_lock: tends all buried links once and frees those that are done. */
static void tend_all(void)
{
	struct mpi_link **at = &buried;

	while (*at != NULL) {
		struct mpi_link *link = *at;

		if (!tend(link)) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		free(link);
	}
}

static void bury(struct mpi_link *link)
{
	pthread_mutex_lock(&buried_lock);
	link->next = buried;
	buried = link; /* also if it is never freed: MPI may still write to it */
	if (mpi_enter()) {
		if (MPI_Ibarrier(link->comm, &link->goodbye) != MPI_SUCCESS)
			link->goodbye = MPI_REQUEST_NULL, link->goodbye_done = true;
		tend_all();
		mpi_leave();
	}
	pthread_mutex_unlock(&buried_lock);
}

/* Inside MPI, with buried_lock: true if no message waits on an aborted link. */
static bool drain_aborted(void)
{
	bool quiet = true;

	for (struct mpi_link *link = aborted; link != NULL; link = link->next)
		quiet &= drain(link);
	return quiet;
}

void mpi_links_finalise(void)
{
	int64_t start = mpi_now_ms(), quiet_since = start;
	bool left = true;

	while (left && mpi_now_ms() - start < FINALISE_MS) {
		pthread_mutex_lock(&buried_lock);
		if (mpi_enter()) {
			tend_all();
			if (!drain_aborted())
				quiet_since = mpi_now_ms();
			mpi_leave();
		}
		left = buried != NULL || (aborted != NULL && mpi_now_ms() - quiet_since < QUIET_MS);
		pthread_mutex_unlock(&buried_lock);
		if (left)
			sched_yield();
	}
}

/* Errors must be returned: the application's error handler of the parent ends the program by default. */
static int start_dup(MPI_Comm parent, MPI_Comm *out, MPI_Request *request)
{
	MPI_Errhandler theirs;
	int rc = MPI_Comm_get_errhandler(parent, &theirs);

	if (rc != MPI_SUCCESS)
		return rc;
	MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
	rc = MPI_Comm_idup(parent, out, request);
	MPI_Comm_set_errhandler(parent, theirs);
	MPI_Errhandler_free(&theirs);
	return rc;
}

static choir_status duplicate(MPI_Comm parent, struct mpi_link *link)
{
	int rc;

	pthread_mutex_lock(&buried_lock);
	if (!mpi_enter()) {
		pthread_mutex_unlock(&buried_lock);
		return mpi_gone("MPI_Comm_idup");
	}
	tend_all();
	MPI_Comm_rank(parent, &link->rank);
	MPI_Comm_size(parent, &link->size);
	rc = start_dup(parent, &link->comm, &link->dup);
	if (rc != MPI_SUCCESS)
		mpi_error("MPI_Comm_idup", rc);
	mpi_leave();
	pthread_mutex_unlock(&buried_lock);
	return rc == MPI_SUCCESS ? CHOIR_SUCCESS : CHOIR_TRANSPORT;
}

choir_status mpi_link_begin(MPI_Comm parent, struct mpi_link **out_p)
{
	struct mpi_link *link = calloc(1, sizeof *link);
	choir_status st;

	if (link == NULL)
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory for an MPI link");
	atomic_init(&link->refs, 1);
	link->comm = MPI_COMM_NULL;
	link->dup = link->goodbye = link->late = MPI_REQUEST_NULL;
	link->begun = true;
	st = duplicate(parent, link);
	if (st != CHOIR_SUCCESS) {
		mpi_link_release(link);
		return st;
	}
	*out_p = link;
	return CHOIR_SUCCESS;
}

choir_status mpi_link_finish(struct mpi_link *link, int64_t deadline_ms)
{
	choir_status st = mpi_wait_done(&link->dup, deadline_ms, "duplicating the communicator (MPI_Comm_idup)");

	if (st != CHOIR_SUCCESS) {
		atomic_store(&link->broken, true);
		atomic_store(&link->failed, true);
		return st;
	}
	if (!mpi_enter())
		return mpi_gone("MPI_Comm_idup");
	MPI_Comm_set_errhandler(link->comm, MPI_ERRORS_RETURN);
	finalise_note(link->comm);
	mpi_leave();
	link->begun = false;
	return CHOIR_SUCCESS;
}

choir_status mpi_link_create(MPI_Comm parent, int64_t deadline_ms, struct mpi_link **out_p)
{
	struct mpi_link *link;
	choir_status st;

	TRY(mpi_link_begin(parent, &link));
	st = mpi_link_finish(link, deadline_ms);
	if (st != CHOIR_SUCCESS) {
		mpi_link_release(link);
		return st;
	}
	*out_p = link;
	return CHOIR_SUCCESS;
}

struct mpi_link *mpi_link_retain(struct mpi_link *link)
{
	atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
	return link;
}

void mpi_link_release(struct mpi_link *link)
{
	if (link == NULL || atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (link->begun) {
		mpi_quarantine(link); /* MPI may still write the duplicate into it */
	} else if (atomic_load(&link->failed)) {
		free(link); /* the communicator is not freed */
	} else if (atomic_load(&link->broken)) {
		pthread_mutex_lock(&buried_lock);
		link->next = aborted;
		aborted = link;
		pthread_mutex_unlock(&buried_lock);
	} else {
		bury(link);
	}
}

static choir_status start_gather(struct mpi_link *link, void *mine, int count, void *all, MPI_Request *request)
{
	int rc;

	if (!mpi_enter())
		return mpi_gone("MPI_Iallgather");
	rc = MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, link->comm, request);
	if (rc != MPI_SUCCESS)
		mpi_error("MPI_Iallgather", rc);
	mpi_leave();
	return rc == MPI_SUCCESS ? CHOIR_SUCCESS : CHOIR_TRANSPORT;
}

choir_status mpi_link_gather(struct mpi_link *link, int64_t deadline_ms, const void *mine, size_t bytes, void *all)
{
	MPI_Request request = MPI_REQUEST_NULL;
	size_t total = bytes * (size_t)link->size;
	unsigned char *copy; /* not the caller's memory, since MPI may still write to it after a time-out */
	choir_status st;
	int count = 0;

	TRY(mpi_narrow("a gather", bytes, &count));
	if (bytes == 0)
		return CHOIR_SUCCESS;
	if (atomic_load(&link->broken))
		return choir_transport_error(CHOIR_ABORTED, "the MPI link has failed before");
	copy = malloc(total + bytes);
	if (copy == NULL)
		return choir_transport_error(CHOIR_NO_MEMORY, "no memory for a gather of %zu bytes", total);
	memcpy(copy + total, mine, bytes);
	st = start_gather(link, copy + total, count, copy, &request);
	if (st == CHOIR_SUCCESS)
		st = mpi_wait_done(&request, deadline_ms, "gathering from all processes (MPI_Iallgather)");
	if (st != CHOIR_SUCCESS) {
		atomic_store(&link->broken, true);
		atomic_store(&link->failed, true);
		mpi_quarantine(copy);
		return st;
	}
	memcpy(all, copy, total);
	free(copy);
	return CHOIR_SUCCESS;
}
