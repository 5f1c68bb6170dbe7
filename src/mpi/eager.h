/* SPDX-License-Identifier: MIT */
/* Messages of 64 KB that MPI sends without a rendezvous: Note [eager messages] in mpi/eager.c. */
#ifndef MPI_EAGER_H
#define MPI_EAGER_H

#include <stdbool.h>

/* eager_may_ask: the user has not said from which length on there is a rendezvous. */
bool eager_may_ask(void);

/* eager_ask: asks MPI for such messages, in the environment, before MPI_Init_thread; all processes do, or none.
 * eager_forget: takes that back when MPI is initialised; nothing if it was not asked. */
void eager_ask(void);
void eager_forget(void);

/* eager_is_long: MPI was asked, and is one that listens.  The same in all processes.  MPI is initialised. */
bool eager_is_long(void);

#endif
