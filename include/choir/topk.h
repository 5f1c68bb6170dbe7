/* SPDX-License-Identifier: MIT */
/* Top-k gradients with error feedback: each rank sends the largest entries of what it has accumulated and keeps the
 * rest in a residual.  docs/topk.md: the algorithms, what each costs and keeps, and how to choose.
 *
 * A call: acc = decay * residual + scale * grad; select from acc; exchange; the result; the new residual = acc without
 * what entered a result on any rank.  For every algorithm, with decay and scale 1:
 *     sum over ranks of acc = sum of the results' values (times the ranks for a mean) + sum over ranks of the residuals
 * exactly where the sums are, else to rounding.
 *
 * A state is one tensor's on one rank.  Ranks create their states alike and call them in the same order, as comms are
 * used.  Values are accumulated, sent and kept in f32 (f64 for f64).  The residual, count elements of that, lives in
 * host memory of the library, or in that of a GPU where the work on it is done by kernels (docs/topk.md: Where things
 * are); while a call runs there is a second one, which replaces it when all has gone well: a call that fails leaves the
 * residual, the thresholds and the count of calls as they were.  (Where a call fails on one rank
 * only, after the last exchange, for want of memory or by an OpenCL error, the others have used what that rank sent.)
 * One call of a state is under way at a time; one that is started meanwhile waits for its turn. */
#ifndef CHOIR_TOPK_H
#define CHOIR_TOPK_H

#include <choir/collective.h>
#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_topk_state choir_topk_state;

/* How a rank selects.  REUSE: every `threshold_period` calls the k largest; in the calls between them the entries that
 * pass the threshold of the call before, which moves by a factor when their number leaves a band.  If more pass than
 * the band's top, or fewer than its bottom, the largest are selected, as many as that bound.  Zeros never are. */
typedef enum choir_topk_threshold {
	CHOIR_TOPK_THRESHOLD_AUTO = 0,  /* as the algorithm does (docs/topk.md) */
	CHOIR_TOPK_THRESHOLD_EXACT = 1, /* the k largest in every call */
	CHOIR_TOPK_THRESHOLD_REUSE = 2,
	CHOIR_TOPK_THRESHOLD_GAUSSIAN = 3, /* from mean and standard deviation */
	/* what is about the k-th largest magnitude of a sample; where more than 5/4 k pass, the k largest */
	CHOIR_TOPK_THRESHOLD_SAMPLED = 4,
} choir_topk_threshold;

typedef struct choir_topk_config {
	size_t struct_size; /* sizeof(choir_topk_config) */
	size_t count;       /* elements of the tensor */
	choir_dtype dtype;  /* CHOIR_F16, BF16, F32, F64 */
	/* dense topka topka2 topk-opt gtopk topk-sa gaussiank gaussiank-concat gaussiank-sa oktopk spardl; also
	 * "topka-opt", "topkA", "topkAopt", "topkSA", "gaussiankconcat", "gaussiankSA"; NULL = oktopk */
	const char *algorithm;
	double density; /* part of the entries to keep, at most 1; 0 = 0.01, gtopk 0.001 */
	size_t k;       /* > 0: so many instead; at most count */
	/* > 0: of call t it is densities[t / calls_per_density], the last one from then on; copied */
	size_t n_densities;
	const double *densities;
	size_t calls_per_density;
	size_t dense_calls; /* the first so many calls are dense; 0 = the preset's, without one none */
	const char *preset; /* "vgg", "lstm", "bert": periods and bands of oktopk's thresholds, and dense_calls; NULL =
	                       those of lstm, and no dense calls */
	double decay;       /* of the residual */
	double scale;       /* of the gradient: the learning rate, say */
	double momentum;    /* m > 0: u = m * u + scale * grad, acc = decay * residual + u; u loses what acc loses */
	choir_op op;        /* CHOIR_OP_MEAN or CHOIR_OP_SUM */
	/* not 0: a NaN in the gradient or the residual of any rank fails the call on all ranks; else it counts as
	 * larger than all else, and so leaves the residual */
	int nan_fails;
	/* Not for dense, gtopk and spardl, whose messages have room for their own selection (UNSUPPORTED).  The others
	 * are for REUSE, and 0 = the preset's: the band in parts of k, the factor at least 1. */
	choir_topk_threshold threshold;
	size_t threshold_period;
	double threshold_low, threshold_high, threshold_factor;
	/* how values travel in sparse calls: CHOIR_F16, CHOIR_BF16, or CHOIR_F32 of an f64 tensor; 0 = as they are
	 * accumulated.  The rounding error stays in the residual of the rank that rounds, so the law holds; numbers
	 * beyond the type's largest travel as that one.  Not for dense (UNSUPPORTED), and dense calls do not round. */
	choir_dtype wire_dtype;
	/* topk-sa, gaussiank-sa, oktopk: from how many other ranks an owner takes pairs at once, while it adds those
	 * that have come; 0 = 4.  The same on all ranks */
	size_t sends_in_flight;
} choir_topk_config;
#define CHOIR_TOPK_CONFIG_INIT                                                                                         \
	{                                                                                                              \
		sizeof(choir_topk_config), 0, CHOIR_F32, NULL, 0, 0, 0, NULL, 0, 0, NULL, 1, 1, 0, CHOIR_OP_MEAN, 0,   \
		    CHOIR_TOPK_THRESHOLD_AUTO, 0, 0, 0, 0, (choir_dtype)0, 0                                           \
	}

