/* SPDX-License-Identifier: MIT */
/* The transport over MPI. */
#ifndef MPI_TRANSPORT_H
#define MPI_TRANSPORT_H

#include "mpi/link.h"

#include <choir/transport.h>

/* mpi_transport_over: a transport over a link, of which it keeps a reference.  UNSUPPORTED below MPI_THREAD_SERIALIZED;
 * NO_MEMORY. */
choir_status mpi_transport_over(struct mpi_link *link, choir_transport **out_p);

/* mpi_transport_create: a transport over a duplicate of parent.  Collective over parent; the errors of mpi_begin,
 * mpi_link_create and mpi_transport_over. */
choir_status mpi_transport_create(MPI_Comm parent, int64_t deadline_ms, choir_transport **out_p);

#endif
