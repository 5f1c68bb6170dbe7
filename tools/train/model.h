/* SPDX-License-Identifier: MIT */
/* The neural n-gram model (Bengio et al. 2003) of one rank: parameters, gradients, and what a step leaves between.
 *
 * x = in_table[context words], side by side        rows x (context * width)
 * h = tanh(x w1 + b1)                              rows x hidden
 * p = h w2 + b2                                    rows x width
 * logit of word v = p . out_table[v] + fixed bias(v) + correction of the sampler
 *
 * Every rank holds all parameters and the rows of its slice; losses and gradients are divided by the rows of all ranks
 * together, so sums over ranks are what one rank would compute. */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include "ocl.h"

struct model_shape {
	size_t vocabulary, context, width, hidden, candidates;
	size_t rows;       /* of this rank's slice, at least 1 */
	size_t batch_rows; /* of all ranks together */
	uint64_t seed;
	float momentum; /* of the updates of the dense parameters */
};

/* Where the dense parameters lie in their buffer, in elements: w1 (context * width x hidden) b1 w2 (hidden x width) b2.
 * The gradients of the two layers have a buffer each, so that one is summed while kernels work on the other: the hidden
 * layer's is w1 b1, the projection's w2 b2, and behind them loss and stop (which count from w2 as well). */
struct model_layout {
	size_t w1, b1, w2, b2, loss, stop, total;
};

struct model {
	struct model_shape shape;
	struct model_layout at;
	struct ocl *ocl;
	/* parameters */
	cl_mem in_table, out_table, dense;
	cl_mem velocity;  /* of the dense ones, if there is momentum */
	cl_mem word_rate; /* [vocabulary], for the updates of both tables */
	/* the step's words: contexts (rows * context); out_words and bias: the candidates, then the targets */
	cl_mem contexts, out_words, bias;
	/* forward */
	cl_mem x, h, p, candidate_rows, target_table, logits, target_gradient, losses;
	/* gradients: in_rows and out_rows belong to contexts and out_words, duplicates and all */
	cl_mem in_rows, out_rows, hidden_gradient, projection_gradient, p_gradient, h_gradient;
};

/* A step's words on the host; must stay until the queue has passed model_set. */
struct model_words {
	int32_t *contexts;  /* [rows * context] */
	int32_t *out_words; /* [candidates + rows] */
	float *bias;        /* [candidates + rows] */
};

/* model_create: buffers, and parameters drawn from the seed; word_rate is copied.  model_destroy: a zeroed or failed
 * model is fine. */
choir_status model_create(struct model *model, struct ocl *ocl, const struct model_shape *shape,
                          const float *word_rate);
void model_destroy(struct model *model);

/* The pieces of a step, in this order; all only enqueue.  stop is added up over the ranks beside the loss.  *ready_p
 * becomes an event that completes when the gradient of that piece is there, which the caller releases; ready_p may be
 * NULL. */
choir_status model_set(struct model *model, const struct model_words *words);
choir_status model_forward(struct model *model, float stop);
choir_status model_back_output(struct model *model, cl_event *ready_p);     /* out_words, out_rows */
choir_status model_back_projection(struct model *model, cl_event *ready_p); /* projection_gradient */
choir_status model_back_hidden(struct model *model, cl_event *ready_p);     /* hidden_gradient */
choir_status model_back_input(struct model *model, cl_event *ready_p);      /* contexts, in_rows */

/* SGD, of the dense parameters with the shape's momentum: n of them from first on, by the n numbers at the start of
 * gradient; n_rows rows of a table, which differ from each other, each at rate * word_rate.
 * model_forget: the velocity is zero. */
choir_status model_update_dense(struct model *model, cl_mem gradient, size_t first, size_t n, float rate);
choir_status model_update_rows(struct model *model, cl_mem table, cl_mem index, cl_mem rows, size_t n_rows, float rate);
choir_status model_forget(struct model *model);

#endif
