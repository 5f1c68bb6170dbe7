/* SPDX-License-Identifier: MIT */
#ifndef MPI_BEGIN_H
#define MPI_BEGIN_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdint.h>

/* mpi_begin: called before a comm or transport uses MPI.  It reads the thread level, and makes sure that the library
 * makes no MPI call after MPI_Finalize.  ARGUMENT if MPI is not initialised, finalised already, or the parent's of a
 * forked process; UNSUPPORTED if this thread may not call MPI. */
choir_status mpi_begin(const char *call);

/* mpi_end: called first in MPI_Finalize, where mpi_begin was called; once.  False: a process of MPI_COMM_WORLD did not
 * come in *deadline_ms_p, and MPI_Finalize would wait for it for ever. */
bool mpi_end(int64_t *deadline_ms_p);

#endif
