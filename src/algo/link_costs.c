/* SPDX-License-Identifier: MIT */
#include "algo/link_costs.h"

#include "algo/scan.h"
#include "base/error.h"
#include "base/float_control.h"

#include <string.h>

/* Shared and node: measured on one machine.  Network: TCP at 1 Gb/s, as in the defaults of <choir/plan.h>. */
const struct link_costs link_costs_default = { .ns = {
						   [LINK_SHARED] = { [COST_ALPHA] = 8000,
	                                                             [COST_BETA] = 0.15F,
	                                                             [COST_SIGMA] = 0.2F,
	                                                             [COST_MERGE] = 6,
	                                                             [COST_FOLD] = 0.15F },
						   [LINK_NODE] = { [COST_ALPHA] = 12000,
	                                                           [COST_BETA] = 0.45F,
	                                                           [COST_SIGMA] = 0.2F,
	                                                           [COST_MERGE] = 6,
	                                                           [COST_FOLD] = 0.15F },
						   [LINK_NETWORK] = { [COST_ALPHA] = 60000,
	                                                              [COST_BETA] = 8.5F,
	                                                              [COST_SIGMA] = 0.2F,
	                                                              [COST_MERGE] = 6,
	                                                              [COST_FOLD] = 0.15F },
					       } };

const char *const link_costs_links[N_LINKS] = {
	[LINK_SHARED] = "shared", [LINK_NODE] = "node", [LINK_NETWORK] = "network"
};
const char *const link_costs_terms[N_COSTS] = {
	[COST_ALPHA] = "alpha", [COST_BETA] = "beta", [COST_SIGMA] = "sigma",
	[COST_MERGE] = "merge", [COST_FOLD] = "fold",
};

#define MOST_NS 1e12 /* so that sums stay finite */

static int find(const char *const *names, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -1;
}

/* Not inlined, so that the arithmetic stays between float_control_begin and float_control_end. */
static bool __attribute__((noinline)) scan_ns(const char **at, float *out)
{
	double ns;

	if (!scan_decimal(at, &ns) || ns > MOST_NS)
		return false;
	*out = (float)ns;
	return true;
}

/* Reads "=60000" after the name of a term: the same number on all ranks, whatever the caller's control word. */
static choir_status take_value(const char *text, const char **at, float *out)
{
	const char *start;
	uint64_t control;
	bool is_number;

	scan_blanks(at);
	if (**at != '=')
		return scan_expected(text, *at, "'=' and a number");
	++*at;
	scan_blanks(at);
	start = *at;
	control = float_control_begin();
	is_number = scan_ns(at, out);
	float_control_end(control);
	return is_number ? CHOIR_SUCCESS : scan_expected(text, start, "a number of nanoseconds like 60000 or 8.5");
}

choir_status link_costs_scan(const char *text, const char **at, struct link_costs_given *given, struct link_costs *out)
{
	char word[32];
	const char *start = *at;
	int link, term;
	float ns;

	link = scan_word(at, word, sizeof word) > 0 ? find(link_costs_links, N_LINKS, word) : -1;
	if (link < 0)
		return scan_expected(text, start, "shared, node or network");
	for (;;) {
		scan_blanks(at);
		start = *at;
		if (scan_word(at, word, sizeof word) == 0)
			return CHOIR_SUCCESS;
		term = find(link_costs_terms, N_COSTS, word);
		if (term < 0)
			return scan_expected(text, start, "alpha, beta, sigma, merge or fold");
		TRY(take_value(text, at, &ns));
		if (!given->is[link][term])
			out->ns[link][term] = ns;
		given->is[link][term] = true;
	}
}
