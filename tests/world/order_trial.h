/* SPDX-License-Identifier: MIT */
/* Random cases of order=ranks (order_case.h) on one comm, each against the fold on one rank. */
#ifndef TESTS_ORDER_TRIAL_H
#define TESTS_ORDER_TRIAL_H

#include "world/world.h"

#include <stdint.h>

struct order_trial {
	uint64_t first; /* number of the first case */
	int n;
	const char *options;    /* in place of those of the case */
	bool by_device;         /* all buffers are the device's, and the algorithm is the one of that name */
	int differ;             /* results that were not those of the fold */
	int dense, named, done; /* rank 0: dense cases; with an algorithm's name; that the algorithm could do, which
	                         * it could where it must fit */
	int scans_done;         /* of the last: scans and exscans */
};

/* order_trial_run: on this rank; trial: an order_trial, which threads share.  Other bits fail the world, but with
 * `options`. */
void order_trial_run(struct world *world, int rank, choir_comm *comm, void *trial);

/* order_trial_seed: of CHOIR_TEST_SEED. */
uint64_t order_trial_seed(void);

#endif
