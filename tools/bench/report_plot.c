/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "plot.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The rows of one line of the picture: those that differ from the first in their size only. */
static bool same_line(const struct result *a, const struct result *b)
{
	return strcmp(a->collective, b->collective) == 0 && strcmp(a->dtype, b->dtype) == 0 && strcmp(a->op, b->op) == 0;
}

static size_t line_end(const struct results *results, size_t first)
{
	size_t end = first;

	while (end < results->n && same_line(&results->rows[first], &results->rows[end]))
		end++;
	return end;
}

static void name_lines(FILE *gnuplot, const struct results *results)
{
	const char *separator = "plot";

	for (size_t first = 0; first < results->n; first = line_end(results, first)) {
		const struct result *row = &results->rows[first];

		fprintf(gnuplot, "%s '-' using 1:2 with linespoints title '%s %s %s'", separator, row->collective, row->dtype, row->op);
		separator = ",";
		for (int v = 0; v < row->n_vs; v++)
			fprintf(gnuplot, ", '-' using 1:2 with linespoints dashtype 2 title '%s %s %s: %s'", row->collective, row->dtype, row->op,
				row->vs[v].name);
	}
	fputc('\n', gnuplot);
}

/* v = -1: our own times.  A line without a point makes gnuplot stop, so a missing one is a point it leaves out. */
static void draw_line(FILE *gnuplot, const struct results *results, size_t first, size_t end, int v)
{
	for (size_t i = first; i < end; i++) {
		const struct result *row = &results->rows[i];

		if (v < 0)
			fprintf(gnuplot, "%zu %g\n", row->bytes, row->us.p50);
		else if (row->vs[v].ran)
			fprintf(gnuplot, "%zu %g\n", row->bytes, row->vs[v].p50_us);
		else
			fprintf(gnuplot, "%zu NaN\n", row->bytes);
	}
	fputs("e\n", gnuplot);
}

FILE *plot_open(const char *path, const char *x_label)
{
	FILE *gnuplot = popen("gnuplot", "w");

	if (gnuplot == NULL)
		return NULL;
	fprintf(gnuplot, "set terminal svg size 900,600 background 'white'\nset output '");
	for (const char *c = path; *c != '\0'; c++)
		fprintf(gnuplot, *c == '\'' ? "''" : "%c", *c);
	fprintf(gnuplot,
	        "'\nset logscale xy 10\nset key left top\nset grid\nset xlabel '%s'\nset ylabel 'time (us), p50'\nset datafile missing 'NaN'\n",
	        x_label);
	return gnuplot;
}

bool plot_close(FILE *gnuplot)
{
	int status = pclose(gnuplot);

	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool report_plot(const char *path, const struct results *results)
{
	struct sweep sweep;
	FILE *gnuplot;

	if (results->n == 0)
		return false;
	if (sweep_of(results, &results->rows[0], &sweep))
		return plot_sweep(path, &sweep);
	gnuplot = plot_open(path, "bytes");
	if (gnuplot == NULL)
		return false;
	fputs("set format x '%.0s%c'\n", gnuplot);
	name_lines(gnuplot, results);
	for (size_t first = 0; first < results->n; first = line_end(results, first))
		for (int v = -1; v < results->rows[first].n_vs; v++)
			draw_line(gnuplot, results, first, line_end(results, first), v);
	return plot_close(gnuplot);
}
