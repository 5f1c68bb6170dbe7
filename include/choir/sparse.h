/* SPDX-License-Identifier: MIT */
/* Sparse collectives: a tensor is a list of indices and a row of values for each.  The argument order is oneCCL's. */
#ifndef CHOIR_SPARSE_H
#define CHOIR_SPARSE_H

#include <choir/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum choir_coalesce {
	CHOIR_COALESCE_REGULAR = 0, /* one row per index, ascending */
	/* the rows of all ranks as given, duplicates included, in rank order; the operator is not applied */
	CHOIR_COALESCE_DISABLE = 1,
	CHOIR_COALESCE_KEEP_PRECISION = 2, /* as regular; narrow rows travel as f32, the result is rounded once */
} choir_coalesce;

/* The type in which f32 rows travel.  The 16-bit types halve the bytes: each rank's coalesced rows and the result are
 * rounded to it. */
typedef enum choir_sparse_wire {
	CHOIR_SPARSE_WIRE_FULL = 0, /* f32 */
	CHOIR_SPARSE_WIRE_F16 = 1,
	CHOIR_SPARSE_WIRE_BF16 = 2,
} choir_sparse_wire;

/* Receives the result: choir calls it once, before the event completes, on a thread of its own, one that waits in
 * choir, or by the executor.  The buffers are temporary: copy them inside.  They are host pointers if both send buffers
 * are choir_host(), else cl_mems, also for SVM, USM and choir_none(); so a rank of a host program that sends nothing
 * gives choir_host().  On a device of choir_device_create_host they are always host pointers, also for choir_none().
 * Both are choir_none() if the result is empty.  A status other than SUCCESS becomes the event's.  A blocking choir
 * call inside returns WOULD_DEADLOCK. */
typedef choir_status (*choir_sparse_completion_fn)(void *fn_ctx, choir_buffer ind, size_t ind_count,
                                                   choir_dtype ind_dtype, choir_buffer val, size_t val_count,
                                                   choir_dtype val_dtype);

/* Provides both result buffers: choir calls it once; they are filled when the event completes.  choir_none() for a
 * nonzero count is an error, and so are buffers that overlap. */
typedef choir_status (*choir_sparse_alloc_fn)(void *fn_ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count,
                                              choir_dtype val_dtype, choir_buffer *out_ind, choir_buffer *out_val);

typedef struct choir_sparse_attr {
	size_t struct_size; /* sizeof(choir_sparse_attr) */
	choir_sparse_completion_fn completion_fn;
	choir_sparse_alloc_fn alloc_fn;
	void *fn_ctx;
	choir_coalesce coalesce_mode;
	choir_sparse_wire wire; /* like coalesce_mode the same on all ranks */
} choir_sparse_attr;
#define CHOIR_SPARSE_ATTR_INIT                                                                                         \
	{                                                                                                              \
		sizeof(choir_sparse_attr), NULL, NULL, NULL, CHOIR_COALESCE_REGULAR, CHOIR_SPARSE_WIRE_FULL            \
	}

/* choir_sparse_allreduce: every rank gets the union of all ranks' indices, ascending, each with op over the rows given
 * for it.  docs/sparse.md has the modes, the algorithms that call->options can name, and how one is chosen.
 *
 * send_ind: send_ind_count indices (I32 or I64, >= 0, any order, duplicates allowed).  send_val: send_val_count
 * elements.  The row width send_val_count / send_ind_count is a whole number and the same on all ranks; a rank may give
 * no rows (both counts 0).  mean divides by the number of ranks.  The rows of one index are reduced in input order on
 * each rank, then in rank order, so the bits of the result never vary.
 *
 * The result arrives in exactly one of three ways: completion_fn, alloc_fn, or recv buffers with *recv_ind_count and
 * *recv_val_count as capacities in elements.  The two counts are outputs in each way (NULL is allowed with callbacks)
 * and must live until the event completes.  If a capacity is too small, this rank's call alone ends with CAPACITY, with
 * the sizes needed in its sentence and in the two counts; no buffer is written, and choir_sparse_fetch gets the
 * result. */
CHOIR_API choir_status choir_sparse_allreduce(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count,
                                              choir_buffer send_val, size_t send_val_count, choir_buffer recv_ind,
                                              size_t *recv_ind_count, choir_buffer recv_val, size_t *recv_val_count,
                                              choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                              const choir_sparse_attr *attr, const choir_call *call,
                                              choir_event **event_p);

/* choir_sparse_allreduce_init: a persistent one (choir_request in choir/collective.h): the buffers, counts and attr are
 * the same for every start.  *recv_ind_count and *recv_val_count, as this call finds them, are the capacities of every
 * start; they stay valid as long as the request. */
CHOIR_API choir_status choir_sparse_allreduce_init(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count,
                                                   choir_buffer send_val, size_t send_val_count, choir_buffer recv_ind,
                                                   size_t *recv_ind_count, choir_buffer recv_val,
                                                   size_t *recv_val_count, choir_dtype ind_dtype, choir_dtype val_dtype,
                                                   choir_op op, const choir_sparse_attr *attr, const choir_call *call,
                                                   choir_request **request_p);

/* choir_sparse_fetch: copies the result of an event that ended with CAPACITY into larger buffers, which must not
 * overlap; counts as above.  Blocks for the copy.  The result is kept until the event's last reference is released. */
CHOIR_API choir_status choir_sparse_fetch(choir_event *event, choir_buffer recv_ind, size_t *recv_ind_count,
                                          choir_buffer recv_val, size_t *recv_val_count);

/* Statistics of a sparse collective.  A pair is an index and its row. */
typedef struct choir_sparse_stats {
	size_t struct_size;    /* sizeof(choir_sparse_stats), set by the caller */
	const char *algorithm; /* a constant text; "" if there was nothing to do */
	uint64_t pairs_in;     /* given by this rank */
	uint64_t pairs_merged; /* of all ranks, as exchanged: coalesced or raw */
	uint64_t pairs_out;    /* in the result */
	uint64_t wire_bytes;   /* sent by this rank to other nodes */
	double imbalance;      /* pairs merged by the busiest rank / the mean; 1 if all ranks merge the same */
	double predicted_us;   /* of the exchange, by the cost model that chooses the algorithm */
	/* predicted_us is the sum of these terms, each times its constant for that kind of link in the "costs:" of the
	 * rules (docs/sparse.md, in ns) */
	const char *link;      /* "shared", "node" or "network"; a constant text; "" if no pairs were exchanged */
	double messages;       /* alpha */
	double bytes_received; /* beta */
	double bytes_copied;   /* sigma */
	double pairs_placed;   /* merge */
	double bytes_folded;   /* fold */
	double predicted_pairs_out;
	/* 1: another algorithm is predicted to be less than a tenth cheaper, so the one of the last such call was
	 * kept */
	int kept;
} choir_sparse_stats;

/* choir_event_sparse_stats: the statistics of a complete event of a sparse collective; ARGUMENT for any other event. */
CHOIR_API choir_status choir_event_sparse_stats(choir_event *event, choir_sparse_stats *out);

#ifdef __cplusplus
}
#endif

#endif
