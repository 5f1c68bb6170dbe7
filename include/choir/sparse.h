/* SPDX-License-Identifier: MIT */
/* Sparse collectives: tensors as 1-D indices and rows of values.  The argument order is oneCCL's. */
#ifndef CHOIR_SPARSE_H
#define CHOIR_SPARSE_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum choir_coalesce {
	CHOIR_COALESCE_REGULAR = 0,        /* one row per index, ascending */
	/* all ranks' rows as they came, in rank order, duplicates too; the operator is not applied */
	CHOIR_COALESCE_DISABLE = 1,
	CHOIR_COALESCE_KEEP_PRECISION = 2, /* as regular; f16 and bf16 rows are f32 until the result is rounded, once */
} choir_coalesce;

/* In what f32 rows travel.  The 16-bit types halve the bytes: each rank's coalesced rows are rounded to it, and so is
 * the result. */
typedef enum choir_sparse_wire {
	CHOIR_SPARSE_WIRE_FULL = 0, /* as they are */
	CHOIR_SPARSE_WIRE_F16 = 1,
	CHOIR_SPARSE_WIRE_BF16 = 2,
} choir_sparse_wire;

/* Called once, before the event completes, on a thread of ours, with temporary buffers: copy inside.  Host pointers if
 * both send buffers are host memory, else cl_mem: for SVM, USM and choir_none() too, so a rank of a host program that
 * sends nothing gives choir_host().  Without any result both are none.  A status other than SUCCESS becomes the
 * event's.  A blocking choir call inside returns WOULD_DEADLOCK. */
typedef choir_status (*choir_sparse_completion_fn)(void *fn_ctx, choir_buffer ind, size_t ind_count,
                                                   choir_dtype ind_dtype, choir_buffer val, size_t val_count,
                                                   choir_dtype val_dtype);

/* Called once to ask for both result buffers; they are filled when the event completes.  No memory for a nonzero count
 * is an error. */
typedef choir_status (*choir_sparse_alloc_fn)(void *fn_ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count,
                                              choir_dtype val_dtype, choir_buffer *out_ind, choir_buffer *out_val);

typedef struct choir_sparse_attr {
	size_t struct_size; /* sizeof(choir_sparse_attr) */
	choir_sparse_completion_fn completion_fn;
	choir_sparse_alloc_fn alloc_fn;
	void *fn_ctx;
	choir_coalesce coalesce_mode;
	choir_sparse_wire wire; /* the same on all ranks, as the mode */
} choir_sparse_attr;
#define CHOIR_SPARSE_ATTR_INIT                                                                                         \
	{                                                                                                              \
		sizeof(choir_sparse_attr), NULL, NULL, NULL, CHOIR_COALESCE_REGULAR, CHOIR_SPARSE_WIRE_FULL            \
	}

/* choir_sparse_allreduce: every rank gets the union of all ranks' indices, ascending, each with op over the rows sent
 * for it.
 * docs/sparse.md: the modes, the algorithms that call->options can name, and how one is chosen.
 *
 * send_ind: send_ind_count indices (I32 or I64, >= 0, any order, duplicates allowed); send_val: send_val_count
 * elements; the row width send_val_count / send_ind_count must divide and agree on all ranks; a rank may send nothing
 * (both counts 0).  mean divides by the number of ranks.  The rows of one index reduce in input order on a rank, then
 * in rank order: the bits never vary.
 *
 * The result comes by exactly one of three ways: completion_fn, alloc_fn, or recv buffers with *recv_ind_count and
 * *recv_val_count as capacities (elements).  The two counts are outputs in every way (may be NULL with callbacks) and
 * must live until the event completes.  A capacity too small is a CAPACITY error of this rank alone that says the sizes
 * needed, in its text and in the two counts; nothing is written, and choir_sparse_fetch gets the result. */
CHOIR_API choir_status choir_sparse_allreduce(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count,
                                              choir_buffer send_val, size_t send_val_count, choir_buffer recv_ind,
                                              size_t *recv_ind_count, choir_buffer recv_val, size_t *recv_val_count,
                                              choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                              const choir_sparse_attr *attr, const choir_call *call,
                                              choir_event **event_p);

/* choir_sparse_fetch: copies the result of an event that ended with CAPACITY into larger buffers.  Counts as above.
 * Blocks for the copy.  The result is kept until the event's last reference goes. */
CHOIR_API choir_status choir_sparse_fetch(choir_event *event, choir_buffer recv_ind, size_t *recv_ind_count,
                                          choir_buffer recv_val, size_t *recv_val_count);

/* What a sparse collective did.  Counts are of pairs: an index and its row. */
typedef struct choir_sparse_stats {
	size_t struct_size;    /* sizeof(choir_sparse_stats), set by the caller */
	const char *algorithm; /* constant; "" if there was nothing to do */
	uint64_t pairs_in;     /* that this rank gave */
	uint64_t pairs_merged; /* of all ranks, as they were exchanged: coalesced, or raw */
	uint64_t pairs_out;    /* of the result */
	uint64_t wire_bytes;   /* sent by this rank to other nodes */
	double imbalance;      /* pairs that the busiest rank merged / the mean; 1 where all merge alike */
	double predicted_us;   /* of the exchange, by the cost model that chooses */
	/* What predicted_us is made of: each times its constant in the "costs:" of the rules (docs/sparse.md, in ns)
	 * for that kind of link. */
	const char *link;      /* "shared", "node" or "network"; constant; "" if nothing was exchanged */
	double messages;       /* alpha */
	double bytes_received; /* beta */
	double bytes_copied;   /* sigma */
	double pairs_placed;   /* merge */
	double bytes_folded;   /* fold */
	double predicted_pairs_out;
	/* 1: another algorithm would be cheaper, but by less than a tenth, and the last call like this one took this */
	int kept;
} choir_sparse_stats;

/* choir_event_sparse_stats: of a sparse collective's event that is complete; ARGUMENT for any other. */
CHOIR_API choir_status choir_event_sparse_stats(choir_event *event, choir_sparse_stats *out);

#ifdef __cplusplus
}
#endif

#endif
