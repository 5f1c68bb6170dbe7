/* SPDX-License-Identifier: MIT */
/* All rows of a run, as one rank. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/args/args.h"
#include "bench/cases/job.h"
#include "bench/report/result.h"
#include "bench/sparse/sparse_ids.h"

struct run {
	const struct args *args;
	struct world *world;
	choir_device *device;
	choir_comm *comm;
	struct results results;    /* filled on every rank, the same */
	bool to_text;              /* this rank prints rows */
	uint64_t faults;           /* wrong elements of the ways: the bench's own fault */
	const struct args *headed; /* whose columns the CSV shows: overlap has others */
	struct compute *compute;   /* overlap and trainer only */
	const char *title;
	int notes; /* ways that were explained already, a bit each */
};

/* run_names_exist: are there such collectives and ways?  run_fits: do the root and our tables suit the world?  Rank 0
 * (says) tells what is wrong.  Both before anything is opened. */
bool run_names_exist(const struct args *args, bool says);
bool run_fits(const struct args *args, const struct world *world);

/* run_all: the exit status of the data alone: fine, wrong, or usage if nothing could be run.  Collective. */
int run_all(struct run *run);

/* run_is_wrong: some way of those that ran so far computed wrong data. */
bool run_is_wrong(const struct run *run);

/* run_collective: calls row for every dtype, operator and size that args asks for. */
struct collective_row;
typedef void run_row_fn(struct run *run, const struct job *job);
void run_collective(struct run *run, const struct collective_row *what, const char *title, enum result_kind kind,
                    run_row_fn *row);

/* run_job: a job of this run without a size, out of place, with root 0. */
struct job run_job(struct run *run, const struct collective_row *what, choir_dtype dtype, choir_op op);

/* run_row: measures one job and reports its row, or a row for each algorithm. */
void run_row(struct run *run, const struct job *job);

/* field.c, for those who make their own contenders. */
struct run_field {
	struct contender *ours[OURS_MAX];
	int n_ours;
	struct contender *vs[VS_MAX]; /* NULL = not available */
};
void run_note_vs(struct run *run, const char *const *why_not, struct contender *const *vs);
void run_note_no(const struct run *run, const char *way, const char *why);
void run_report(struct run *run, const struct result *row);
void run_close(const struct run *run, struct run_field *field);

/* run_measure: everything in rows[n_ours] that comes from times.  bytes = what algbw counts. */
void run_measure(struct run *run, const struct job *job, const struct run_field *field, size_t bytes, double bus_factor,
                 struct result *rows);

/* run_read_text: the words of --text; the range is then theirs.  Ends all ranks if one cannot read it.  Collective. */
void run_read_text(struct run *run, struct args_sparse *what, struct sparse_text *text);

#endif
