/* SPDX-License-Identifier: MIT */
/* Plans of collectives, without running them: the steps of each rank, a proof that they are right, and a prediction of
 * their time.  For choir-plan and for tuning; <choir/choir.h> does not include it.
 *
 * No function needs a device, a comm or MPI.  Any thread.  Errors: ARGUMENT with the option's name; UNSUPPORTED if the
 * algorithm does not fit the call, the plans have too many steps, or a rank's buffer has 4194304 messages or slots;
 * NO_MEMORY.  Outputs are set on success only. */
#ifndef CHOIR_PLAN_H
#define CHOIR_PLAN_H

#include <choir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The call and the layout of its ranks.  Zero: the default. */
typedef struct choir_plan_options {
	size_t struct_size;     /* sizeof(choir_plan_options) */
	const char *collective; /* "allreduce", "broadcast" ... */
	const char *algorithm;  /* "ring" ...; NULL: the rules choose */
	const char *rules;      /* rules as in CHOIR_RULES, before the built-in ones; NULL: the built-in rules alone */
	int ranks;              /* 1 to 16384 */
	int ranks_per_node;     /* consecutive ranks on each node; the last node may have fewer; 0: all on one node */
	size_t bytes;           /* allreduce, broadcast, reduce, scan, exscan, send, recv: the whole; the others: one
	                         * rank's block */
	choir_dtype dtype;      /* bytes are a multiple of its size */
	int root; /* broadcast, reduce, gather(v), scatter(v); send, recv: the receiver of rank 0's message (0: the last
	             rank) */
	int in_place; /* 1: send and recv are the same buffer */
	int staged;   /* 1: device memory that the host cannot map, so the plan copies from it and to it */
	/* 1: the ranks of a node can access each other's buffers (choir_mem_alloc, or threads of one process) */
	int shared;
	size_t slot_bytes;    /* of a slot of the arena; 0: as in a comm of this layout */
	size_t message_bytes; /* of the longest message, 64 to 1 GiB; 0: as in a comm */
	/* 1: reductions are folded in rank order, as sums on a comm with order_ranks are (docs/determinism.md):
	 * algorithms that fold floats in another order are unfit; integers keep all */
	int order_ranks;
} choir_plan_options;
#define CHOIR_PLAN_OPTIONS_INIT                                                                                        \
	{                                                                                                              \
		sizeof(choir_plan_options), NULL, NULL, NULL, 0, 0, 0, CHOIR_U8, 0, 0, 0, 0, 0, 0, 0                   \
	}

enum { CHOIR_PLAN_TEXT, CHOIR_PLAN_DOT, CHOIR_PLAN_JSON };
#define CHOIR_PLAN_ALL_RANKS (-1)

/* choir_plan_text: the plan of one rank, or of all, as lines of text, a Graphviz graph or a JSON object.  The caller
 * frees *text_p with free(). */
CHOIR_API choir_status choir_plan_text(const choir_plan_options *options, int rank, int format, char **text_p);

/* choir_plan_check: proves the plans of all ranks: every message has a receiver, no steps wait in a circle, no two
 * steps can access the same bytes at once, and the results are right, by executing the steps on symbols.  MISMATCH with
 * the first error found; UNSUPPORTED for more than 131072 steps of all ranks together.  *report_p: a line that says
 * what was checked, for the caller to free(); report_p may be NULL. */
CHOIR_API choir_status choir_plan_check(const choir_plan_options *options, char **report_p);

/* Latencies in microseconds, rates in GB/s (10^9 bytes a second).  A message costs both ranks the overhead and `copies`
 * copies of its bytes.  It then occupies the outgoing link of the sender's node, which the node's ranks share, and one
 * latency later the incoming link of the receiver's node. */
typedef struct choir_plan_costs {
	size_t struct_size; /* sizeof(choir_plan_costs) */
	double network_latency_us;
	double network_GBps;
	double network_overhead_us;
	double network_copies;
	double node_latency_us; /* messages between ranks of one node */
	double node_GBps;       /* of each rank */
	double node_overhead_us;
	double node_copies;
	double copy_GBps;   /* one rank's copies, by bytes copied */
	double reduce_GBps; /* one rank's reductions, by bytes of all operands */
	double flag_us;     /* until the ranks of the node see a published flag */
	double step_us;     /* the engine's own time for a step */
	double slot_GBps;   /* besides: one rank's writes to its slot, whose lines are in its peers' caches */
} choir_plan_costs;

/* choir_plan_costs_default: TCP at 1 Gb/s between the nodes, and a node whose chunks stay in the cache.  Set
 * struct_size before the call. */
CHOIR_API choir_status choir_plan_costs_default(choir_plan_costs *costs);

typedef struct choir_plan_prediction {
	size_t struct_size; /* sizeof(choir_plan_prediction), set by the caller */
	double seconds;     /* from a common start until the last rank is done */
	uint64_t steps;     /* of all ranks */
	uint64_t messages;
	uint64_t network_messages; /* those between nodes, and their bytes */
	uint64_t network_bytes;
	const char *algorithm; /* the one given or chosen; a constant text */
} choir_plan_prediction;

/* choir_plan_predict: simulates the plans of all ranks.  costs NULL: the defaults.  finish_s: NULL, or one number for
 * each rank: the seconds when it is done.  About a second for a million steps; UNSUPPORTED for more than 33 million. */
CHOIR_API choir_status choir_plan_predict(const choir_plan_options *options, const choir_plan_costs *costs,
                                          choir_plan_prediction *prediction, double *finish_s);

/* choir_plan_algorithms: the algorithms of options->collective as a JSON array of {"name", "about", "unfit", "chosen"}.
 * unfit: null, or the reason why it cannot do this call; chosen: true for the one that the rules choose.
 * options->algorithm is ignored.  The caller frees *text_p with free(). */
CHOIR_API choir_status choir_plan_algorithms(const choir_plan_options *options, char **text_p);

#ifdef __cplusplus
}
#endif

#endif
