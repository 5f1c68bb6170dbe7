/* SPDX-License-Identifier: MIT */
/* The path of all dense collectives: each describes its call, one path checks, plans and starts it. */
#ifndef API_DENSE_H
#define API_DENSE_H

#include "api/call.h"

/* One call.  Zero-initialised but for what the collective needs. */
struct dense {
	const char *call;             /* "choir_allreduce" */
	enum collective collective;
	choir_comm *comm;
	choir_buffer send, recv;
	size_t count;                 /* elements, as the caller gave it */
	uint64_t send_blocks, recv_blocks; /* how many times count this rank's buffers hold; 0 = the buffer is not looked at */
	uint64_t send_bytes, recv_bytes;   /* filled in from those; v-collectives: by the caller */
	choir_dtype dtype;
	choir_op op;
	bool reduces;
	int root;                     /* or peer */
	bool rooted;
	int64_t inner_block;          /* in place: SEND may be this block of RECV, or RECV of SEND; -1 = same start only; v-collectives: my block */
	uint64_t *block_bytes, *block_off; /* v-collectives, [n]: in the buffer that holds the blocks of all */
	uint64_t hash;                /* of what else must agree */
	const char *asked;            /* the algorithm as the call names it, where that must agree instead of the one that runs */
	choir_status (*disagree)(struct run *run); /* see run.h */
	void *disagree_ctx;
	bool of_list;                 /* part of a call on a list of `root` tensors */
	struct segments_owner *lists; /* send_list and recv_list stand for send and recv, and were checked; NULL = they do not */
	struct segments send_list, recv_list;
	const size_t *counts[REPEAT_LISTS]; /* v-collectives: as the caller gave them, and displacements */
	const struct repeat_call *repeat; /* what the next call must be the same in to be repeated (exec/repeat.h); NULL = it is not to be */
	bool blocks;                  /* filled in: the call returns when it is over */
};

/* dense_names: the comm, dtype, operator and root.  ARGUMENT, UNSUPPORTED. */
choir_status dense_names(const struct dense *d);

/* dense_check: all that can be checked; nothing was sent or enqueued.  *call and *in are filled.
 * dense_algorithm: do the call's options name an algorithm that could run?
 * dense_make: the run of a checked call.
 * dense_go: makes and starts it.
 * dense_first: checks and goes.
 * dense_start: does so unless the call is the one before once more: dense_again. */
choir_status dense_check(struct dense *d, const choir_call *given, choir_call *call, struct algo_in *in);
choir_status dense_algorithm(const struct dense *d, const choir_call *call, const struct algo_in *in);
choir_status dense_make(struct dense *d, const choir_call *call, struct algo_in *in, struct run **out_p);
choir_status dense_go(struct dense *d, const choir_call *call, struct algo_in *in, choir_event **event_p);
choir_status dense_first(struct dense *d, const choir_call *given, choir_event **event_p);
choir_status dense_start(struct dense *d, const choir_call *given, choir_event **event_p);

/* dense_repeat: are these n calls that are one the blocking call before once more?  Then they are carried out, and *st_p is their outcome.  Nothing of the arguments has to
 * be checked before.  *may_p: else, may the next one be, if these are noted with the runs that carry them out (dense.repeat)?
 * dense_again: the same for one, described in *repeat and noted. */
bool dense_repeat(choir_comm *comm, const struct repeat_call *repeats, int n, const choir_call *given, choir_event **event_p, bool *may_p, choir_status *st_p);
bool dense_again(struct dense *d, const choir_call *given, choir_event **event_p, struct repeat_call *repeat, choir_status *st_p);

/* dense_express: nothing is to be waited for before it, and it is not so long that others would be held up: exec/express.h may carry it out.
 * dense_on_the_spot: does so with n calls that are one, and the runs from express_begin. */
bool dense_express(const struct dense *d, const choir_call *call);
choir_status dense_on_the_spot(struct dense *d, const choir_call *call, struct algo_in *in, struct run *const *runs, int n);

#endif
