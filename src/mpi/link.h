/* SPDX-License-Identifier: MIT */
/* A link: a duplicate of the application's communicator, so that its messages and ours never match. */
#ifndef MPI_LINK_H
#define MPI_LINK_H

#include "mpi/call.h"

#include <stdatomic.h>

struct mpi_link {
	struct mpi_link *next; /* among the buried */
	_Atomic int refs;
	MPI_Comm comm; /* its errors are returned */
	int rank, size;
	/* a call failed or timed out, or it was aborted: nothing is sent on it any more, and it is never freed */
	_Atomic bool broken;
	_Atomic bool failed; /* a call failed or timed out: nothing is called on it at all */

	MPI_Request goodbye; /* buried: a barrier; complete = no rank sends any more */
	bool goodbye_done;
	MPI_Request late; /* buried: a late message, being received; MPI_REQUEST_NULL if none */
	void *late_data;
};

/* mpi_link_create: duplicates parent.  Collective over it; TIMEOUT if the others do not come.  After mpi_begin. */
choir_status mpi_link_create(MPI_Comm parent, int64_t deadline_ms, struct mpi_link **out_p);
struct mpi_link *mpi_link_retain(struct mpi_link *link);

/* mpi_link_release: never waits for peers; see Note [burial].  NULL is silent. */
void mpi_link_release(struct mpi_link *link);

/* mpi_link_gather: bytes of every rank to all, in rank order; all ranks call it. */
choir_status mpi_link_gather(struct mpi_link *link, int64_t deadline_ms, const void *mine, size_t bytes, void *all);

/* mpi_links_finalise: the application is about to finalise MPI. */
void mpi_links_finalise(void);

#endif
