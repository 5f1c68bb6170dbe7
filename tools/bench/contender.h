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
	/* fill, verify: check data before a call, and its wrong elements after.  NULL if it is not checked. */
	int (*fill)(struct contender *self);
	int (*verify)(struct contender *self, uint64_t *wrong_p);
	void (*close)(struct contender *self);
};

/* The ways of --vs.  open: collective over the job's world.  NULL with *why_not, the same on every rank unless memory ran out. */
struct vs_way {
	const char *name, *about;
	struct contender *(*open)(const struct job *job, const char **why_not);
};
extern const struct vs_way vs_ways[];
extern const int n_vs_ways;

struct contender *vs_mpi_open(const struct job *job, const char **why_not);
struct contender *vs_staged_open(const struct job *job, const char **why_not);
struct contender *vs_bound_open(const struct job *job, const char **why_not);

/* vs_check_names: NULL if all n names are ways, else the first that is not. */
const char *vs_check_names(const char *const *names, int n);

enum { VS_MAX = 8 };

/* vs_open: opens what the job's --vs asks for; those that are not available on every rank are left NULL, why_not says why.  Collective. */
void vs_open(const struct job *job, struct contender *out[VS_MAX], const char *why_not[VS_MAX]);

#endif
