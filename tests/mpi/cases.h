/* SPDX-License-Identifier: MIT */
/* The cases of the program that mpiexec runs; each on all processes, failures noted in the job's world. */
#ifndef TESTS_MPI_CASES_H
#define TESTS_MPI_CASES_H

#include "mpi/job.h"

void case_matrix(struct job *job);    /* the table of ring 3: sizes, types, roots */
void case_oracle(struct job *job);    /* against MPI's own collectives */
void case_op(struct job *job);        /* an operator of the caller's: MPI_Op_create */
void case_multi(struct job *job);     /* lists of tensors, likewise */
void case_lists(struct job *job);     /* lists and padded blocks of the other collectives, likewise */
void case_locals(struct job *job);    /* two ranks a process: a thread each, and one thread with groups */
void case_split(struct job *job);     /* halves, odd and even, one rank alone, nobody */
void case_keys(struct job *job);      /* two keyed comms with the same keys, and a group with a name */
void case_starts(struct job *job);    /* comms made without blocking, one rank after another */
void case_tags(struct job *job);      /* sends and recvs with tags */
void case_sequences(struct job *job); /* a recorded sequence */
void case_order(struct job *job);     /* order=ranks: MPI's gather and a fold */
void case_symmetric(struct job *job); /* the table in symmetric memory, and what one rank's plain memory changes */
void case_sparse(struct job *job);    /* against the plain reference */
void case_flights(struct job *job);   /* many calls at once, deps that end in another order on every rank */
void case_mismatch(struct job *job);  /* calls that differ */
void case_silent(struct job *job);    /* a rank that never calls: the deadline */
void case_abort(struct job *job);     /* one rank gives up */
void case_funneled(struct job *job);  /* MPI_THREAD_FUNNELED on one machine */

/* the same at MPI_THREAD_FUNNELED, where it cannot be */
void case_starts_refused(struct job *job);

void case_refused(struct job *job); /* MPI_THREAD_FUNNELED on several */

/* case_killed: rank 1 kills itself in the middle, destroys its comm or ends; the others print a line each and leave
 * without MPI_Finalize.  Never returns. */
void case_killed(struct job *job);

#endif
