/* SPDX-License-Identifier: MIT */
/* The law of error feedback, tested on worlds: sum over ranks of acc = the result's sum + sum over ranks of the new
 * residuals; exactly where all values are small integers. */
#ifndef TESTS_TOPK_LAW_H
#define TESTS_TOPK_LAW_H

#include "world/world.h"

extern const char *const law_algorithms[];
enum { LAW_ALGORITHMS = 11, LAW_RANKS = 8 };

/* What a trial is made of. */
struct law {
	choir_topk_config config; /* count, algorithm and so on */
	int ranks, calls;
	int ranks_per_node; /* 0 = all on one */
	bool device;        /* buffers are cl_mems */
	double tolerance;   /* of the law, as a part of the magnitudes that were added; 0 = it holds exactly */
	/* element i of a rank's gradient in a call; NULL = small integers at random */
	float (*value)(int rank, int call, size_t i);
	/* before each call; may reset or import; NULL = nothing */
	void (*before)(struct world *world, int rank, int call, choir_topk_state *state);
};

/* law_config: of a state that sums, everything else as it is by default. */
choir_topk_config law_config(const char *algorithm, size_t count, size_t k);

/* law_value: small integers of both signs, for tests of their own.  law_call: a call from and to host memory.
 * law_drops_on_the_way: does the algorithm add sums that it dropped to a residual, of entries that it sent? */
float law_value(int rank, int call, size_t i);
choir_status law_call(choir_topk_state *state, const void *grad, void *dense, choir_event **event_p);
bool law_drops_on_the_way(const char *algorithm);

/* law_holds: runs it and fails the test where the law, the agreement of the ranks, the pairs against the dense result,
 * or `involved` is broken. */
void law_holds(const struct law *law);

/* law_sum: of magnitudes of all results, of the last trial: 0 where nothing ever came out. */
double law_moved(void);

/* law_stats: of rank 0's last call of the last trial. */
choir_topk_stats law_stats(void);

#endif
