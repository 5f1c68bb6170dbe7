/* SPDX-License-Identifier: MIT */
/* A list of tensors, checked and sorted into buckets: what a call on many tensors is made of. */
#ifndef API_TENSOR_LIST_H
#define API_TENSOR_LIST_H

#include "algo/collective.h"
#include "exec/run.h"

#include <choir/collective.h>

/* Tensors of one data type that go together, in the order of the list. */
struct tensor_bucket {
	choir_dtype dtype;
	uint64_t count;           /* elements of all of them: of a block, where the collective has blocks */
	size_t n;                 /* tensors that are not empty */
	const choir_tensor *only; /* if that is one: it, for a call of the ordinary kind */
	struct segments send, recv;
};

struct tensor_list {
	struct segments_owner owner; /* first: the runs hold it */
	choir_tensor *tensors;       /* [n] as the caller gave them */
	size_t n;
	enum collective collective;
	int rank; /* mine, of the comm */
	/* a tensor's count times this are the elements of its send and recv on this rank; 0: it is not looked at */
	uint64_t send_holds, recv_holds, most_holds; /* and the most of any buffer */
	bool in_place;                               /* every tensor is; an allreduce does not care */
	bool padded; /* a tensor's count is cut into equal blocks, the last ones padded by zeros */
	int n_ranks;
	uint64_t bytes;                      /* of all */
	uint64_t hash;                       /* of counts, types and the root in their order */
	bool reusable, reusable_if_retained; /* Note [what may change] in exec/prepared.c */
	struct tensor_bucket *buckets;       /* [n_buckets], at least one, which may be empty */
	size_t n_buckets;
	/* The arrays into which the buckets and their segments point. */
	struct segment *segments;
	struct dev_access *accesses;
	uint64_t *addresses;
	unsigned char *padding; /* zeros, and behind them as much room, of a list that is padded */
};

/* tensor_list_block: the bytes of a tensor's block.  tensor_list_bytes: those of its buffer that holds so many. */
static inline uint64_t tensor_list_block(const struct tensor_list *list, const choir_tensor *tensor)
{
	uint64_t n = (uint64_t)list->n_ranks, count = tensor->count;

	return (list->padded ? count / n + (count % n != 0) : count) * choir_dtype_bytes(tensor->dtype);
}

static inline uint64_t tensor_list_bytes(const struct tensor_list *list, const choir_tensor *tensor, uint64_t holds)
{
	return list->padded && holds > 1 ? tensor->count * choir_dtype_bytes(tensor->dtype)
	                                 : tensor_list_block(list, tensor) * holds;
}

/* tensor_list_recv: where a tensor's result goes: of a broadcast's root without a recv its send. */
static inline choir_buffer tensor_list_recv(const struct tensor_list *list, const choir_tensor *tensor)
{
	bool is_root = list->collective == COLLECTIVE_BROADCAST && list->send_holds > 0;

	return is_root && tensor->recv.kind == CHOIR_BUFFER_NONE ? tensor->send : tensor->recv;
}

/* The call that a list is for. */
struct tensor_list_call {
	const char *name; /* "choir_allreduce_multi" */
	enum collective collective;
	int root;
	bool padded;
	uint64_t bucket_bytes; /* 0: BUCKET_BYTES */
};

/* tensor_list_create: the list of that call, checked: buffers as dev_range checks them, no two
 * overlapping; in buckets.  No cl_mem is retained.  One reference, for segments_release(&list->owner).  ARGUMENT naming
 * the tensors; NO_MEMORY. */
choir_status tensor_list_create(const struct tensor_list_call *call, struct choir_comm *comm,
                                const choir_tensor *tensors, size_t n, struct tensor_list **out_p);

/* tensor_list_hold: an owner that besides keeps the cl_mems of the list: for runs that outlive the call. */
choir_status tensor_list_hold(struct tensor_list *list, struct segments_owner **out_p);

#endif
