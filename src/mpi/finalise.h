/* SPDX-License-Identifier: MIT */
/* MPI_Finalize, which hangs over UCX and TCP unless all processes begin it together: Note [finalising together]. */
#ifndef MPI_FINALISE_H
#define MPI_FINALISE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* finalise_note: inside MPI, on each process of comm: if these are all processes of MPI_COMM_WORLD, they will meet.  At
 * the latest when a comm of them is made, at once where the library has initialised MPI. */
void finalise_note(MPI_Comm comm);

/* finalise_meet: makes progress until all processes of MPI_COMM_WORLD have come here, calls stop, by which this process
 * makes no progress any more, and waits until the others are as far.  MISSED after deadline_ms: one of them may be
 * dead. APART at once, behind stop, where no finalise_note has found them, and where MPI's device or launcher is none
 * that the Note speaks of. */
enum finalise_met { FINALISE_APART, FINALISE_TOGETHER, FINALISE_MISSED };
enum finalise_met finalise_meet(int64_t deadline_ms, void (*stop)(void));

#endif
