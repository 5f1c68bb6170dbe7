/* SPDX-License-Identifier: MIT */
/* The end of a program over MPI that has said all it had to say.  MPICH 4.0 over TCP does not always return from
 * MPI_Finalize: one rank waits for the answer to its last large message, the other, which owes it, has gone on to where
 * it makes no progress any more.  So there is a moment of progress first; and who hangs in spite of it leaves with the
 * status it would have had.  mpiexec may then fail by itself, so a rank that leaves so creates the file
 * CHOIR_TEST_PASSED if all ranks' statuses are 0 (tests/hosts/mpiexec.sh).  Included once in a program. */
#ifndef LIB_LEAVE_MPI_H
#define LIB_LEAVE_MPI_H

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef LEAVE_HANGS_S
#define LEAVE_HANGS_S 30 /* eight ranks on two busy cores take seconds */
#endif
enum { LEAVE_PROGRESS_S_100 = 5 };

static struct {
	int status;
	const char *passed; /* NULL: no file, or not all passed */
} leaving;

static void leave_now(int signal)
{
	static const char text[] = "MPI_Finalize does not return: the rank leaves without it\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	if (leaving.passed != NULL)
		(void)!open(leaving.passed, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	_exit(leaving.status);
}

/* leave_mpi: finalises MPI; the process is to end with that status. */
static inline void leave_mpi(int status)
{
	int worst = status, found;
	double end;

	fflush(NULL);
	MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	for (end = MPI_Wtime() + LEAVE_PROGRESS_S_100 / 100.0; MPI_Wtime() < end;)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	leaving.status = status;
	leaving.passed = worst == 0 ? getenv("CHOIR_TEST_PASSED") : NULL;
	signal(SIGALRM, leave_now);
	alarm(LEAVE_HANGS_S);
	MPI_Finalize();
	alarm(0);
}

#endif
