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
	uint64_t count;             /* elements of all of them: of a block, where the collective has blocks */
	size_t n;                   /* tensors that are not empty */
	const choir_tensor *only;   /* if that is one: it, for a call of the ordinary kind */
	struct segments send, recv;
};

struct tensor_list {
	struct segments_owner owner; /* first: the runs hold it */
	choir_tensor *tensors;       /* [n] as the caller gave them */
	size_t n;
	enum collective collective;
	int rank;                    /* mine, of the comm */
	/* a tensor's count times this are the elements of its send and recv on this rank; 0: it is not looked at */
	uint64_t send_holds, recv_holds, most_holds; /* and the most of any buffer */
	bool in_place;               /* every tensor is; an allreduce does not care */
	uint64_t bytes;              /* of all */
	uint64_t hash;               /* of counts, types and the root in their order */
	bool reusable;                  /* Note [what may change] in exec/prepared.c */
	struct tensor_bucket *buckets; /* [n_buckets], at least one, which may be empty */
	size_t n_buckets;
	/* What they point to. */
	struct segment *segments;
	struct dev_access *accesses;
	uint64_t *addresses;
};

/* tensor_list_recv: where a tensor's result goes: of a broadcast's root without a recv its send. */
static inline choir_buffer tensor_list_recv(const struct tensor_list *list, const choir_tensor *tensor)
{
	bool is_root = list->collective == COLLECTIVE_BROADCAST && list->send_holds > 0;

	return is_root && tensor->recv.kind == CHOIR_BUFFER_NONE ? tensor->send : tensor->recv;
}

/* tensor_list_create: the list of a call of that collective, checked: buffers as dev_range checks them, no two
 * overlapping; in buckets of bucket_bytes, 0: BUCKET_BYTES.  Nothing is retained.
 * One reference, for segments_release(&list->owner).  ARGUMENT naming the tensors; NO_MEMORY. */
choir_status tensor_list_create(const char *call, struct choir_comm *comm, enum collective collective, int root,
                                const choir_tensor *tensors, size_t n, uint64_t bucket_bytes,
                                struct tensor_list **out_p);

/* tensor_list_hold: an owner that besides keeps the cl_mems of the list: for runs that outlive the call. */
choir_status tensor_list_hold(struct tensor_list *list, struct segments_owner **out_p);

#endif
