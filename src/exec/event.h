/* SPDX-License-Identifier: MIT */
/* The event object: how the end of a call is known.  Public functions that the engine calls too are in event.c,
 * the others in api/event.c. */
#ifndef EXEC_EVENT_H
#define EXEC_EVENT_H

#include "base/error.h"

#include <choir/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct event_callback {
	struct event_callback *next;
	choir_event_fn fn;
	void *ctx;
	choir_status status; /* the event's, once it is complete */
	bool ours;           /* the library's own: never given to an executor */
};

struct choir_event {
	_Atomic int refs;
	_Atomic bool complete; /* the fields below are final once it is set (release / acquire) */
	int runs_left;         /* that have not ended; under lock once they are submitted */
	choir_status status;
	char *error;             /* NULL = no sentence */
	struct choir_comm *comm; /* a reference: who waits drives it */
	/* the first of its runs that are left, for sentences; set by the maker, then changed by the driver, or under
	 * submission.lock if the run is refused; read with both (engine_call_of).  NULL = none */
	struct run *run;
	const char *_Atomic algorithm; /* constant text; a script's is known late */
	_Atomic uint64_t wire_bytes;
	_Atomic uint64_t grouped_by; /* the thread that holds its call back in an open group, 0 = none */
	struct commit *commit;       /* result=atomic: written before it completes; taken; NULL = none */
	pthread_mutex_t lock;        /* of the callbacks, the status and runs_left */
	struct event_callback *callbacks;
	void *result; /* kept for the caller (sparse), freed by free_result with the event */
	void (*free_result)(void *);
	char name[CALL_NAME_BYTES]; /* the caller's of the call, for sentences; set by the maker; "" = none */
};

/* event_create: one reference, running. */
choir_status event_create(struct choir_comm *comm, choir_event **out_p);

/* event_complete: one of the event's runs has ended with that status and sentence (NULL = none).  After the last one
 * the event is complete, with the first failure, and its callbacks run on this thread.  Without any lock held. */
void event_complete(choir_event *event, choir_status status, const char *text);

/* event_check: ARGUMENT where the event is not of this process, but of the one before a fork. */
choir_status event_check(const char *call, const choir_event *event);

/* event_add_callback: fn runs once the event is complete: on the completing thread, or at once.  ours: the library's
 * own, else an executor may get it.  NO_MEMORY. */
choir_status event_add_callback(choir_event *event, choir_event_fn fn, void *ctx, bool ours);

/* event_join: once `from` is complete, `into` is completed once (event_complete) with its outcome.  NO_MEMORY. */
choir_status event_join(choir_event *into, choir_event *from);

/* event_set_name: the caller's name of the call, cut off if it is too long.
 * event_say_name: "'gradients'", or "the event" of a call without a name. */
void event_set_name(choir_event *event, const char *name);
void event_say_name(const choir_event *event, char *text, size_t bytes);

static inline bool event_is_complete(const choir_event *event)
{
	return atomic_load_explicit(&event->complete, memory_order_acquire);
}

#endif
