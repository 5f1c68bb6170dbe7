/* SPDX-License-Identifier: MIT */
/* A prepared call: its key, and the plans, buffers and addresses that execute it.  The comm keeps the last ones
 * (call_cache.h), a persistent call owns one. */
#ifndef EXEC_PREPARED_H
#define EXEC_PREPARED_H

#include "exec/call_key.h"
#include "exec/operand_table.h"
#include "exec/run.h"

/* One plan on one pair of buffers.  A collective is one, a sendrecv two at once, a list of tensors one a bucket. */
struct part {
	choir_buffer send, recv; /* whose cl_mems a call with an event retains */
	struct bound bound;
	/* short host steps and flags only: inline execution goes through them in their order (in_order.h) */
	enum { NOT_IN_ORDER, IN_ORDER, IN_ORDER_SHADOWS } in_order;
	struct operand_table *operands; /* made by the first call that is executed in order; driver only */
	struct span_table *spans;       /* of lists that peers reach (exec/span_table.h); driver only */
};

struct prepared {
	_Atomic int refs;
	struct call_key key; /* what it points to is in `room` or with the owner */
	void *room;
	/* Note [what may change] in prepared.c: a call with this key may take it again.  reusable_if_retained: a caller
	 * may that keeps its cl_mems retained, as a request does */
	bool reusable, reusable_if_retained;
	bool may_inline;          /* a blocking call without deps is executed by its caller's thread */
	uint64_t changes, deaths; /* of the comm's symmetric memory and of cl_mems when it was prepared */
	/* of a list of tensors (api/tensor_list.h) or of an alltoallv's counts (api/counts.h); a reference */
	struct segments_owner *owner;
	struct commit *commit; /* result=atomic: what its event does before it completes; a reference */
	struct user_op *user;  /* the caller's operator; a reference; NULL = the library's */
	size_t n_parts;
	struct part parts[];
};

/* prepared_create: for the key, whose lists and options are copied, of that many parts, which the caller fills; one
 * reference.  NO_MEMORY. */
choir_status prepared_create(const struct choir_comm *comm, const struct call_key *key, size_t n_parts,
                             struct prepared **out_p);
struct prepared *prepared_retain(struct prepared *prepared);
void prepared_release(struct prepared *prepared); /* NULL is silent */

/* prepared_is_valid: is what was found out about its buffers still true?  retained: the caller has held their cl_mems
 * since then. */
bool prepared_is_valid(const struct choir_comm *comm, const struct prepared *prepared, bool retained);

/* prepared_lasts: does what was found out about that buffer hold for all equal ones while dev_deaths stays?  False if
 * OpenCL does not tell when a cl_mem dies.  prepared_lasts_if_kept: while its cl_mem is retained? */
bool prepared_lasts(choir_device *device, choir_buffer buffer, const struct dev_access *access);
bool prepared_lasts_if_kept(choir_buffer buffer);

/* prepared_bind: the run executes that part, and holds a reference to the call.  prepared_unbind: no longer; silent
 * if it does not. */
void prepared_bind(struct run *run, struct prepared *prepared, struct part *part);
void prepared_unbind(struct run *run);

/* prepared_serves: may a run of the call with that key execute this one at other addresses (prepared_move)?  The two
 * differ in the addresses of host buffers alone, and those of the key pass every check. */
bool prepared_serves(const struct choir_comm *comm, const struct prepared *prepared, const struct call_key *key);

/* prepared_move: the run, bound to a call that serves the key, takes the key's addresses. */
void prepared_move(struct run *run, const struct call_key *key);

#endif
