/* SPDX-License-Identifier: MIT */
/* A blocking call that is the same as the one before it: buffers, counts, types, peers.  What was checked, planned and described then holds still: the comm's run for such
 * calls (exec/express.h) gets its number, and its plan is walked (exec/walk.h).  A run stands for one call at a time; a sendrecv is two. */
#ifndef EXEC_REPEAT_H
#define EXEC_REPEAT_H

#include "exec/tape.h"

#include <choir/device.h>
#include <choir/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choir_comm;
struct plan;
struct run;

enum { REPEAT_LISTS = 4, REPEAT_RANKS = 16 /* with more, calls that have lists are not repeated */ };

/* The comm has one run of each kind that is carried out on the spot. */
enum express_kind { EXPRESS_COLLECTIVE, EXPRESS_SEND, EXPRESS_RECV, EXPRESS_KINDS };

struct repeat_call {
	enum express_kind kind;
	const char *name;             /* constant text: the function */
	choir_buffer send, recv;      /* host memory and cl_mems */
	size_t count;
	const size_t *lists[REPEAT_LISTS]; /* [n] the counts and displacements of a v-collective, whose contents count; NULL = there is none */
	int collective;
	choir_dtype dtype;
	choir_op op;
	int root;                     /* or peer */
	int64_t deadline_ms;
	void *disagree_ctx;           /* of this very call, see run.h */
};

/* What a run stands for. */
struct repeat {
	struct run *run;              /* NULL = there is none such */
	struct repeat_call call;
	size_t numbers[REPEAT_LISTS][REPEAT_RANKS]; /* its lists */
	const struct plan *plan;      /* another one may have been taken on the way */
	uint64_t changes;             /* the comm's symmetric_changes then: what is shared decides on the plan */
	uint64_t deaths;              /* dev_deaths then: later a handle may be another memory's */
	struct tape tape;             /* of a collective */
};

/* repeat_note: this run, prepared between express_begin and express_end, stands for the call until it is taken for another. */
void repeat_note(struct run *run, const struct repeat_call *call);

/* repeat_begin: the engine is this thread's until repeat_end or express_drop, and each of these runs stands for its call.  False: go the usual way.
 * repeat_end: as express_end. */
bool repeat_begin(struct choir_comm *comm, const struct repeat_call *calls, int n, struct run **runs);
choir_status repeat_end(struct run *const *runs, int n, choir_event **event_p);

#endif
