/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_LEAD 1.1 /* who is faster by less has not taken over: times are not better than that */

static bool is_alike(const struct result *a, const struct result *b)
{
	return a->kind == RESULT_SPARSE && b->kind == RESULT_SPARSE && strcmp(a->dtype, b->dtype) == 0 &&
	       strcmp(a->op, b->op) == 0 && strcmp(a->sparse.distribution, b->sparse.distribution) == 0 &&
	       a->sparse.width == b->sparse.width && a->sparse.range == b->sparse.range;
}

static int place_of(const struct sweep *sweep, double density)
{
	int i = 0;

	while (i < sweep->n && sweep->density[i] != density)
		i++;
	return i;
}

static int line_of(struct sweep *sweep, const char *name, bool is_vs)
{
	struct sweep_line line = { .is_vs = is_vs };
	int i = 0;

	snprintf(line.name, sizeof line.name, "%s%s", is_vs ? "vs " : "", name);
	while (i < sweep->n_lines && strcmp(sweep->line[i].name, line.name) != 0)
		i++;
	if (i == sweep->n_lines && i < MAX_CONTENDERS)
		sweep->line[sweep->n_lines++] = line;
	return i;
}

static void set(struct sweep *sweep, int line, int place, double us)
{
	if (line < MAX_CONTENDERS)
		sweep->line[line].us[place] = us;
}

/* Without --algorithm all there is one line of ours: what the model takes. */
static void take_row(struct sweep *sweep, const struct result *row)
{
	int place = place_of(sweep, row->sparse.density_in),
	    mine = line_of(sweep, row->among_all ? row->algorithm : "choir", false);

	set(sweep, mine, place, row->us.p50);
	if (row->chosen)
		sweep->chosen[place] = mine;
	for (int v = 0; v < row->n_vs; v++)
		if (row->vs[v].ran)
			set(sweep, line_of(sweep, row->vs[v].name, true), place, row->vs[v].p50_us);
}

/* keep: a line that stays unless another leads it clearly; -1 = none. */
static int fastest(const struct sweep *sweep, int place, int keep)
{
	double kept = keep >= 0 ? sweep->line[keep].us[place] : 0;
	int best = -1;

	for (int i = 0; i < sweep->n_lines; i++) {
		double us = sweep->line[i].us[place];

		if (us > 0 && (best < 0 || us < sweep->line[best].us[place]))
			best = i;
	}
	return best >= 0 && kept > 0 && kept < sweep->line[best].us[place] * SWEEP_LEAD ? keep : best;
}

static void cross(struct sweep *sweep, int place, int from, int to)
{
	const double *a = sweep->line[from].us, *b = sweep->line[to].us;
	double before, after, part = 1;
	struct sweep_crossing *crossing = &sweep->crossing[sweep->n_crossings++];

	*crossing = (struct sweep_crossing){ .density = sweep->density[place], .us = b[place], .from = from, .to = to };
	if (a[place - 1] <= 0 || b[place - 1] <= 0 || a[place] <= 0)
		return; /* one of them is not there: it begins or ends here */
	before = log(a[place - 1] / b[place - 1]);
	after = log(a[place] / b[place]);
	if (before < after)
		part = before >= 0 ? 0 : before / (before - after);
	crossing->density =
	    exp(log(sweep->density[place - 1]) + part * log(sweep->density[place] / sweep->density[place - 1]));
	crossing->us = exp(log(b[place - 1]) + part * log(b[place] / b[place - 1]));
}

static void find_crossings(struct sweep *sweep)
{
	int now = fastest(sweep, 0, -1);

	for (int place = 1; place < sweep->n; place++) {
		int next = fastest(sweep, place, now);

		if (now >= 0 && next >= 0 && next != now)
			cross(sweep, place, now, next);
		now = next;
	}
}

bool sweep_of(const struct results *results, const struct result *like, struct sweep *out)
{
	*out = (struct sweep){ .n = 0 };
	for (size_t i = 0; i < results->n; i++) {
		const struct result *row = &results->rows[i];

		if (is_alike(row, like) && row->sparse.density_in > 0 &&
		    place_of(out, row->sparse.density_in) == out->n && out->n < ARGS_MAX_LIST)
			out->density[out->n++] = row->sparse.density_in;
	}
	if (out->n < 2)
		return false;
	qsort(out->density, (size_t)out->n, sizeof *out->density, stats_ascending);
	for (int i = 0; i < out->n; i++)
		out->chosen[i] = -1;
	for (size_t i = 0; i < results->n; i++)
		if (is_alike(&results->rows[i], like) && place_of(out, results->rows[i].sparse.density_in) < out->n)
			take_row(out, &results->rows[i]);
	find_crossings(out);
	return true;
}
