/* SPDX-License-Identifier: MIT */
/* A blocking sendrecv of host memory that is the same as the one before it: buffers, counts, peers, type.  What was checked, planned and described then holds still, so
 * one item is written, one read (exec/mail.h), and nothing else done. */
#ifndef EXEC_REPEAT_H
#define EXEC_REPEAT_H

#include "net/wire.h"

#include <choir/event.h>
#include <stdbool.h>
#include <stddef.h>

struct choir_comm;
struct run;

struct repeat_call {
	const void *send, *recv; /* host memory; NULL = this call is not to be repeated so */
	size_t send_count, recv_count;
	int dest, source;
	choir_dtype dtype;
	int64_t deadline_ms;
};

struct repeat {
	struct repeat_call call;       /* the latest sendrecv that was carried out on the spot */
	bool ready;                    /* the rest holds for it */
	struct run *runs[2];           /* the comm's, see express.h */
	struct call_record records[2];
};

/* repeat_note: this call is about to be carried out on the spot (between express_begin and express_end).
 * repeat_keep: it was, by these two runs, which still have their records.  express_end says so. */
void repeat_note(struct choir_comm *comm, const struct repeat_call *call);
void repeat_keep(struct run *const *runs);

/* repeat_begin: the engine is this thread's until repeat_end, and the call is that one.  False: go the usual way.
 * repeat_end: as express_end. */
bool repeat_begin(struct choir_comm *comm, const struct repeat_call *call);
choir_status repeat_end(struct choir_comm *comm, choir_event **event_p);

#endif
