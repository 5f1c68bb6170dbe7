/* SPDX-License-Identifier: MIT */
/* A link: a duplicate of the application's communicator, so that the library's messages never match the
 * application's. */
#ifndef MPI_LINK_H
#define MPI_LINK_H

#include "mpi/call.h"

#include <stdatomic.h>

struct mpi_link {
	struct mpi_link *next; /* in the list of buried or aborted links */
	_Atomic int refs;
	MPI_Comm comm; /* its error handler is MPI_ERRORS_RETURN */
	int rank, size;
	/* a call failed or timed out, or the link was aborted: no message is sent on it, and comm is never freed */
	_Atomic bool broken;
	_Atomic bool failed; /* a call failed or timed out: no MPI call uses comm any more */

	MPI_Request dup;     /* of a link that was begun: the duplication of the parent */
	bool begun;          /* and not finished */
	MPI_Request goodbye; /* of a buried link: a barrier; once it is complete no rank sends on the link any more */
	bool goodbye_done;
	MPI_Request late; /* the receive of a late message; MPI_REQUEST_NULL if none */
	void *late_data;
};

/* mpi_link_create: duplicates parent, after mpi_begin.  Collective over parent; TIMEOUT if not all ranks have called it
 * by the deadline; NO_MEMORY, TRANSPORT, ABORTED. */
choir_status mpi_link_create(MPI_Comm parent, int64_t deadline_ms, struct mpi_link **out_p);

/* mpi_link_begin: starts the same, after mpi_begin, and blocks nowhere: rank and size are known, but comm is not to be
 * used before mpi_link_finish, which waits; any thread that may call MPI.  A link that was begun and not finished can
 * be released: its communicator is never freed. */
choir_status mpi_link_begin(MPI_Comm parent, struct mpi_link **out_p);
choir_status mpi_link_finish(struct mpi_link *link, int64_t deadline_ms);

struct mpi_link *mpi_link_retain(struct mpi_link *link);

/* mpi_link_release: does not wait for peers (Note [burial]).  NULL is silent. */
void mpi_link_release(struct mpi_link *link);

/* mpi_link_gather: an allgather of `bytes` bytes of every rank to all, in rank order.  Collective; TIMEOUT at the
 * deadline. */
choir_status mpi_link_gather(struct mpi_link *link, int64_t deadline_ms, const void *mine, size_t bytes, void *all);

/* mpi_links_finalise: called when the application finalises MPI: frees buried links, for at most 2 s. */
void mpi_links_finalise(void);

#endif
