/* SPDX-License-Identifier: MIT */
#include "report.h"
#include "compare.h"
#include "stamp.h"

#include "lib/number.h"

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
	printf("# %s: %d rank%s on %s, gradients via %s\n", "choir-train", report->n_ranks,
	       number_plural(report->n_ranks), report->device, options_via_name(report->options->via));
	printf("# %zu words to predict, %zu different; batch %zu, %zu candidates%s\n", report->n_examples,
	       report->n_vocabulary, report->options->batch, report->n_candidates,
	       report->n_candidates == report->n_vocabulary ? " (all)" : "");
	fflush(stdout);
	return CHOIR_SUCCESS;
}

void report_fini(struct report *report)
{
	free(report->losses);
	free(report->comm);
	if (report->loss_file)
		fclose(report->loss_file);
	report->losses = NULL;
	report->comm = NULL;
	report->loss_file = NULL;
}

void report_begin(struct report *report)
{
	report->whole = report->interval = (struct span){ .begin_ns = stamp_clock() };
	if (!report->speaks)
		return;
	printf("# comm: ms of a step in which a collective is under way, of the ranks the least; shown: after the "
	       "backward pass\n");
	printf("#%7s %6s %8s %8s %9s %9s %7s %8s %8s\n", "step", "epoch", "loss", "words/s", "comm(ms)", "shown(ms)",
	       "hidden", "rows-in", "rows-out");
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
	span->rows_in += (double)figures->rows_in;
	span->rows_out += (double)figures->rows_out;
	span->received += figures->received;
}

static double hidden_percent(const struct span *span)
{
	return span->comm_s > 0 ? 100 * (1 - span->shown_s / span->comm_s) : 0;
}

static void sum_comm(const struct report *report, struct span *span)
{
	span->comm_s = span->shown_s = 0;
	for (uint64_t step = span->first; step < span->first + span->n_steps; step++) {
		span->comm_s += report->comm[step].whole_s;
		span->shown_s += report->comm[step].shown_s;
	}
}

/* The columns before comm.  Times and rows are means of a step. */
static void print_speed(const struct report *report, const struct span *span, int64_t now)
{
	double n = (double)span->n_steps, seconds = (double)(now - span->begin_ns) * 1e-9;
	double words = (double)report->options->batch;

	printf("%s%8llu %6.2f %8.4f %8.0f", report->live ? "\r" : "", (unsigned long long)report->whole.n_steps,
	       (double)report->whole.n_steps * words / (double)report->n_examples, span->loss / n, n * words / seconds);
}

static void print_line(const struct report *report, const struct span *span, int64_t now)
{
	double n = (double)span->n_steps;

	print_speed(report, span, now);
	printf(" %9.3f %9.3f %6.0f%% %8.0f %8.0f\n", 1e3 * span->comm_s / n, 1e3 * span->shown_s / n,
	       hidden_percent(span), span->rows_in / n, span->rows_out / n);
}

bool report_wants_line(const struct report *report)
{
	return report->speaks && (double)(stamp_clock() - report->interval.begin_ns) * 1e-9 >= report->options->every;
}

void report_line(struct report *report)
{
	int64_t now = stamp_clock();

	sum_comm(report, &report->interval);
	if (report->speaks)
		print_line(report, &report->interval, now);
	fflush(stdout);
	report->interval = (struct span){ .first = report->whole.n_steps, .begin_ns = now };
}

static choir_status make_room(struct report *report)
{
	size_t room = report->room ? 2 * report->room : 1024;
	float *losses = realloc(report->losses, room * sizeof *losses);
	struct step_comm *comm;

	if (losses)
		report->losses = losses;
	comm = losses ? realloc(report->comm, room * sizeof *comm) : NULL;
	if (!comm)
		return fail_memory("the figures of all steps", room * (sizeof *losses + sizeof *comm));
	report->comm = comm;
	report->room = room;
	return CHOIR_SUCCESS;
}

choir_status report_step(struct report *report, const struct step_figures *figures)
{
	size_t step = report->whole.n_steps;

	if (!isfinite(figures->loss))
		return failure(CHOIR_ARGUMENT, "the loss of step %zu is %g: try a smaller --lr or --table-lr", step,
		               (double)figures->loss);
	if (step >= report->room)
		TRY(make_room(report));
	report->losses[step] = figures->loss;
	report->comm[step] = (struct step_comm){ (double)figures->comm_ns * 1e-9, (double)figures->shown_ns * 1e-9 };
	add(&report->whole, figures);
	add(&report->interval, figures);
	if (!report->speaks)
		return CHOIR_SUCCESS;
	if (report->loss_file)
		fprintf(report->loss_file, "%.9g\n", (double)figures->loss);
	if (report->live) {
		print_speed(report, &report->interval, stamp_clock());
		printf(" ...");
		fflush(stdout);
	}
	return CHOIR_SUCCESS;
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

	printf("# %zu step%s, %.2f epochs in %.1f s: %.0f words/s via %s on %d rank%s\n", n, number_plural(n),
	       (double)n * (double)report->options->batch / (double)report->n_examples, report_seconds(report),
	       report_words_per_s(report), options_via_name(report->options->via), report->n_ranks,
	       number_plural(report->n_ranks));
	printf("# loss %.4f -> %.4f (perplexity %.0f -> %.0f); last step %.6f\n", first, last, exp(first), exp(last),
	       (double)report->losses[n - 1]);
	printf("# a step: comm %.3f ms, %.3f ms shown, %.3f ms hidden (%.0f%%); %.0f rows in, %.0f out\n",
	       1e3 * whole->comm_s / (double)n, 1e3 * whole->shown_s / (double)n,
	       1e3 * (whole->comm_s - whole->shown_s) / (double)n, hidden_percent(whole), whole->rows_in / (double)n,
	       whole->rows_out / (double)n);
	if (report->options->compress)
		printf("# dense layers: %s, %g %% of the entries; %.1f KB received a step\n", report->options->compress,
		       100 * report->options->density, whole->received / (double)n / 1024);
}

void report_end(struct report *report)
{
	report->end_ns = stamp_clock();
	if (!report->speaks || report->whole.n_steps == 0)
		return;
	sum_comm(report, &report->whole);
	sum_comm(report, &report->interval);
	/* a few steps' line would say little about their speed, unless it is the only one */
	if (report->interval.n_steps * 2 > report->whole.n_steps ||
	    (double)(report->end_ns - report->interval.begin_ns) * 2e-9 > report->options->every)
		print_line(report, &report->interval, report->end_ns);
	else if (report->live)
		printf("\r\033[K");
	print_summary(report);
	if (report->compare)
		compare_print(report->compare);
	fflush(stdout);
}
