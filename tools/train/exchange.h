/* SPDX-License-Identifier: MIT */
/* How gradients are summed over the ranks: by choir, or by hand with MPI.  Both are rows of one table of functions. */
#ifndef TRAIN_EXCHANGE_H
#define TRAIN_EXCHANGE_H

#include "ocl.h"
#include "stamp.h"

#include <choir/choir.h>

/* The gradients of a step, in the order they become ready. */
enum bucket_id { BUCKET_OUT, BUCKET_PROJECTION, BUCKET_HIDDEN, BUCKET_IN, N_BUCKETS };

/* One gradient.  Dense (index NULL): count floats of values, for the parameters from first on, summed in place.
 * Sparse: n_rows rows of width floats, row r for word index[r], in any order and with duplicates; the sums, a row a
 * word, go to result_rows and result_index. */
struct bucket {
	enum bucket_id id;
	const char *name;
	cl_mem values;
	size_t first, count;
	cl_mem index;
	size_t n_rows, width;
	cl_mem result_index, result_rows;
	size_t room;              /* rows that fit there */
	size_t n_results;         /* after finish */
	struct stamp ready, done; /* when the gradient was there, when its sum was */
	/* choir's */
	choir_event *event;
	size_t n_index, n_values;
	/* Of a dense one, the last so many are no gradient and are summed whole, whatever becomes of the others. */
	size_t n_whole;
	choir_event *whole_event; /* their sum, where it is apart */
	double received;          /* bytes of a dense one that came to this rank, after settle; by hand 0 */
	const char *algorithm;    /* that the library took for a sparse sum, after finish; NULL by hand */
};

struct exchange;

struct exchange_ops {
	const char *name;
	/* Begins once the event completes; never blocks. */
	choir_status (*start)(struct exchange *exchange, struct bucket *bucket, cl_event ready);
	/* Commands enqueued from now on find the sum; n_results is set.  In the order of start.  May block. */
	choir_status (*finish)(struct exchange *exchange, struct bucket *bucket);
	/* Blocks until the collective is over on this rank, done is on its way, and says how it ended.  After
	 * finish. */
	choir_status (*settle)(struct exchange *exchange, struct bucket *bucket);
	/* Blocks until all ranks have come. */
	choir_status (*barrier)(struct exchange *exchange);
	/* values[i] = the least that any rank has there.  Blocks; every rank calls it with the same n. */
	choir_status (*least)(struct exchange *exchange, double *values, size_t n);
	/* Forgets what calls left behind for later ones; NULL = nothing.  Between steps. */
	choir_status (*forget)(struct exchange *exchange);
	void (*destroy)(struct exchange *exchange);
};

struct exchange {
	const struct exchange_ops *ops;
	struct ocl *ocl;
};

/* Of dense gradients by choir_topk_allreduce. */
struct compression {
	const char *algorithm; /* NULL = they go whole */
	double density, momentum;
	size_t dense_steps;
};

/* exchange_choir: over a comm, which stays the caller's. */
choir_status exchange_choir(struct ocl *ocl, choir_comm *comm, const struct compression *compression,
                            struct exchange **out_p);

/* exchange_mpi: over MPI_COMM_WORLD, by the thread that initialised MPI.  n_words: indices are below it. */
choir_status exchange_mpi(struct ocl *ocl, size_t n_words, struct exchange **out_p);

#endif
