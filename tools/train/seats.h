/* SPDX-License-Identifier: MIT */
/* Where the ranks come from: mpiexec, or threads of this process. */
#ifndef TRAIN_SEATS_H
#define TRAIN_SEATS_H

#include "train.h"

/* Exit statuses, as choir-bench has them. */
enum exit_status { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

/* seats_world: this process is one rank of MPI_COMM_WORLD, or the only one.  Initialises and finalises MPI; a failure
 * ends all ranks.
 * seats_local: options->local ranks, a thread each.  Both return the exit status. */
int seats_world(const struct options *options, const struct text *text);
int seats_local(const struct options *options, const struct text *text);

#endif
