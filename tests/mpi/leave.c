/* SPDX-License-Identifier: MIT */
/* mpi_leave STATUS: leave_mpi with an MPI_Finalize that never returns. */
#define LEAVE_HANGS_S 1
#include "lib/leave_mpi.h"

int MPI_Finalize(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	leave_mpi(argc > 1 ? atoi(argv[1]) : 0);
	return EXIT_FAILURE;
}
