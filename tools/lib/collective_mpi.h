/* SPDX-License-Identifier: MIT */
/* The same collectives, by MPI on host memory. */
#ifndef LIB_COLLECTIVE_MPI_H
#define LIB_COLLECTIVE_MPI_H

#include "collective.h"

#include <mpi.h>

/* One rank's call.  shape and layout outlive it; counts fit an int. */
struct collective_mpi {
	const struct collective_shape *shape;
	const struct collective_layout *layout;
	int rank;
	MPI_Comm comm;
	MPI_Datatype type;
	MPI_Op op;
	int send_counts[COLLECTIVE_MOST_RANKS], send_offs[COLLECTIVE_MOST_RANKS];
	int recv_counts[COLLECTIVE_MOST_RANKS], recv_offs[COLLECTIVE_MOST_RANKS];
};

/* collective_mpi_init: of that rank; comm, type and op are the caller's to set. */
void collective_mpi_init(struct collective_mpi *mpi, const struct collective_shape *shape,
                         const struct collective_layout *layout, int rank);

/* collective_mpi_call: send is MPI_IN_PLACE where the call is in place.  request NULL: blocks; else the call is under
 * way, and mpi lives until it has ended.  What MPI returns. */
int collective_mpi_call(struct collective_mpi *mpi, void *send, void *recv, MPI_Request *request);

#endif
