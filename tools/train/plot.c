/* SPDX-License-Identifier: MIT */
/* The loss curve, by gnuplot's svg terminal through a pipe. */
#include "report.h"

#include <signal.h>
#include <stdlib.h>

#define PLOT_POINTS 600 /* more than that is drawn as means */

static void print_head(FILE *pipe, const struct report *report)
{
	fprintf(pipe, "set terminal svg size 900,520 font 'sans,14' background '#ffffff'\n"
		      "set border 3 lc rgb '#888888'\nset tics nomirror tc rgb '#444444'\nset grid ytics lc rgb '#e4e4e4' lt 1\n"
		      "set xlabel 'words read (millions)' tc rgb '#444444'\nset ylabel 'loss (nats a word)' tc rgb '#444444'\n"
		      "set key top right noenhanced tc rgb '#444444'\n");
	/* no name of a file in the title: it might hold what gnuplot reads as a command */
	fprintf(pipe, "set title 'neural n-gram model on %s, %d rank%s via %s: %.0f words/s' noenhanced tc rgb '#222222'\n",
		report->options->text ? "a text" : "the definitions of WordNet", report->n_ranks, report->n_ranks == 1 ? "" : "s",
		options_via_name(report->options->via), report_words_per_s(report));
}

/* One block of "x y" lines: means of chunk steps, each smoothed over reach chunks on both sides, as far as there are as many on both. */
static void print_curve(FILE *pipe, const struct report *report, size_t chunk, size_t reach)
{
	size_t n = report->whole.n_steps;

	for (size_t first = 0; first < n; first += chunk) {
		size_t end = first + chunk < n ? first + chunk : n;
		size_t around = chunk * reach;

		if (around > first)
			around = first;
		if (around > n - end)
			around = n - end;
		fprintf(pipe, "%.6f %.6f\n", (double)end * (double)report->options->batch * 1e-6,
		        report_mean(report, first - around, end - first + 2 * around));
	}
	fprintf(pipe, "e\n");
}

choir_status report_plot(const struct report *report, const char *path)
{
	size_t chunk = 1 + report->whole.n_steps / PLOT_POINTS, n_chunks = report->whole.n_steps / chunk;
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	FILE *pipe;
	int rc;

	/* the path goes by the environment, not through the shell's or gnuplot's quoting */
	setenv("CHOIR_TRAIN_PLOT", path, 1);
	pipe = popen("gnuplot", "w");
	if (!pipe) {
		signal(SIGPIPE, old);
		return failure(CHOIR_UNSUPPORTED, "gnuplot cannot be started: no %s", path);
	}
	print_head(pipe, report);
	fprintf(pipe,
		"set output system('printf %%s \"$CHOIR_TRAIN_PLOT\"')\n"
		"plot '-' with lines lw 1 lc rgb '#b8cbe0' title 'a step', '-' with lines lw 2.5 lc rgb '#1f5fa8' title 'smoothed'\n");
	print_curve(pipe, report, chunk, 0);
	print_curve(pipe, report, chunk, n_chunks / 50);
	rc = pclose(pipe);
	signal(SIGPIPE, old);
	return rc ? failure(CHOIR_UNSUPPORTED, "gnuplot failed: no %s (install gnuplot-nox)", path) : CHOIR_SUCCESS;
}
