/* SPDX-License-Identifier: MIT */
/* The state of one rank's training, and its step. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "batch.h"
#include "compare.h"
#include "exchange.h"
#include "model.h"
#include "options.h"
#include "report.h"
#include "sampler.h"

/* What a step leaves for the next one to look at: its read of {loss, stop} may still be under way. */
struct outcome {
	float loss_stop[2];
	cl_event read;
	struct step_figures figures;
};

struct trainer {
	const struct options *options;
	size_t first_row; /* of this rank's slice of the batch */
	struct ocl ocl;
	struct model model;
	struct batcher batcher;
	struct sampler sampler;
	struct model_words words[2]; /* of this step, whose upload may be under way, and of the next */
	struct bucket buckets[N_BUCKETS];
	struct exchange *exchange;
	struct compare *compare; /* NULL = none asked for */
	struct outcome outcomes[2];
};

/* trainer_words: fills words[step & 1].  buckets_init: what the exchange carries, with room for its results. */
void trainer_words(struct trainer *trainer, uint64_t step);
choir_status buckets_init(struct trainer *trainer);
void buckets_fini(struct trainer *trainer);

/* trainer_compute: forward and backward on words[step & 1]; each gradient is given to start, with its event, as soon as
 * it is enqueued. start NULL: no exchange. */
choir_status trainer_compute(struct trainer *trainer, uint64_t step, float stop,
                             choir_status (*start)(struct exchange *exchange, struct bucket *bucket, cl_event ready));

/* trainer_step: the whole step at these rates; words[step & 1] must be there, those of the next step are filled
 * meanwhile.  The outcome is complete after outcome_wait. */
choir_status trainer_step(struct trainer *trainer, uint64_t step, float stop, double rate, double table_rate);
choir_status outcome_wait(struct outcome *outcome);

#endif
