/* SPDX-License-Identifier: MIT */
/* A job in MPI's words. */
#ifndef BENCH_MPI_KIT_H
#define BENCH_MPI_KIT_H

#include "bench/cases/job.h"
#include "lib/collective_mpi.h"

/* mpi_kit_open: NULL and *mpi, or why MPI cannot do the job, which outlives it. */
const char *mpi_kit_open(const struct job *job, struct collective_mpi *mpi);

/* mpi_kit_run: the collective on what mpi->layout says, and the division that MPI leaves to the caller for mean.  0 or
 * an exit status. */
int mpi_kit_run(const struct job *job, struct collective_mpi *mpi, void *send, void *recv);

#endif
