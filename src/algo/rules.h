/* SPDX-License-Identifier: MIT */
/* Rules: a text that chooses algorithms, such as
 *   "allreduce: 0-16k oneshot; 16k- twoshot; nodes>1 & 1m- ring; broadcast: 0- binomial # comment"
 *
 * The name of a collective and a colon begin its rules, which semicolons or line ends separate.  A rule has conditions,
 * joined by '&' or blanks, and an algorithm.  Conditions are LOW-HIGH in bytes (LOW included, HIGH not, either may be
 * left out; k m g = 2^10, 2^20, 2^30), and nodes or ranks with = < > <= >= and a number.  The first rule whose
 * conditions hold and whose algorithm can run decides; if there is none the built-in rules do.
 *
 * "costs: network alpha=60000 beta=8.5; shared merge=7" sets constants of the sparse cost model (link_costs.h), in ns;
 * the first value of each is used. */
#ifndef ALGO_RULES_H
#define ALGO_RULES_H

#include "algo/algo.h"
#include "algo/link_costs.h"

struct rule {
	const struct algorithm *algorithm;
	uint64_t low, high;        /* bytes: low <= bytes < high */
	int nodes_low, nodes_high; /* both included */
	int ranks_low, ranks_high;
};

struct rules {
	struct rule *list;
	size_t n;
	struct link_costs costs;
	char *text;
};

/* rules_parse: text NULL = no rules.  ARGUMENT with the line, the word and what was expected, NO_MEMORY; *out is then
 * unchanged. */
choir_status rules_parse(const char *text, struct rules *out);
void rules_free(struct rules *rules);

/* rules_choose: the algorithm for this call, by the rules or else by algo_default. */
const struct algorithm *rules_choose(const struct rules *rules, const struct algo_in *in);

#endif
