/* SPDX-License-Identifier: MIT */
/* Work on the device's queue and collectives behind it, as a training step has them: before each collective a kernel of
 * some length that it waits for, and after the last one more kernel, beside which it goes on. */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H

#include "bench/cases/job.h"
#include "bench/data/check.h"
#include "compute.h"
#include "bench/ways/contender.h"

struct replay_item {
	double delay_us; /* of the kernel before it */
	struct job job;
	/* Of replay_open: */
	struct check_buffers buffers;
	choir_buffer send, recv;
	struct collective_args args;
	choir_event *event;
};

struct replay {
	struct replay_item *items;
	int n;
	double trailing_us; /* the kernel after the last; 0 = none */
	struct world *world;
	struct compute *compute; /* NULL: there are no kernels, and nothing to wait for */
	int opened;              /* items with buffers */
};

/* replay_open: makes the buffers of all items.  false if there is no memory; replay_close is due anyhow. */
bool replay_open(struct replay *replay);
void replay_close(struct replay *replay);

/* replay_enqueue: the kernel before item i, or with i = n the last.  An exit status. */
int replay_enqueue(struct replay *replay, int i);

/* The ways of doing it, all in the same buffers.  computes, collects: what of it is done.  NULL if there is no
 * memory. */
struct contender *replay_by_choir(struct replay *replay, const char *name, bool computes, bool collects);

/* By hand: MPI on host arrays, after all kernels or, as each is done, beside the others; the faster counts.  why_not as
 * in vs_open.  Collective. */
struct contender *replay_by_mpi(struct replay *replay, const char **why_not);

/* Shared by both. */
int replay_fill(struct replay *replay);
int replay_verify(struct replay *replay, uint64_t *wrong_p);

#endif
