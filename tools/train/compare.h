/* SPDX-License-Identifier: MIT */
/* --compare: every few steps the gradients of the two tables are summed again, by each of the sparse algorithms in
 * turn.  The training does not notice: its own calls have ended, its buffers are only read, and its clock stands
 * still. */
#ifndef TRAIN_COMPARE_H
#define TRAIN_COMPARE_H

#include "exchange.h"

#include <jansson.h>

/* One algorithm on the gradients of one table. */
struct compare_row {
	const char *table, *algorithm;
	int regroups;  /* it adds floats in another order than the rest */
	size_t picked; /* how often the model took it, in the steps compared */
	double *us;    /* [n_calls, of room] of this rank; after compare_end of the slowest */
	size_t n_calls, room;
	double median_us;                /* after compare_end */
	double predicted_us, wire_bytes; /* added up; after compare_end means, the bytes of the rank that sends most */
	/* sums with other bits than the training's: because of that order, or for no good reason */
	size_t n_rounded, n_wrong;
	double off;        /* by how much at most, over the largest value */
	char why_not[256]; /* the library's sentence if it cannot do this; it is not tried again */
};

struct compare;

/* compare_create: for the tables among these buckets.  ocl, comm and buckets stay the caller's and there.
 * compare_destroy: NULL is silent. */
choir_status compare_create(struct ocl *ocl, choir_comm *comm, const struct bucket *buckets, struct compare **out_p);
void compare_destroy(struct compare *compare);

/* compare_step: collective, after a step's collectives have ended and before anything else touches their gradients and
 * results.  *ns_p is how long it took, the end of the step's own commands not counted. */
choir_status compare_step(struct compare *compare, int64_t *ns_p);

/* compare_end: collective, once: what all steps came to.  A sum that was wrong is not a failure yet: compare_verdict
 * says it. */
choir_status compare_end(struct compare *compare);

/* After compare_end: a table on stdout; the same as JSON, NULL for no memory; failure with a sentence if any sum was
 * wrong. */
void compare_print(const struct compare *compare);
json_t *compare_json(const struct compare *compare);
choir_status compare_verdict(const struct compare *compare);

/* compare_rows: for those three. */
const struct compare_row *compare_rows(const struct compare *compare, size_t *n_p);

#endif
