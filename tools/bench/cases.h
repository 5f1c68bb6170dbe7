/* SPDX-License-Identifier: MIT */
/* The collectives, once: how large their buffers are, how they are called, what comes out, and what MPI calls the same.  A new collective is a
 * struct bench_case in a file of its own and a row in cases.c. */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "job.h"

#include <mpi.h>

/* A run of output elements: at .. at+count-1 are what `rank` sent from its element `from` on, or the reduction of all ranks' there. */
struct span {
	size_t at, count, from;
	int rank; /* SPAN_REDUCED = all */
};
enum { SPAN_REDUCED = -1, CASE_MAX_EVENTS = 2 };

struct mpi_kit {
	MPI_Comm comm;
	MPI_Datatype type;
	MPI_Op op;
};

struct bench_case {
	const char *name, *about;
	bool reduces, rooted;
	bool can_be_in_place;
	bool by_elements; /* any piece of the data is the same collective on less: staged may run it in halves */
	int n_events;     /* that run() gives */
	/* shape: sets the fields of job from the size asked for. */
	void (*shape)(struct job *job, size_t bytes);
	/* span: the k-th span of this rank's output; false behind the last.  NULL = no output. */
	bool (*span)(const struct job *job, int k, struct span *out);
	/* run: events NULL = blocking. */
	choir_status (*run)(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call, choir_event **events);
	/* mpi: the same by MPI on host memory; send is MPI_IN_PLACE where MPI wants it. */
	int (*mpi)(const struct job *job, const struct mpi_kit *kit, void *send, void *recv);
	/* bus_factor: busbw / algbw. */
	double (*bus_factor)(int n);
};

extern const struct bench_case case_allreduce, case_reduce_scatter, case_allgather, case_allgatherv, case_broadcast, case_reduce, case_barrier,
	case_sendrecv;

extern const struct bench_case *const bench_cases[];
extern const int n_bench_cases;

/* case_find: NULL if there is none of that name. */
const struct bench_case *case_find(const char *name);

/* Shared by several cases. */
double bus_factor_one(int n);           /* 1 */
double bus_factor_share(int n);         /* (n-1)/n */
void shape_whole(struct job *job, size_t bytes);  /* every rank: bytes in, bytes out */
bool span_reduced_whole(const struct job *job, int k, struct span *out);

#endif
