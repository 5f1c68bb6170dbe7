/* SPDX-License-Identifier: MIT */
#include "plot.h"

/* A dotted line where another becomes the fastest, with the two names on the side that has room. */
static void draw_crossing(FILE *gnuplot, const struct sweep *sweep, int i)
{
	const struct sweep_crossing *at = &sweep->crossing[i];
	double least = sweep->density[0], most = sweep->density[sweep->n - 1];
	const char *side = at->density * at->density > least * most ? "right offset -0.6,0" : "left offset 0.6,0";

	fprintf(gnuplot, "set arrow from %g, graph 0 to %g, graph 1 nohead dashtype 3 linecolor 'gray40'\n", at->density, at->density);
	fprintf(gnuplot, "set label '%s to %s at %.3g %%' at %g, graph %g %s noenhanced tc 'gray20'\n", sweep->line[at->from].name,
		sweep->line[at->to].name, 100 * at->density, at->density, 0.97 - 0.04 * (i % 6), side);
	fprintf(gnuplot, "set object circle at %g,%g size graph 0.008 front fillstyle solid noborder fillcolor 'black'\n", at->density, at->us);
}

static void draw_points(FILE *gnuplot, const struct sweep *sweep, const double *us)
{
	for (int i = 0; i < sweep->n; i++)
		if (us[i] > 0)
			fprintf(gnuplot, "%g %g\n", sweep->density[i], us[i]);
		else
			fprintf(gnuplot, "%g NaN\n", sweep->density[i]);
	fputs("e\n", gnuplot);
}

static bool has_chosen(const struct sweep *sweep)
{
	for (int i = 0; i < sweep->n; i++)
		if (sweep->chosen[i] >= 0)
			return true;
	return false;
}

bool plot_sweep(const char *path, const struct sweep *sweep)
{
	FILE *gnuplot = plot_open(path, "density: rows a rank sends / range");
	double chosen[ARGS_MAX_LIST] = { 0 };

	if (gnuplot == NULL)
		return false;
	fputs("set key noenhanced outside right center\n", gnuplot);
	fprintf(gnuplot, "set xrange [%g:%g]\n", sweep->density[0], sweep->density[sweep->n - 1]);
	for (int i = 0; i < sweep->n_crossings; i++)
		draw_crossing(gnuplot, sweep, i);
	for (int i = 0; i < sweep->n_lines; i++)
		fprintf(gnuplot, "%s '-' using 1:2 with linespoints%s title '%s'", i == 0 ? "plot" : ",", sweep->line[i].is_vs ? " dashtype 2" : "",
			sweep->line[i].name);
	if (has_chosen(sweep))
		fputs(", '-' using 1:2 with points pointtype 6 pointsize 2 linecolor 'black' title 'the choice'", gnuplot);
	fputc('\n', gnuplot);
	for (int i = 0; i < sweep->n_lines; i++)
		draw_points(gnuplot, sweep, sweep->line[i].us);
	for (int i = 0; i < sweep->n; i++)
		chosen[i] = sweep->chosen[i] >= 0 ? sweep->line[sweep->chosen[i]].us[i] : 0;
	if (has_chosen(sweep))
		draw_points(gnuplot, sweep, chosen);
	return plot_close(gnuplot);
}
