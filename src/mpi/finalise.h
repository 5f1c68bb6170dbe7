/* SPDX-License-Identifier: MIT */
/* MPI_Finalize, which hangs over UCX and TCP unless all processes begin it together: Note [finalising together]. */
#ifndef MPI_FINALISE_H
#define MPI_FINALISE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* finalise_note: inside MPI, on each process of comm: if these are all processes of MPI_COMM_WORLD, they will meet. */
void finalise_note(MPI_Comm comm);

/* finalise_meet: makes progress until all processes of MPI_COMM_WORLD have come here.  False after deadline_ms, and at
 * once where no finalise_note has found them, or MPI's device or launcher is none that the Note speaks of.
 * finalise_begin: after it, when this process makes no progress any more: waits until the others are as far. */
bool finalise_meet(int64_t deadline_ms);
void finalise_begin(int64_t deadline_ms);

#endif