/* choir_topk_create: the residual is zero.  Not collective: nothing is sent.  create, reset, export, import and
 * choir_topk_residual block while a GPU fills or copies a residual that it keeps.  The state keeps the comm's shell,
 * and is to be destroyed before or after it.  ARGUMENT naming the field, UNSUPPORTED, NO_MEMORY, OPENCL. */
CHOIR_API choir_status choir_topk_create(choir_comm *comm, const choir_topk_config *config, choir_topk_state **out_p);

/* choir_topk_destroy: NULL is silent.  Calls under way keep what they need. */
CHOIR_API void choir_topk_destroy(choir_topk_state *state);

/* choir_topk_reset: as after create.  ARGUMENT while a call is under way, as the three functions below. */
CHOIR_API choir_status choir_topk_reset(choir_topk_state *state);

/* choir_topk_export: the state as bytes (version 1, little endian): residual, momentum, count of calls, thresholds and
 * regions.  *bytes_p: room in, size out; bytes NULL asks for the size; too little room is CAPACITY.
 * choir_topk_import: into a state of the same count, dtype, algorithm, momentum and ranks: calls go on bit for bit.
 * ARGUMENT if the bytes are none, or another state's; an import that fails leaves the state as it was. */
CHOIR_API choir_status choir_topk_export(choir_topk_state *state, void *bytes, size_t *bytes_p);
CHOIR_API choir_status choir_topk_import(choir_topk_state *state, const void *bytes, size_t n_bytes);

/* choir_topk_residual: copies it out, count elements of f32 (f64 for f64), to host memory. */
CHOIR_API choir_status choir_topk_residual(choir_topk_state *state, void *to);

/* Where the result goes: dense, or ind and val, or all three; the others are choir_none(). */
typedef struct choir_topk_out {
	size_t struct_size;    /* sizeof(choir_topk_out) */
	choir_buffer dense;    /* count elements of dtype; zero where nothing came */
	choir_buffer ind, val; /* pairs, ascending: i32 or i64, and dtype */
	choir_dtype ind_dtype;
	/* room in, pairs of the result out; must live until the event completes.  If any rank's room is too small the
	 * call fails on all ranks with CAPACITY, and the residuals are as before. */
	size_t *pairs_p;
	/* which of this rank's entries the result has: count bits in 32-bit words, the lowest first; or, if
	 * involved_pairs_p is given, a list of ind_dtype, ascending, room in and entries out */
	choir_buffer involved;
	size_t *involved_pairs_p;
	/* if it is given, [ranks]: ind and val get the pairs that the ranks sent, not added: one rank's behind the
	 * other's, in rank order, each ascending; so many of each rank.  pairs_p is then of all of them.  For a mean
	 * the values are divided, so their sum is the result's.  topka, topk-opt, gaussiank, gaussiank-concat (else
	 * UNSUPPORTED); in a dense call all elements are rank 0's.  Must live until the event completes */
	size_t *rank_pairs_p;
} choir_topk_out;
#define CHOIR_TOPK_OUT_INIT                                                                                            \
	{                                                                                                              \
		sizeof(choir_topk_out), { CHOIR_BUFFER_NONE, NULL, 0 }, { CHOIR_BUFFER_NONE, NULL, 0 },                \
		    { CHOIR_BUFFER_NONE, NULL, 0 }, CHOIR_I32, NULL, { CHOIR_BUFFER_NONE, NULL, 0 }, NULL, NULL        \
	}

