/* SPDX-License-Identifier: MIT */
#include "report.h"
#include "compare.h"
#include "stamp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

choir_status report_init(struct report *report)
{
	const char *path = report->options->loss_out;

	if (!report->speaks)
		return CHOIR_SUCCESS;
	report->live = isatty(STDOUT_FILENO);
	if (path && !(report->loss_file = fopen(path, "w")))
		return failure(CHOIR_ARGUMENT, "%s: %s", path, strerror(errno));
	printf("# %s: %d rank%s on %s, gradients via %s\n", "choir-train", report->n_ranks, report->n_ranks == 1 ? "" : "s", report->device,
	       options_via_name(report->options->via));
	printf("# %zu words to predict, %zu different; batch %zu, %zu candidates%s\n", report->n_examples, report->n_vocabulary,
	       report->options->batch, report->n_candidates, report->n_candidates == report->n_vocabulary ? " (all)" : "");
	fflush(stdout);
	return CHOIR_SUCCESS;
}

void report_fini(struct report *report)
{
	free(report->losses);
	free(report->times);
	if (report->loss_file)
		fclose(report->loss_file);
	report->losses = NULL;
	report->times = NULL;
	report->loss_file = NULL;
}

void report_begin(struct report *report)
{
	report->whole = report->interval = (struct span){ .begin_ns = stamp_clock() };
	if (!report->speaks)
		return;
	printf("#%7s %7s %8s %9s %9s %9s %7s %8s %8s\n", "step", "epoch", "loss", "words/s", "comm(ms)", "shown(ms)", "hidden", "rows-in",
	       "rows-out");
	fflush(stdout);
}

void report_pause(struct report *report, int64_t ns)
{
	report->whole.begin_ns += ns;
	report->interval.begin_ns += ns;
}

static void add(struct span *span, const struct step_figures *figures)
{
	span->n_steps++;
	span->loss += figures->loss;
	span->comm_s += (double)figures->comm_ns * 1e-9;
	span->shown_s += (double)figures->shown_ns * 1e-9;
	span->rows_in += (double)figures->rows_in;
	span->rows_out += (double)figures->rows_out;
}

static double hidden_percent(const struct span *span)
{
	return span->comm_s > 0 ? 100 * (1 - span->shown_s / span->comm_s) : 0;
}

/* Times and rows are means of a step.  Ends without a newline. */
static void print_line(const struct report *report, const struct span *span, int64_t now)
{
	double n = (double)span->n_steps, seconds = (double)(now - span->begin_ns) * 1e-9;
	double words = (double)report->options->batch;

	printf("%8llu %7.2f %8.4f %9.0f %9.3f %9.3f %6.0f%% %8.0f %8.0f", (unsigned long long)report->whole.n_steps,
	       (double)report->whole.n_steps * words / (double)report->n_examples, span->loss / n, n * words / seconds,
	       1e3 * span->comm_s / n, 1e3 * span->shown_s / n, hidden_percent(span), span->rows_in / n, span->rows_out / n);
}

static void print_progress(struct report *report)
{
	int64_t now = stamp_clock();

	if ((double)(now - report->interval.begin_ns) * 1e-9 >= report->options->every) {
		printf("%s", report->live ? "\r" : "");
		print_line(report, &report->interval, now);
		printf("\n");
		report->interval = (struct span){ .begin_ns = now };
	} else if (report->live) {
		printf("\r");
		print_line(report, &report->interval, now);
		printf(" ...");
	}
	fflush(stdout);
}

static choir_status make_room(struct report *report)
{
	size_t room = report->room ? 2 * report->room : 1024;
	float *losses = realloc(report->losses, room * sizeof *losses);
	double *times;

	if (losses)
		report->losses = losses;
	times = losses ? realloc(report->times, 2 * room * sizeof *times) : NULL;
	if (!times)
		return fail_memory("the figures of all steps", room * (sizeof *losses + 2 * sizeof *times));
	report->times = times;
	report->room = room;
	return CHOIR_SUCCESS;
}

choir_status report_step(struct report *report, const struct step_figures *figures)
{
	size_t step = report->whole.n_steps;

	if (!isfinite(figures->loss))
		return failure(CHOIR_ARGUMENT, "the loss of step %zu is %g: try a smaller --lr or --table-lr", step, (double)figures->loss);
	if (step >= report->room)
		TRY(make_room(report));
	report->losses[step] = figures->loss;
	report->times[2 * step] = (double)figures->comm_ns * 1e-9;
	report->times[2 * step + 1] = (double)figures->shown_ns * 1e-9;
	add(&report->whole, figures);
	add(&report->interval, figures);
	if (!report->speaks)
		return CHOIR_SUCCESS;
	if (report->loss_file)
		fprintf(report->loss_file, "%.9g\n", (double)figures->loss);
	print_progress(report);
	return CHOIR_SUCCESS;
}

void report_times(struct report *report)
{
	struct span *whole = &report->whole;

	whole->comm_s = whole->shown_s = 0;
	for (size_t step = 0; step < whole->n_steps; step++) {
		whole->comm_s += report->times[2 * step];
		whole->shown_s += report->times[2 * step + 1];
	}
}

double report_mean(const struct report *report, size_t first, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += report->losses[first + i];
	return n ? sum / (double)n : 0;
}

double report_seconds(const struct report *report)
{
	return (double)(report->end_ns - report->whole.begin_ns) * 1e-9;
}

double report_words_per_s(const struct report *report)
{
	return (double)report->whole.n_steps * (double)report->options->batch / report_seconds(report);
}

static void print_summary(const struct report *report)
{
	const struct span *whole = &report->whole;
	size_t n = whole->n_steps, tenth = n >= 10 ? n / 10 : n;
	double first = report_mean(report, 0, tenth < 10 ? tenth : 10), last = report_mean(report, n - tenth, tenth);

	printf("# %zu steps, %.2f epochs in %.1f s: %.0f words/s via %s on %d rank%s\n", n,
	       (double)n * (double)report->options->batch / (double)report->n_examples, report_seconds(report), report_words_per_s(report),
	       options_via_name(report->options->via), report->n_ranks, report->n_ranks == 1 ? "" : "s");
	printf("# loss %.4f -> %.4f (perplexity %.0f -> %.0f); last step %.6f\n", first, last, exp(first), exp(last),
	       (double)report->losses[n - 1]);
	printf("# communication %.3f s: %.3f s shown, %.3f s hidden (%.0f%%); a step: %.0f rows in, %.0f out\n", whole->comm_s,
	       whole->shown_s, whole->comm_s - whole->shown_s, hidden_percent(whole), whole->rows_in / (double)n,
	       whole->rows_out / (double)n);
}

choir_status report_end(struct report *report)
{
	report->end_ns = stamp_clock();
	if (!report->speaks || report->whole.n_steps == 0)
		return CHOIR_SUCCESS;
	printf("%s", report->live ? "\r" : "");
	/* a few steps' line would say little about their speed, unless it is the only one */
	if (report->interval.n_steps * 2 > report->whole.n_steps ||
	    (double)(report->end_ns - report->interval.begin_ns) * 2e-9 > report->options->every) {
		print_line(report, &report->interval, report->end_ns);
		printf("%s\n", report->live ? "    " : "");
	}
	print_summary(report);
	if (report->compare)
		compare_print(report->compare);
	fflush(stdout);
	return report_files(report);
}
