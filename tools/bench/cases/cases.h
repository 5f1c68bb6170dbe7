/* SPDX-License-Identifier: MIT */
/* The collectives, once: how large their buffers are, how they are called, what comes out, and what MPI calls the same.
 * A collective is a row in cases.c; its columns are functions of case_shape.c (sizes and results), and case_mpi.c;
 * choir calls it by lib/collective.h. */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "job.h"
#include "lib/collective.h"

#include <mpi.h>

/* A run of output elements: at .. at+count-1 are what `rank` sent from its element `from` on, or the reduction of all
 * ranks' there. */
struct span {
	size_t at, count, from;
	int rank; /* SPAN_REDUCED = all */
};
enum { SPAN_REDUCED = -1 };

struct mpi_kit {
	MPI_Comm comm;
	MPI_Datatype type;
	MPI_Op op;
};

struct bench_case {
	const char *name, *about;
	const char *asks;  /* the name that choir_supports knows; NULL = name */
	bool reduces;
	bool root_sends;   /* nobody else's input is looked at */
	bool same_output;  /* all ranks that have an output have the same one: the work may be shared out anyhow */
	bool can_be_in_place;
	bool by_elements;  /* any piece of the data is the same collective on less: staged may run it in halves */
	double bus_rounds; /* busbw = algbw x this x (n-1)/n; 0 = busbw is algbw */
	/* shape: sets the fields of job from the size asked for. */
	void (*shape)(struct job *job, size_t bytes);
	/* span: the k-th span of this rank's output; false behind the last.  NULL = no output. */
	bool (*span)(const struct job *job, int k, struct span *out);
	collective_fn *run;
	/* mpi: the same by MPI on host memory; send is MPI_IN_PLACE where MPI wants it. */
	int (*mpi)(const struct job *job, const struct mpi_kit *kit, void *send, void *recv);
};

extern const struct bench_case bench_cases[];
extern const int n_bench_cases;

/* case_find: NULL if there is none of that name. */
const struct bench_case *case_find(const char *name);

/* case_run: choir's call of the job.  event_p NULL = blocking. */
choir_status case_run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call,
                      choir_event **event_p);

/* case_bus_factor: busbw / algbw of n ranks. */
double case_bus_factor(const struct bench_case *what, int n);

/* case_has_output: whether that rank gets anything. */
bool case_has_output(const struct job *job, int rank);

#endif
