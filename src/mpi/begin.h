/* SPDX-License-Identifier: MIT */
#ifndef MPI_BEGIN_H
#define MPI_BEGIN_H

#include <choir/types.h>

/* mpi_begin: before the first use of MPI by a comm or transport: MPI must be initialised and not finalised.  Learns the
 * thread level, and arranges that nothing is called once the application finalises MPI.  ARGUMENT if MPI is not there,
 * UNSUPPORTED if this thread may not call it. */
choir_status mpi_begin(void);

#endif
