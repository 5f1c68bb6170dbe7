/* SPDX-License-Identifier: MIT */
/* A transport moves whole messages between endpoints, one for each process.  libchoir-mpi implements one over MPICH;
 * programs may bring their own.  The library makes one call on a transport at a time, from any of its threads, and
 * gives it only memory of its own but in send_now. */
#ifndef CHOIR_TRANSPORT_H
#define CHOIR_TRANSPORT_H

#include <choir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_transport choir_transport;

/* A message that arrived.  data belongs to the transport; the library gives it back by give. */
typedef struct choir_message {
	int peer; /* the endpoint it came from */
	size_t bytes;
	void *data; /* 16-byte aligned */
	void *impl; /* the transport's own */
	/* 1: zero-copy receive: data lies in the transport's channel, so the message may block later ones; see overdue.
	 * 0 before poll */
	int lent;
} choir_message;

typedef struct choir_transport_ops {
	/* sizeof(choir_transport_ops); where the ranks need the transport the create calls refuse another, and a table
	 * that lacks one of what stands above the optional members, by ARGUMENT */
	size_t struct_size;
	const char *name;
	int polled; /* 1: only poll sees arrivals; 0: the transport calls choir_transport_wake for them */

	/* Starts sending data, which the library leaves unchanged until test reports done.  Never blocks.  *request_p =
	 * NULL: done, nothing to test.  NO_MEMORY, or PEER_DEAD of a peer that is lost: nothing was sent, and the
	 * transport goes on.  Other errors are final.
	 * Of a peer that does not read, the library leaves some 16 MiB of sends not done, and then holds its data back.
	 * It counts no send that was done at once, so a transport that copies what it sends bounds its copies. */
	choir_status (*send)(choir_transport *transport, int peer, const void *data, size_t bytes, void **request_p);
	/* *done_p = 1 once data may be reused.  The request is no longer valid then, or after an error.  PEER_DEAD: its
	 * peer is lost, and the transport goes on; other errors are final. */
	choir_status (*test)(choir_transport *transport, void *request, int *done_p);
	/* *arrived_p = 1 and *message_p is set if a message has arrived.  Never blocks.  NO_MEMORY: no message was
	 * taken, and the library asks again; other errors are final. */
	choir_status (*poll)(choir_transport *transport, choir_message *message_p, int *arrived_p);
	/* Gives a message's memory back to the transport; also after abort. */
	void (*give)(choir_transport *transport, choir_message *message);
	/* Stops the transport, also after an error of a call above; only give and destroy follow.  The library never
	 * reuses the memory of unfinished sends, so a peer may still read it. */
	void (*abort)(choir_transport *transport);
	void (*destroy)(choir_transport *transport);

	/* The members below are optional: they may be NULL, or beyond struct_size. */
	/* Sends head and body as one message if it can copy them at once: *done_p = 1, both may be reused.  Else it
	 * does nothing, and the library calls send.  head and body may be any memory of the process. */
	choir_status (*send_now)(choir_transport *transport, int peer, const void *head, size_t head_bytes,
	                         const void *body, size_t body_bytes, int *done_p);
	/* 1: this message of lent = 1 blocks so much of the channel that the library is to copy it and give it back. */
	int (*overdue)(choir_transport *transport, const choir_message *message);
	/* The library cuts large transfers into messages of this size, at most 1 GiB; 0: its own choice.  The same at
	 * all endpoints: MISMATCH. */
	size_t message_bytes;
} choir_transport_ops;

struct choir_transport {
	const choir_transport_ops *ops;
	int rank, size; /* this endpoint's number, and the number of endpoints */
};

/* choir_transport_error: for transports: sets this thread's choir_last_error and returns status. */
CHOIR_API choir_status choir_transport_error(choir_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* choir_transport_wake: for transports: a message arrived; wakes the process's threads that drive progress.  Any
 * thread. */
CHOIR_API void choir_transport_wake(void);

#ifdef __cplusplus
}
#endif

#endif