/* choir_topk_allreduce: collective over the comm of the state.  grad: count elements; it may be out->dense, the same
 * range.  Any kind of buffer; deps and event as for every call; no options.  MISMATCH if ranks' states differ. */
CHOIR_API choir_status choir_topk_allreduce(choir_topk_state *state, choir_buffer grad, const choir_topk_out *out,
                                            const choir_call *call, choir_event **event_p);

/* choir_topk_allreduce_at: the same with the caller's selection: the entries of acc at these ind_count indices (i32 or
 * i64, any order; one that is given twice counts once) in place of the algorithm's.  All ranks use this form, each with
 * indices of its own, which are read like grad.  UNSUPPORTED for spardl, whose messages have k/P entries a chunk; gtopk
 * takes at most k of them (ARGUMENT); dense calls send everything.  ARGUMENT on all ranks, and the residuals as before,
 * if an index of some rank is not one of count elements. */
CHOIR_API choir_status choir_topk_allreduce_at(choir_topk_state *state, choir_buffer grad, choir_buffer ind,
                                               size_t ind_count, choir_dtype ind_dtype, const choir_topk_out *out,
                                               const choir_call *call, choir_event **event_p);

/* choir_topk_allreduce_multi: many tensors as one under one event: the state's tensor is all of them, one behind the
 * other (counts add up to config.count, dtypes are the state's).  send: a gradient; recv: its dense result, may be the
 * gradient, or choir_none().  out: pairs and involved, whose indices count through all tensors; its dense is
 * choir_none(); NULL: none.  Ranks may cut differently.  The list is copied before the call returns. */
CHOIR_API choir_status choir_topk_allreduce_multi(choir_topk_state *state, const choir_tensor *tensors,
                                                  size_t n_tensors, const choir_topk_out *out, const choir_call *call,
                                                  choir_event **event_p);

/* choir_topk_allreduce_init, choir_topk_allreduce_multi_init: a call that choir_start starts again and again
 * (<choir/collective.h>), checked once.  The request keeps state, comm and cl_mems.  Each start has the room for pairs
 * and entries that *pairs_p and *involved_pairs_p said to init, and writes them; they live as long as the request. */
CHOIR_API choir_status choir_topk_allreduce_init(choir_topk_state *state, choir_buffer grad, const choir_topk_out *out,
                                                 const choir_call *call, choir_request **request_p);
CHOIR_API choir_status choir_topk_allreduce_multi_init(choir_topk_state *state, const choir_tensor *tensors,
                                                       size_t n_tensors, const choir_topk_out *out,
                                                       const choir_call *call, choir_request **request_p);

/* Statistics of a call. */
typedef struct choir_topk_stats {
	size_t struct_size;      /* sizeof(choir_topk_stats), set by the caller */
	const char *algorithm;   /* that ran; constant; "dense" in the warm-up */
	uint64_t call;           /* its number since create or reset, from 0 */
	uint64_t k;              /* asked for */
	uint64_t selected;       /* of this rank's entries */
	uint64_t pairs;          /* of the result */
	uint64_t involved;       /* of this rank's entries, those whose index the result has */
	double local_threshold;  /* the magnitude from which this rank selected; 0 if by no threshold */
	double global_threshold; /* oktopk: the magnitude from which the next call keeps sums, or finds another */
	double imbalance;        /* pairs that the busiest owner got / the mean; 1 without owners */
	uint64_t pairs_received; /* by this rank from others: an index and a value each */
	uint64_t wire_bytes;     /* sent by this rank to other nodes */
	/* Where this rank's time went, from the arrival of the gradient: accumulating and selecting; waiting for other
	 * ranks and moving data; work on lists between the exchanges; the result and the new residual. */
	double select_us, exchange_us, merge_us, update_us;
} choir_topk_stats;

/* choir_event_topk_stats: of an event of choir_topk_allreduce that ended well; ARGUMENT for any other. */
CHOIR_API choir_status choir_event_topk_stats(choir_event *event, choir_topk_stats *out);

#ifdef __cplusplus
}
#endif

#endif
