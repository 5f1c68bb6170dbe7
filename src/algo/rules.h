/* SPDX-License-Identifier: MIT */
/* Rules: which algorithm is taken, as text.  "allreduce: 0-16k oneshot; 16k- twoshot; nodes>1 & 1m- ring; broadcast: 0-
 * binomial # comment"
 *
 * A collective's name and a colon start its rules; semicolons and line ends separate them; each is conditions joined by
 * '&' (or blanks), then an algorithm.  Conditions: LOW-HIGH in bytes (LOW included, HIGH not, either may be left out; k
 * m g = 2^10, 2^20, 2^30), nodes or ranks with = < > <= >= and a number.  The first rule that holds, and whose
 * algorithm can run, decides; without one the built-in defaults do.
 *
 * "costs: network alpha=60000 beta=8.5; shared merge=7": constants of the sparse cost model (link_costs.h), in ns; the
 * first of a name counts. */
#ifndef ALGO_RULES_H
#define ALGO_RULES_H

#include "algo/algo.h"
#include "algo/link_costs.h"

struct rule {
	const struct algorithm *algorithm;
	uint64_t low, high;       /* bytes: low <= bytes < high */
	int nodes_low, nodes_high;/* both included */
	int ranks_low, ranks_high;
};

struct rules {
	struct rule *list;
	size_t n;
	struct link_costs costs;
	char *text;
};

/* rules_parse: ARGUMENT with the line, the word and what was expected; *out untouched then.  text NULL = no rules. */
choir_status rules_parse(const char *text, struct rules *out);
void rules_free(struct rules *rules);

/* rules_choose: the algorithm for this call; falls back to algo_default. */
const struct algorithm *rules_choose(const struct rules *rules, const struct algo_in *in);

#endif
