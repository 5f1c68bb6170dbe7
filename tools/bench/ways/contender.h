/* SPDX-License-Identifier: MIT */
/* One way of doing a job.  choir is the first of a row, the --vs ways are the others; measure.c runs them in turns. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stdint.h>

struct job;

struct contender {
	const char *name;
	int calls; /* collectives that once() makes */
	/* once: does the job; blocks; 0 or an exit status, the sentence said. */
	int (*once)(struct contender *self);
	/* touch: the rank writes its inputs and reads its outputs, before every call and untimed.  NULL: they stay
	 * where the last call left them. */
	void (*touch)(struct contender *self);
	/* fill, verify: check data before a call, and its wrong elements after.  NULL if it is not checked. */
	int (*fill)(struct contender *self);
	int (*verify)(struct contender *self, uint64_t *wrong_p);
	void (*close)(struct contender *self);
	/* A way that can be gone in several manners: the fastest counts.  use(self, i): from now on once() does manner
	 * i < n_manners. */
	int n_manners;
	void (*use)(struct contender *self, int manner);
};

/* contender_trial_us: the slowest rank's best of a few calls.  contender_take_fastest: leaves it in the manner of the
 * least trial_us.  Collective. */
struct world;
double contender_trial_us(struct world *world, struct contender *contender);
void contender_take_fastest(struct world *world, struct contender *contender);

/* The ways of --vs.  unfit: NULL, or why the job cannot be done so; the same on every rank, and nothing is
 * allocated. */
struct vs_way {
	const char *name, *about;
	const char *(*unfit)(const struct job *job);
	/* open: collective over the job's world, after unfit gave NULL.  NULL if there is no memory. */
	struct contender *(*open)(const struct job *job);
};
extern const struct vs_way vs_mpi, vs_staged, vs_bound, vs_dense, vs_keyed, vs_builtin;

/* vs_check_names: NULL if all n names are ways, else the first that is not. */
const char *vs_check_names(const char *const *names, int n);

enum { VS_MAX = 8, OURS_MAX = 24, MAX_CONTENDERS = OURS_MAX + VS_MAX };

/* vs_find: NULL if there is none.  vs_open_one: as vs_open, one way.  Collective. */
const struct vs_way *vs_find(const char *name);
struct contender *vs_open_one(const struct vs_way *way, const struct job *job, const char **why_not);

/* vs_open: opens what the job's --vs asks for, in the fastest manner; those that are not available on every rank are
 * left NULL, why_not says why.  Collective. */
void vs_open(const struct job *job, struct contender *out[VS_MAX], const char *why_not[VS_MAX]);

#endif
