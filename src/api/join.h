/* SPDX-License-Identifier: MIT */
/* How ranks become a comm.  A bootstrap joins processes; two threads that call apart, each with ranks of its own, count
 * as two. */
#ifndef API_JOIN_H
#define API_JOIN_H

#include "api/process.h"
#include "exec/comm.h"

struct join {
	const char *call; /* for messages */
	const choir_bootstrap *bootstrap;
	int n_local;
	choir_device *const *devices;      /* [n_local] */
	const int *ranks;                  /* [n_local] wanted ranks; NULL = numbered by process */
	const choir_comm_config *config;   /* never NULL, full size */
	choir_comm *const *parents;        /* split: [n_local] of each, whose messenger it inherits; NULL = none */
	const int *endpoints;              /* split: [n_local] there */
	const struct layout *parent_nodes; /* split: ranks of one node of the parent stay together, others apart */
	const int *members;                /* split: [ranks] the parent rank of each */
	const struct process *processes;   /* [processes] their facts, if all know them; NULL = they are gathered */
	choir_status ready;                /* of what was before, with this thread's last error: the others are told */
};

/* join_comms: collective over the processes; comms_out[i] is local rank i's.  All or nothing. */
choir_status join_comms(const struct join *join, choir_comm **comms_out);

/* join_options: checks the options and order_ranks of the caller's config, and sets order_ranks: what the options say,
 * else 1 if it was or if `otherwise`.  ARGUMENT. */
choir_status join_options(const char *call, bool otherwise, choir_comm_config *config);

/* join_config: the caller's config (NULL = defaults) completed by the environment.  ARGUMENT. */
choir_status join_config(const char *call, const choir_comm_config *given, choir_comm_config *out);

#endif
