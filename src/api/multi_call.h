/* SPDX-License-Identifier: MIT */
/* Allreduce of many tensors: an ordinary allreduce a bucket, of a buffer that the bucket's tensors are the segments of; all under one event. */
#ifndef API_MULTI_CALL_H
#define API_MULTI_CALL_H

#include "api/dense.h"
#include "api/tensor_list.h"

/* A bucket's call, checked. */
struct multi_part {
	struct dense d;
	struct algo_in in;
};

struct multi {
	const char *name;
	choir_comm *comm;
	choir_op op;
	struct tensor_list *list;
	struct segments_owner *owner;   /* what the runs hold: the list, or what keeps its cl_mems besides */
	struct multi_part *parts;       /* [list->n_buckets]; NULL = each is made when it is needed */
	struct run **runs;              /* room for as many; NULL = there is none */
};

/* multi_check: operator and call, before anything is done; *call is filled. */
choir_status multi_check(const struct multi *m, const choir_call *given, choir_call *call);

/* multi_part: bucket b's call, made and checked. */
choir_status multi_part(const struct multi *m, size_t b, const choir_call *call, struct multi_part *out);

/* multi_go: starts a checked call. */
choir_status multi_go(const struct multi *m, const choir_call *call, choir_event **event_p);

#endif
