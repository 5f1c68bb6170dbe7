/* SPDX-License-Identifier: MIT */
/* Plans without running them: what each rank of a collective would do, whether that is right, and how long it would
 * take.  For choir-plan and for tuning; programs that communicate do not need it, so <choir/choir.h> does not include
 * it.
 *
 * Nothing here needs a device, a comm or MPI: the ranks exist on paper.  Any thread.  Errors: ARGUMENT with the
 * option's name; UNSUPPORTED where the algorithm does not fit the call, or there are more steps than can be looked at;
 * NO_MEMORY.  Outputs are set on success only. */
#ifndef CHOIR_PLAN_H
#define CHOIR_PLAN_H

#include <choir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The call.  Zero means: the usual. */
typedef struct choir_plan_options {
	size_t struct_size;     /* sizeof(choir_plan_options) */
	const char *collective; /* "allreduce", "broadcast" ... */
	const char *algorithm;  /* "ring" ...; NULL: as the rules choose */
	const char *rules;      /* rules as in CHOIR_RULES, before the built-in ones; NULL: those alone */
	int ranks;              /* 1 to 16384 */
	int ranks_per_node;     /* neighbours share a node, the last one may have fewer; 0: all on one */
	size_t bytes;           /* allreduce, broadcast, reduce, send, recv: the whole; the others: one rank's block */
	choir_dtype dtype;      /* bytes are a multiple of its size */
	int root;               /* broadcast, reduce; send and recv: who receives from rank 0 (0: the last rank) */
	int in_place;           /* 1: send and receive buffer are one */
	int staged;             /* 1: device memory that the host cannot reach, so the plan copies to it and from it */
	/* 1: the ranks of a node reach each other's buffers (choir_mem_alloc, or threads of one process) */
	int shared;
	size_t slot_bytes;      /* of the arena; 0: as a comm of this layout has */
	size_t message_bytes;   /* the longest message; 0: as a comm has */
} choir_plan_options;
#define CHOIR_PLAN_OPTIONS_INIT { sizeof(choir_plan_options), NULL, NULL, NULL, 0, 0, 0, CHOIR_U8, 0, 0, 0, 0, 0, 0 }

enum { CHOIR_PLAN_TEXT, CHOIR_PLAN_DOT, CHOIR_PLAN_JSON };
#define CHOIR_PLAN_ALL_RANKS (-1)

/* choir_plan_text: rank's plan, or all ranks', as lines of text, as a Graphviz graph, or as a JSON object.  The caller
 * frees *text_p with free(). */
CHOIR_API choir_status choir_plan_text(const choir_plan_options *options, int rank, int format, char **text_p);

/* choir_plan_check: proves the plans of all ranks: every message has its receiver, nothing waits in a circle, no two
 * steps can touch the same bytes at once, and the results are right, which is found out by doing the steps on symbols.
 * MISMATCH with the first thing that is wrong; UNSUPPORTED for more than 131072 steps of all ranks together.  *report_p
 * (or NULL) gets a line on what was checked; free(). */
CHOIR_API choir_status choir_plan_check(const choir_plan_options *options, char **report_p);

/* Latencies in microseconds, rates in GB/s (10^9 bytes a second).  A message costs both ends the overhead and so many
 * copies of its bytes; it then fills the way out of the sender's node, which that node's ranks share, and the latency
 * later the way into the receiver's. */
typedef struct choir_plan_costs {
	size_t struct_size;          /* sizeof(choir_plan_costs) */
	double network_latency_us;
	double network_GBps;
	double network_overhead_us;
	double network_copies;
	double node_latency_us;      /* messages between ranks of one node */
	double node_GBps;            /* of each rank */
	double node_overhead_us;
	double node_copies;
	double copy_GBps;            /* one rank's copies, by bytes copied */
	double reduce_GBps;          /* one rank's reductions, by bytes of all operands */
	double flag_us;              /* until a raised flag is seen by the node */
	double step_us;              /* the engine's own time for a step */
} choir_plan_costs;

/* choir_plan_costs_default: TCP at 1 Gb/s between the nodes, and a node whose chunks stay in the cache; set struct_size
 * first. */
CHOIR_API choir_status choir_plan_costs_default(choir_plan_costs *costs);

typedef struct choir_plan_prediction {
	size_t struct_size;          /* sizeof(choir_plan_prediction), set by the caller */
	double seconds;              /* from a common start until the last rank is done */
	uint64_t steps;              /* of all ranks */
	uint64_t messages;
	uint64_t network_messages;   /* those between nodes, and their bytes */
	uint64_t network_bytes;
	const char *algorithm;       /* that was asked for or chosen; constant */
} choir_plan_prediction;

/* choir_plan_predict: plays the plans of all ranks through; costs NULL: the default ones.  finish_s (NULL, or one for
 * each rank) gets when each is done.  About a second per million steps; UNSUPPORTED for more than 33 million. */
CHOIR_API choir_status choir_plan_predict(const choir_plan_options *options, const choir_plan_costs *costs,
                                          choir_plan_prediction *prediction, double *finish_s);

/* choir_plan_algorithms: the algorithms there are for options->collective, a JSON array of {"name", "about", "unfit"}:
 * null, or why it cannot do this call; and "chosen": is it the one that the rules take?  options->algorithm is not
 * looked at.  free(). */
CHOIR_API choir_status choir_plan_algorithms(const choir_plan_options *options, char **text_p);

#ifdef __cplusplus
}
#endif

#endif
