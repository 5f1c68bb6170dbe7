/* SPDX-License-Identifier: MIT */
/* A list of tensors, checked and sorted into buckets: what a call on many tensors is made of. */
#ifndef API_TENSOR_LIST_H
#define API_TENSOR_LIST_H

#include "exec/run.h"

#include <choir/collective.h>

/* Tensors of one data type that go together, in the order of the list. */
struct tensor_bucket {
	choir_dtype dtype;
	uint64_t count;             /* elements of all of them */
	size_t n;                   /* tensors that are not empty */
	const choir_tensor *only;   /* if that is one: it, for a call of the ordinary kind */
	struct segments send, recv;
};

struct tensor_list {
	struct segments_owner owner; /* first: the runs hold it */
	choir_tensor *tensors;       /* [n] as the caller gave them */
	size_t n;
	uint64_t bytes;              /* of all */
	uint64_t hash;               /* of counts and types in their order */
	bool reusable;                  /* Note [what may change] in exec/prepared.c */
	struct tensor_bucket *buckets; /* [n_buckets], at least one, which may be empty */
	size_t n_buckets;
	/* What they point to. */
	struct segment *segments;
	struct dev_access *accesses;
	uint64_t *addresses;
};

/* tensor_list_create: the list, checked: buffers as dev_range checks them, no two overlapping; in buckets of
 * bucket_bytes, 0: BUCKET_BYTES.  Nothing is retained.
 * One reference, for segments_release(&list->owner).  ARGUMENT naming the tensors; NO_MEMORY. */
choir_status tensor_list_create(const char *call, struct choir_comm *comm, const choir_tensor *tensors, size_t n,
                                uint64_t bucket_bytes, struct tensor_list **out_p);

/* tensor_list_hold: an owner that besides keeps the cl_mems of the list: for runs that outlive the call. */
choir_status tensor_list_hold(struct tensor_list *list, struct segments_owner **out_p);

#endif
