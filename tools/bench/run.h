/* SPDX-License-Identifier: MIT */
/* All rows of a run, as one rank. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "args.h"
#include "job.h"
#include "result.h"

struct run {
	const struct args *args;
	struct world *world;
	choir_device *device;
	choir_comm *comm;
	struct results results; /* filled on every rank, the same */
	bool to_text;           /* this rank prints rows */
	uint64_t faults;        /* wrong elements of the ways: the bench's own fault */
	int notes;              /* ways that were explained already, a bit each */
};

/* run_names_exist: are there such collectives and ways?  run_fits: do the root and our tables suit the world?  Rank 0 (says) tells what is
 * wrong.  Both before anything is opened. */
bool run_names_exist(const struct args *args, bool says);
bool run_fits(const struct args *args, const struct world *world);

/* run_all: the exit status of the data alone: fine, wrong, or usage if nothing could be run.  Collective. */
int run_all(struct run *run);

/* For sparse.c: one row's start and end. */
void run_note_vs(struct run *run, const char *const *why_not, struct contender *const *vs);
void run_report(struct run *run, const struct result *row);

/* run_measure: ours and the opened ways, then everything of the result that comes from times.  bytes = what algbw counts. */
void run_measure(struct run *run, const struct job *job, struct contender *ours, struct contender *const *vs, size_t bytes, double bus_factor,
                 struct result *row);

#endif
