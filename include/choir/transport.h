/* SPDX-License-Identifier: MIT */
/* What joins nodes: a transport moves whole messages between endpoints (one a process).  libchoir-mpi implements it
 * over MPICH; yours can too.  The library serialises all calls on one transport, calls from any of its threads, and
 * gives it only memory of its own. */
#ifndef CHOIR_TRANSPORT_H
#define CHOIR_TRANSPORT_H

#include <choir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_transport choir_transport;

/* A message that arrived: data belongs to the transport until given back. */
typedef struct choir_message {
	int peer; /* the endpoint it came from */
	size_t bytes;
	void *data; /* 16-byte aligned */
	void *impl; /* the transport's own */
	/* 1: data lies in the channel itself, so the message holds up others; see overdue.  The library zeroes it
	 * before poll */
	int lent;
} choir_message;

typedef struct choir_transport_ops {
	size_t struct_size; /* sizeof(choir_transport_ops) */
	const char *name;
	int polled; /* 1: arrivals are seen only by poll; 0: the transport wakes the library by choir_transport_wake */

	/* Starts sending; data stays untouched until test says done.  Never blocks.  *request_p = NULL: done already,
	 * nothing to test.  NO_MEMORY: nothing was sent, and the transport goes on; any other error is final. */
	choir_status (*send)(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p);
	/* *done_p = 1 once data may be reused; the request is then gone, as after an error. */
	choir_status (*test)(choir_transport *transport, void *request, int *done_p);
	/* *arrived_p = 1 and *message_p filled if a message came.  Never blocks. */
	choir_status (*poll)(choir_transport *transport, choir_message *message_p, int *arrived_p);
	/* Gives a message's memory back; also after abort. */
	void (*give)(choir_transport *transport, choir_message *message);
	/* Stops: no call but give and destroy follows.  The memory of sends that were not done is never used again, so
	 * a late peer does no harm.  Also called after any of the calls above has failed: an error is final. */
	void (*abort)(choir_transport *transport);
	void (*destroy)(choir_transport *transport);

	/* What follows is optional: may be NULL, or beyond struct_size. */
	/* Sends head and body as one message if that can be done at once, by copying: *done_p = 1 and both may be
	 * reused.  Else nothing has happened, and the library calls send.  head and body may be any memory of the
	 * process. */
	choir_status (*send_now)(choir_transport *transport, int peer, const void *head, size_t head_bytes,
	                         const void *body, size_t body_bytes, int *done_p);
	/* 1: this lent message holds up so much that the library copies it and gives it back. */
	int (*overdue)(choir_transport *transport, const choir_message *message);
	/* Large transfers are cut into messages of this size; 0: as the library likes.  The same at all endpoints. */
	size_t message_bytes;
} choir_transport_ops;

struct choir_transport {
	const choir_transport_ops *ops;
	int rank, size; /* this endpoint among all */
};

/* choir_transport_error: sets this thread's choir_last_error and returns status, for transports to report with. */
CHOIR_API choir_status choir_transport_error(choir_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* choir_transport_wake: something arrived; wakes sleeping progress of this process.  Any thread. */
CHOIR_API void choir_transport_wake(void);

#ifdef __cplusplus
}
#endif

#endif
