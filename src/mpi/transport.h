/* SPDX-License-Identifier: MIT */
/* The transport over MPI. */
#ifndef MPI_TRANSPORT_H
#define MPI_TRANSPORT_H

#include "mpi/link.h"

#include <choir/transport.h>

/* mpi_transport_over: on a link, of which it keeps a reference.  UNSUPPORTED below MPI_THREAD_SERIALIZED. */
choir_status mpi_transport_over(struct mpi_link *link, choir_transport **out_p);

/* mpi_transport_create: on a duplicate of parent.  Collective over it. */
choir_status mpi_transport_create(MPI_Comm parent, int64_t deadline_ms, choir_transport **out_p);

#endif
