/* SPDX-License-Identifier: MIT */
/* MPI started without a launcher, from a bootstrap alone; once a process. */
#ifndef MPI_START_H
#define MPI_START_H

#include <choir/comm.h>
#include <stdbool.h>

/* mpi_start: MPI_COMM_WORLD becomes the processes of the bootstrap, in its order.  Collective over them; nothing
 * happens where they have started together before.  The bootstrap's gather is called on this thread.  UNSUPPORTED, on
 * all processes, if one of them has initialised MPI otherwise, or with other processes, or if MPI took another launcher
 * in one; after the last, TIMEOUT, TRANSPORT and a lack of memory on the way MPI cannot be used in this process any
 * more. Where a process lacks memory, a descriptor or a thread to begin with NO_MEMORY, and UNSUPPORTED on the others.
 */
choir_status mpi_start(const choir_bootstrap *bootstrap, int64_t deadline_ms);

/* mpi_start_check: UNSUPPORTED after such a failure. */
choir_status mpi_start_check(void);

/* mpi_leave_started: ends the use of an MPI that mpi_start has started; false if it has not.  It waits for the other
 * processes, for 2 s at most each time.  MPI_Finalize is not called: Note [leaving]. */
bool mpi_leave_started(void);

#endif
