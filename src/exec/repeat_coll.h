/* SPDX-License-Identifier: MIT */
/* As repeat.h, for a short blocking collective within the node: the comm's run for such calls (exec/express.h) is as the call before left it, checked, planned and
 * described.  It gets its number, and its plan is walked (exec/walk.h). */
#ifndef EXEC_REPEAT_COLL_H
#define EXEC_REPEAT_COLL_H

#include <choir/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choir_comm;
struct run;

struct coll_call {
	const void *send, *recv; /* host memory; NULL where this rank has none */
	size_t count;
	int collective;
	choir_dtype dtype;
	choir_op op;
	int root;
	int64_t deadline_ms;
};

struct repeat_coll {
	struct coll_call call;
	struct run *run;  /* the comm's, that still stands for this call; NULL = none does */
	uint64_t changes; /* the comm's symmetric_changes then: what is shared decides on the plan */
};

/* repeat_coll_note: this run, prepared between express_begin and express_end, stands for the call until it is taken for another. */
void repeat_coll_note(struct run *run, const struct coll_call *call);

/* repeat_coll_begin: the engine is this thread's until repeat_coll_end or repeat_coll_drop, and the call is that one.  False: go the usual way.
 * repeat_coll_end: as express_end.  repeat_coll_drop: as express_drop. */
bool repeat_coll_begin(struct choir_comm *comm, const struct coll_call *call);
choir_status repeat_coll_end(struct choir_comm *comm, choir_event **event_p);
void repeat_coll_drop(struct choir_comm *comm);

#endif
