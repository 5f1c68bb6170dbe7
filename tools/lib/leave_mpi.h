/* SPDX-License-Identifier: MIT */
/* The end of a program over MPI that has said all it had to say.  MPICH 4.0 over TCP does not always return from
 * MPI_Finalize: one rank waits for the answer to its last large message, the other, which owes it, has gone on to where
 * it makes no progress any more.  So there is a moment of progress first; and who hangs in spite of it leaves with the
 * status it would have had (mpiexec may have an error of its own to tell then).  Included once in a program. */
#ifndef LIB_LEAVE_MPI_H
#define LIB_LEAVE_MPI_H

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LEAVE_PROGRESS_S_100 = 5, LEAVE_HANGS_S = 5 };

static volatile sig_atomic_t leave_status;

static void leave_now(int signal)
{
	(void)signal;
	_exit(leave_status);
}

/* leave_mpi: finalises MPI; the process is to end with that status. */
static inline void leave_mpi(int status)
{
	double end;
	int found;

	fflush(NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	for (end = MPI_Wtime() + LEAVE_PROGRESS_S_100 / 100.0; MPI_Wtime() < end;)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	leave_status = status;
	signal(SIGALRM, leave_now);
	alarm(LEAVE_HANGS_S);
	MPI_Finalize();
	alarm(0);
}

#endif
