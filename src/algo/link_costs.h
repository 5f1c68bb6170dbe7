/* SPDX-License-Identifier: MIT */
/* The constants of the sparse cost model (sparse/cost.h) for each kind of link, which "costs:" in the rules sets. */
#ifndef ALGO_LINK_COSTS_H
#define ALGO_LINK_COSTS_H

#include <choir/types.h>
#include <stdbool.h>

/* shared: all ranks on one node read each other's memory; node: all on one node, data goes through slots; network:
 * several nodes. */
enum link_class { LINK_SHARED, LINK_NODE, LINK_NETWORK, N_LINKS };

/* The cost of a message, a byte received, a byte copied between buffers of one rank, a pair merged, a byte of a row
 * folded. */
enum cost_term { COST_ALPHA, COST_BETA, COST_SIGMA, COST_MERGE, COST_FOLD, N_COSTS };

/* In ns.  float, since ranks send these constants to each other and compare them. */
struct link_costs {
	float ns[N_LINKS][N_COSTS];
};

extern const struct link_costs link_costs_default;
extern const char *const link_costs_links[N_LINKS], *const link_costs_terms[N_COSTS];

/* The constants that a text has set so far; the first value of each is kept. */
struct link_costs_given {
	bool is[N_LINKS][N_COSTS];
};

/* link_costs_scan: reads "network alpha=60000 beta=8.5" at *at of text into *out.  ARGUMENT with line and word; *out
 * then has the values read before the error. */
choir_status link_costs_scan(const char *text, const char **at, struct link_costs_given *given, struct link_costs *out);

#endif
