/* SPDX-License-Identifier: MIT */
/* Run by mpiexec on 1 to 4 ranks, also with more ranks than cores.  A rank that finds something wrong ends all of
 * them. */
#ifndef TESTS_NET_MPI_PROGRAM_H
#define TESTS_NET_MPI_PROGRAM_H

#include "mpi/transport.h"

#include <choir/mpi.h>
#include <stdio.h>

#define REQUIRE(what)                                                                                                  \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: rank %d: %s does not hold; last error: %s\n", __FILE__, __LINE__,      \
			        my_rank, #what, choir_last_error());                                                   \
			MPI_Abort(MPI_COMM_WORLD, 1);                                                                  \
		}                                                                                                      \
	} while (0)

enum { DEADLINE_MS = 20000 };

extern int my_rank, my_size;

/* Cases that give an exit status begin or end MPI themselves.  mpi_transport.c: the transport over MPI by its own
 * operations. */
void case_traffic(void);
void case_token(void);
void case_order(void);
void case_abort(void);
void case_too_long(void);
void case_deadline(void);
void case_stopped(void);
int case_late(void);

/* mpi_memory.c: the same without memory. */
void case_no_memory(void);

/* mpi_create.c: what stands around it, <choir/mpi.h>. */
void case_create(void);
void case_single(void);
void case_error(void);
int case_world(void);

#endif
