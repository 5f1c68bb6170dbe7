/* SPDX-License-Identifier: MIT */
#include "algo/rules.h"

#include "algo/scan.h"
#include "base/error.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Reads the comparison of "nodes>1" into an inclusive range. */
static bool take_bounds(const char **at, int *low, int *high)
{
	char sign = **at;
	bool equal;
	uint64_t value;

	if (sign != '=' && sign != '<' && sign != '>')
		return false;
	++*at;
	equal = sign == '=' || **at == '=';
	if (sign != '=' && equal)
		++*at;
	scan_blanks(at);
	if (!scan_size(at, &value) || value > INT_MAX / 2)
		return false;
	if (sign != '<')
		*low = (int)value + !equal;
	if (sign != '>')
		*high = (int)value - !equal;
	return true;
}

static bool take_range(const char **at, struct rule *rule)
{
	if (isdigit((unsigned char)**at) && !scan_size(at, &rule->low))
		return false;
	if (**at != '-')
		return false;
	++*at;
	return !isdigit((unsigned char)**at) || scan_size(at, &rule->high);
}

/* Reads one rule: conditions, then the algorithm's name. */
static choir_status take_rule(const char *text, const char **at, enum collective collective, struct rule *rule)
{
	char word[32];

	*rule = (struct rule){ .high = UINT64_MAX, .nodes_high = INT_MAX, .ranks_high = INT_MAX };
	for (;;) {
		const char *start;

		scan_blanks(at);
		start = *at;
		if (**at == '&') {
			++*at;
		} else if (isdigit((unsigned char)**at) || **at == '-') {
			if (!take_range(at, rule))
				return scan_expected(text, start, "a range of bytes like 4k-1m");
		} else if (scan_word(at, word, sizeof word) == 0) {
			return scan_expected(text, start, "a condition or an algorithm");
		} else if (strcmp(word, "nodes") == 0 || strcmp(word, "ranks") == 0) {
			bool nodes = word[0] == 'n';

			scan_blanks(at);
			if (!take_bounds(at, nodes ? &rule->nodes_low : &rule->ranks_low,
			                 nodes ? &rule->nodes_high : &rule->ranks_high))
				return scan_expected(text, *at, "a comparison with a number");
		} else {
			rule->algorithm = algo_find(collective, word);
			return rule->algorithm != NULL
			           ? CHOIR_SUCCESS
			           : error_set(CHOIR_ARGUMENT, "rules: line %d: %s has no algorithm '%s'",
			                       scan_line(text, start), collective_name(collective), word);
		}
	}
}

static choir_status append(struct rules *rules, const struct rule *rule)
{
	struct rule *grown = realloc(rules->list, (rules->n + 1) * sizeof *grown);

	if (grown == NULL)
		return error_no_memory("rules", (rules->n + 1) * sizeof *grown);
	rules->list = grown;
	rules->list[rules->n++] = *rule;
	return CHOIR_SUCCESS;
}

static choir_status add_rule(const char *text, const char **at, enum collective collective, struct rules *rules)
{
	struct rule rule;

	if (collective == N_COLLECTIVES)
		return scan_expected(text, *at, "a collective's name and a colon");
	TRY(take_rule(text, at, collective, &rule));
	return append(rules, &rule);
}

/* Reads a heading such as "allreduce:"; false if there is none here. */
static bool take_heading(const char **at, char *word, size_t room)
{
	const char *p = *at;

	if (scan_word(&p, word, room) == 0)
		return false;
	scan_blanks(&p);
	if (*p != ':')
		return false;
	*at = p + 1;
	return true;
}

static choir_status parse(const char *text, struct rules *rules)
{
	enum collective collective = N_COLLECTIVES;
	struct link_costs_given given = { 0 };
	bool costs = false;
	const char *at = text;
	char word[32];

	for (;;) {
		scan_blanks(&at);
		if (*at == '\0')
			return CHOIR_SUCCESS;
		if (*at == ';' || *at == '\n') {
			at++;
			continue;
		}
		if (take_heading(&at, word, sizeof word)) {
			costs = strcmp(word, "costs") == 0;
			if (!costs && collective_parse(word, &collective) != CHOIR_SUCCESS)
				return error_prefix(CHOIR_ARGUMENT, "rules: line %d", scan_line(text, at));
			continue;
		}
		if (costs)
			TRY(link_costs_scan(text, &at, &given, &rules->costs));
		else
			TRY(add_rule(text, &at, collective, rules));
		scan_blanks(&at);
		if (*at != '\0' && *at != ';' && *at != '\n')
			return scan_expected(text, at, "';' after a rule");
	}
}

choir_status rules_parse(const char *text, struct rules *out)
{
	struct rules rules = { .costs = link_costs_default };
	choir_status st;

	if (text == NULL)
		text = "";
	st = parse(text, &rules);
	if (st == CHOIR_SUCCESS && (rules.text = strdup(text)) == NULL)
		st = error_no_memory("rules", strlen(text));
	if (st != CHOIR_SUCCESS) {
		rules_free(&rules);
		return st;
	}
	*out = rules;
	return CHOIR_SUCCESS;
}

void rules_free(struct rules *rules)
{
	free(rules->list);
	free(rules->text);
	memset(rules, 0, sizeof *rules);
}

static bool holds(const struct rule *rule, const struct algo_in *in)
{
	int nodes = in->layout->n_nodes, ranks = in->layout->n;

	return rule->algorithm->collective == in->collective && in->bytes >= rule->low && in->bytes < rule->high &&
	       nodes >= rule->nodes_low && nodes <= rule->nodes_high && ranks >= rule->ranks_low &&
	       ranks <= rule->ranks_high && algo_unfit(rule->algorithm, in) == NULL;
}

const struct algorithm *rules_choose(const struct rules *rules, const struct algo_in *in)
{
	for (size_t i = 0; i < rules->n; i++)
		if (holds(&rules->list[i], in))
			return rules->list[i].algorithm;
	return algo_default(in);
}
