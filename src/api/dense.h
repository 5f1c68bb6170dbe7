/* SPDX-License-Identifier: MIT */
/* The preparation of dense calls: one path checks, chooses, plans and describes a part for all of them. */
#ifndef API_DENSE_H
#define API_DENSE_H

#include "api/call.h"
#include "exec/prepared.h"

/* One part while it is prepared.  Zero-initialised but for what the call needs. */
struct dense {
	const char *call; /* "choir_allreduce" */
	enum collective collective;
	choir_comm *comm;
	choir_buffer send, recv;
	size_t count;                    /* elements, as the caller gave it */
	uint64_t send_bytes, recv_bytes; /* of this rank's buffers; 0 = the buffer is not looked at */
	choir_dtype dtype;
	choir_op op;
	double factor;
	int root;                   /* or peer */
	uint32_t tag;               /* of send and recv */
	bool order_ranks;           /* folded in rank order; dense_part fills it, and: */
	bool by_kernels;            /* see run.h */
	const struct user_op *user; /* the caller's operator */
	/* v-collectives: [n] in the buffer that holds the blocks of all; alltoallv: block_bytes is [n][n], row =
	 * sender */
	uint64_t *block_bytes, *block_off;
	uint64_t *send_off, *recv_off; /* alltoallv: [n][n] in the sender's SEND, [n] in my RECV */
	uint64_t mean_bytes;           /* alltoallv: of a block */
	uint64_t hash;                 /* of what else must agree */
	/* the record names this algorithm instead of the one that runs; NULL = that one */
	const char *asked;
	choir_status (*become_script)(struct run *run); /* see run.h */
	/* stand for send and recv, and were checked; NULL = they do not */
	const struct segments *send_list, *recv_list;
	bool in_place; /* of those: block for block, as the collective's buffers are */
	bool of_list;  /* part of a call on a list of n_tensors tensors */
	int n_tensors;
};

/* dense_of: the part that key and form say, with the bytes of its buffers.  ARGUMENT, UNSUPPORTED: data type, operator,
 * root, counts near 2^63. */
choir_status dense_of(choir_comm *comm, const struct call_key *key, const struct call_form *form, struct dense *out);

struct dense_options;

/* dense_names: checks the data type, the operator and the root. */
choir_status dense_names(const struct dense *d);

/* dense_op_fits: UNSUPPORTED where an operator that is supported has no meaning in that collective. */
choir_status dense_op_fits(const char *call, enum collective collective, choir_op op);

/* dense_take_own_block: the root of a broadcast, gather or scatter may leave out the buffer of its own block: it then
 * is in place. */
void dense_take_own_block(struct dense *d);

/* dense_part: checks the buffers, chooses and plans: part i of the call.  options: what options_read found. */
choir_status dense_part(struct dense *d, const choir_call *call, const struct dense_options *options,
                        struct prepared *prepared, size_t i);

/* dense_may_inline: may a part of so many bytes be executed by its caller's thread?  Longer ones would hold others
 * up; messages of a polled transport are not waited for by spinning. */
bool dense_may_inline(const struct choir_comm *comm, bool pair, uint64_t bytes);

/* dense_prepare: a call of one part: the prepare of most forms. */
choir_status dense_prepare(choir_comm *comm, const struct call_key *key, const choir_call *call,
                           struct prepared **out_p);

/* dense_prepare_part: a call of that part, which was described otherwise. */
choir_status dense_prepare_part(struct dense *d, const struct call_key *key, const choir_call *call,
                                struct prepared **out_p);

#endif
