/* SPDX-License-Identifier: MIT */
/* Events: how the end of a collective is known, waited for and chained.  docs/events.md tells the whole story. */
#ifndef CHOIR_EVENT_H
#define CHOIR_EVENT_H

#include <choir/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_event choir_event;

/* What a call depends on and how it is run.  Arrays are copied before the call returns. */
typedef struct choir_call {
	size_t struct_size;       /* sizeof(choir_call) */
	cl_command_queue after;   /* start once all that was enqueued there is done; NULL = no queue */
	const cl_event *cl_deps;  /* of any context */
	size_t n_cl_deps;
	choir_event *const *deps;
	size_t n_deps;
	int64_t deadline_ms;      /* 0 = the comm's */
	const char *options;      /* "algorithm=ring"; NULL = rules decide */
	const char *name;         /* for messages; NULL = the collective's name */
	/* CHOIR_OP_PREMUL_SUM: this rank's values are multiplied by it, and rounded to their type; finite; else 1 */
	double factor;
} choir_call;
#define CHOIR_CALL_INIT { sizeof(choir_call), NULL, NULL, 0, NULL, 0, 0, NULL, NULL, 1.0 }

/* choir_event_test: *done_p = 1 once the collective ended, well or not.  Never blocks; drives no progress; any
 * thread. */
CHOIR_API choir_status choir_event_test(choir_event *event, int *done_p);

/* choir_event_wait: waits at most timeout_ms (negative: until the collective's own deadline) and returns the
 * collective's status; TIMEOUT of the wait changes nothing.  The waiting thread drives progress.  WOULD_DEADLOCK inside
 * a callback of ours. */
CHOIR_API choir_status choir_event_wait(choir_event *event, int64_t timeout_ms);

/* choir_event_status: the outcome of a completed event, RUNNING before that; never blocks.  choir_event_error: its
 * sentence, "" if none, valid as long as the event. */
CHOIR_API choir_status choir_event_status(choir_event *event);
CHOIR_API const char *choir_event_error(choir_event *event);

/* choir_event_on_complete: fn(ctx, status) runs once, on a thread of ours or here at once if the event is complete.  It
 * must not block. */
typedef void (*choir_event_fn)(void *ctx, choir_status status);
CHOIR_API choir_status choir_event_on_complete(choir_event *event, choir_event_fn fn, void *ctx);

/* Reference counting.  A call that gives an event gives one reference.  Releasing never cancels. */
CHOIR_API choir_event *choir_event_retain(choir_event *event);
CHOIR_API void choir_event_release(choir_event *event);

/* choir_queue_wait: commands enqueued on the queue after this call wait for all n events.  The queue may be of any
 * context. */
CHOIR_API choir_status choir_queue_wait(cl_command_queue queue, size_t n, choir_event *const *events);

/* choir_event_to_cl: a cl_event of the comm's context that becomes CL_COMPLETE when the event ends, well or not (never
 * negative: some drivers abort on that).  The caller releases it. */
CHOIR_API choir_status choir_event_to_cl(choir_event *event, cl_event *out_p);

/* choir_event_algorithm: the algorithm that ran, a constant text; "" while unknown. */
CHOIR_API const char *choir_event_algorithm(choir_event *event);

/* choir_event_wire_bytes: bytes this rank sent to other nodes for the collective so far. */
CHOIR_API uint64_t choir_event_wire_bytes(choir_event *event);

#ifdef __cplusplus
}
#endif

#endif
