/* SPDX-License-Identifier: MIT */
/* What work costs on a kind of link: the constants of the sparse cost model (sparse/cost.h), as the "costs:" of the
 * rules give them. */
#ifndef ALGO_LINK_COSTS_H
#define ALGO_LINK_COSTS_H

#include <choir/types.h>
#include <stdbool.h>

/* shared: ranks of a node that read each other's memory; node: that pass chunks through slots; network: some ranks are
 * on other nodes. */
enum link_class { LINK_SHARED, LINK_NODE, LINK_NETWORK, N_LINKS };

/* A message, a byte received, a byte copied between buffers of one rank, a pair put in its place, a byte of a row that
 * is folded. */
enum cost_term { COST_ALPHA, COST_BETA, COST_SIGMA, COST_MERGE, COST_FOLD, N_COSTS };

/* In ns.  float, so that ranks compare what they compute with. */
struct link_costs {
	float ns[N_LINKS][N_COSTS];
};

extern const struct link_costs link_costs_default;
extern const char *const link_costs_links[N_LINKS], *const link_costs_terms[N_COSTS];

/* What a text has given so far: the first one counts. */
struct link_costs_given {
	bool is[N_LINKS][N_COSTS];
};

/* link_costs_scan: "network alpha=60000 beta=8.5" at *at of text.  ARGUMENT with line and word; *out untouched then,
 * but for what stood before. */
choir_status link_costs_scan(const char *text, const char **at, struct link_costs_given *given, struct link_costs *out);

#endif
