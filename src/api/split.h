/* SPDX-License-Identifier: MIT */
/* Comms out of a comm: by claims that all its ranks gather, or by a list of members that they alone exchange. */
#ifndef API_SPLIT_H
#define API_SPLIT_H

#include "api/call.h"
#include "api/process.h"

/* A rank's claim in a split.  rule: must be the same on all ranks (MISMATCH); the caller makes all other checks of
 * it. */
struct split_claim {
	int32_t color, key;
	int32_t rule[3];
	/* filled by split_comms: of a list of members a hash of their set, the lowest local rank, and the facts of this
	 * rank alone */
	int32_t set, driver;
	struct process process;
};

struct split_how {
	const char *call;                /* for messages */
	const choir_comm_config *config; /* NULL, or what differs from the parent's */
	const int *ranks;                /* [n_ranks] the members, who alone call; NULL: all ranks of the parent call */
	int n_ranks;
	/* what a rank's rule says, for a MISMATCH */
	void (*describe)(const struct split_claim *claim, char *text, size_t bytes);
};

/* split_comms: comms_out[i] of the local rank comms[i], which claims claims[i]; NULL for a negative color.  Collective
 * and blocking; all or nothing on this process. */
choir_status split_comms(const struct split_how *how, int n_local, choir_comm *const *comms, struct split_claim *claims,
                         choir_comm **comms_out);

/* split_config: choir_comm_split_config; call: what an error names. */
choir_status split_config(const char *call, choir_comm *comm, int color, int key, const choir_comm_config *config,
                          choir_comm **out_p);

#endif
