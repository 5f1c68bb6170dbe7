/* SPDX-License-Identifier: MIT */
/* A blocking collective that is the same as the one before it (exec/repeat_coll.h). */
#include "api/dense.h"

/* The address of a buffer of host memory, NULL of one that is not looked at.  False: of another kind, or of none. */
static bool is_simple(choir_buffer buffer, uint64_t blocks, const void **at_p)
{
	*at_p = blocks > 0 && buffer.base != NULL ? (const unsigned char *)buffer.base + buffer.offset_bytes : NULL;
	return blocks == 0 || (buffer.kind == CHOIR_BUFFER_HOST && buffer.base != NULL);
}

bool dense_may_repeat(const struct dense *d, const choir_call *given, struct coll_call *out)
{
	*out = (struct coll_call){ .collective = d->collective, .count = d->count, .dtype = d->dtype, .op = d->op, .root = d->root,
		                   .deadline_ms = given != NULL ? given->deadline_ms : 0 };
	return is_simple(d->send, d->send_blocks, &out->send) && is_simple(d->recv, d->recv_blocks, &out->recv) && call_says_nothing(given) &&
	       !group_is_open() && !in_callback();
}

choir_status dense_again(const struct dense *d)
{
	struct choir_comm *comm = d->comm;
	uint64_t seq = comm->engine.next_seq;
	choir_status st = comm->family != NULL ? call_may_block(d->call, comm, false) : CHOIR_SUCCESS;
	choir_event *event;

	if (st != CHOIR_SUCCESS) {
		repeat_coll_drop(comm);
		return st;
	}
	atomic_store_explicit(&comm->last_user, this_thread(), memory_order_relaxed);
	st = repeat_coll_end(comm, &event);
	return event == NULL ? st : call_finish(d->call, comm, event, false, seq);
}
