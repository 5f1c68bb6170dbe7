/* SPDX-License-Identifier: MIT */
/* What is told about a run: lines while it goes, a summary, files. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include "fail.h"
#include "options.h"

#include <stdbool.h>
#include <stdio.h>

/* One step, as this rank saw it.  comm: the time during which at least one of its collectives was under way; shown: the
 * part of it after the backward pass, when there was nothing else to do; the rest was hidden.  Rows: of the two tables
 * together, sent by this rank, and different ones received. */
struct step_figures {
	float loss;
	int64_t comm_ns, shown_ns;
	size_t rows_in, rows_out;
	double received; /* bytes of the dense layers' gradients that came to this rank */
};

/* The communication of a step: of what the ranks saw the least, since a rank that comes early only waits for the last.
 */
struct step_comm {
	double whole_s, shown_s;
};

/* What a span of steps adds up to. */
struct span {
	uint64_t first, n_steps;
	double loss, comm_s, shown_s, rows_in, rows_out, received;
	int64_t begin_ns;
};

struct compare;

struct report {
	const struct options *options;
	int n_ranks;
	size_t n_vocabulary, n_examples, n_candidates;
	char device[128];
	int speaks; /* rank 0 alone prints and writes */
	int live;   /* a progress line: stdout is a terminal */
	struct span interval, whole;
	float *losses;          /* of all steps */
	struct step_comm *comm; /* of all steps; this rank's own until the ranks have put them together */
	size_t room;            /* steps */
	FILE *loss_file;
	const struct compare *compare; /* NULL = none; its end comes before the report's */
	int64_t end_ns;
};

/* report_init: fill in the first fields before.  Opens --loss-out.  report_fini: a zeroed report is fine. */
choir_status report_init(struct report *report);
void report_fini(struct report *report);

/* report_begin: the clock starts.  report_pause: so many ns were no training.  report_step: a step has ended.
 * report_wants_line: whether a line is due.  report_line: prints one of the steps since the last, whose comm is of all
 * ranks now; called on every rank.  report_end: the last step has ended and every comm is of all ranks; prints the
 * summary. */
void report_begin(struct report *report);
void report_pause(struct report *report, int64_t ns);
choir_status report_step(struct report *report, const struct step_figures *figures);
bool report_wants_line(const struct report *report);
void report_line(struct report *report);
void report_end(struct report *report);

/* report_files: writes what is asked for; after report_end. */
choir_status report_files(struct report *report);

/* report_mean: the mean loss of steps first ... first + n - 1.  report_seconds, report_words_per_s: of the whole
 * run. */
double report_mean(const struct report *report, size_t first, size_t n);
double report_seconds(const struct report *report);
double report_words_per_s(const struct report *report);

#endif
