/* SPDX-License-Identifier: MIT */
/* One rank's training, from a text to a summary. */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "options.h"
#include "text.h"

#include <choir/choir.h>

/* A rank: where it stands, and what it computes on. */
struct seat {
	int rank, size;
	int node_rank; /* 0 builds kernels before the others of its machine */
	choir_device *device;
	choir_comm *comm; /* NULL with --via mpi */
};

/* train_run: trains until the options say stop.  Collective over the ranks; blocks.  The text is only read: threads may
 * share it. */
choir_status train_run(const struct options *options, const struct text *text, const struct seat *seat);

#endif
