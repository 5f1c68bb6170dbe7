/* SPDX-License-Identifier: MIT */
/* Events: completion of collectives, to test, wait for and chain.  docs/events.md explains them. */
#ifndef CHOIR_EVENT_H
#define CHOIR_EVENT_H

#include <choir/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_event choir_event;

/* Dependencies and options of one call.  Arrays are copied before the call returns. */
typedef struct choir_call {
	size_t struct_size; /* sizeof(choir_call) */
	/* the call starts when the commands enqueued there so far are complete; NULL: no queue */
	cl_command_queue after;
	const cl_event *cl_deps; /* of any context */
	size_t n_cl_deps;
	choir_event *const *deps;
	size_t n_deps;
	int64_t deadline_ms; /* 0: the comm's */
	/* "algorithm=ring", "order=ranks" (docs/determinism.md) and others (docs/options.md); NULL: the rules choose */
	const char *options;
	const char *name; /* in error sentences and the log; NULL: the collective's name */
	/* for CHOIR_OP_PREMUL_SUM: multiplies this rank's values, rounded to their type; finite.  1 for other
	 * operators */
	double factor;
	/* on a keyed comm (choir_comm_config.keyed): the calls of all ranks with the same key match, in any order; a
	 * key may come again once its call is complete on this rank.  NULL on other comms */
	const char *key;
	/* of send, recv and sendrecv: a recv takes its source's next message of the same tag; 0 to 2^31 - 2, no
	 * wildcard (2^31 - 1 is that of splits).  0 for other calls */
	int64_t tag;
} choir_call;
#define CHOIR_CALL_INIT                                                                                                \
	{                                                                                                              \
		sizeof(choir_call), NULL, NULL, 0, NULL, 0, 0, NULL, NULL, 1.0, NULL, 0                                \
	}

/* choir_event_test: *done_p = 1 once the collective has ended, with success or not.  Never blocks, makes no progress;
 * any thread. */
CHOIR_API choir_status choir_event_test(choir_event *event, int *done_p);

/* choir_event_wait: waits at most timeout_ms (negative: until the collective's own deadline) and returns the
 * collective's status.  TIMEOUT of the wait leaves the collective running.  The waiting thread drives progress.
 * WOULD_DEADLOCK inside a callback that choir runs, and for a call of this thread's open group. */
CHOIR_API choir_status choir_event_wait(choir_event *event, int64_t timeout_ms);

/* choir_event_status: the outcome of a complete event, else RUNNING.  choir_event_error: the sentence of the failure,
 * "" if none, valid as long as the event.  Neither blocks. */
CHOIR_API choir_status choir_event_status(choir_event *event);
CHOIR_API const char *choir_event_error(choir_event *event);

/* choir_event_on_complete: fn(ctx, status) runs once, on a thread of choir or one that waits in a call of choir, or at
 * once on this thread if the event is complete.  fn must not block. */
typedef void (*choir_event_fn)(void *ctx, choir_status status);
CHOIR_API choir_status choir_event_on_complete(choir_event *event, choir_event_fn fn, void *ctx);

/* choir_set_executor: from now on callbacks of choir_event_on_complete, also those of complete events, and the
 * callbacks of sparse collectives are given to fn(ctx, work, arg), which arranges that work(arg) runs once, on a thread
 * of the caller's, soon; it must not block and may be called from any of choir's threads.  A callback that runs by it
 * may block, but for those of sparse collectives; where those of several ranks of this process wait for each other,
 * each wants a thread.  choir_comm_destroy does not wait for callbacks of events that fn was given.  choir_queue_wait
 * and choir_event_to_cl do not use fn.  fn NULL: callbacks run on choir's threads, as at first.  One for the process;
 * any thread.
 * It returns once no call of the fn before is under way, so that fn's ctx may be freed once the work that fn was given
 * has run; inside fn it does not wait.  Hold no lock that fn takes.  NO_MEMORY: nothing has changed. */
typedef void (*choir_work_fn)(void *arg);
typedef void (*choir_executor_fn)(void *ctx, choir_work_fn work, void *arg);
CHOIR_API choir_status choir_set_executor(choir_executor_fn fn, void *ctx);

/* Reference counts: a call that returns an event returns one reference.  Releasing an event does not cancel its
 * call. */
CHOIR_API choir_event *choir_event_retain(choir_event *event);
CHOIR_API void choir_event_release(choir_event *event);

/* choir_queue_wait: commands enqueued on the queue after this call wait for all n events.  The queue may be of any
 * context. */
CHOIR_API choir_status choir_queue_wait(cl_command_queue queue, size_t n, choir_event *const *events);

/* choir_event_to_cl: a cl_event of the comm's context that becomes CL_COMPLETE when the event completes, also after a
 * failure (some drivers abort on a negative status).  The caller releases it.  ARGUMENT once the comm is destroyed;
 * UNSUPPORTED on a device of choir_device_create_host. */
CHOIR_API choir_status choir_event_to_cl(choir_event *event, cl_event *out_p);

/* choir_event_algorithm: the name of the call's algorithm, a constant text; "" while it is not chosen yet. */
CHOIR_API const char *choir_event_algorithm(choir_event *event);

/* choir_event_wire_bytes: the bytes that this rank has sent to other nodes for the collective so far. */
CHOIR_API uint64_t choir_event_wire_bytes(choir_event *event);

#ifdef __cplusplus
}
#endif

#endif
