/* SPDX-License-Identifier: MIT */
/* The form of a call, and its key: which function was called, and with what.  It is not choir_call.key, by which the
 * calls of a keyed comm match. */
#ifndef EXEC_CALL_KEY_H
#define EXEC_CALL_KEY_H

#include "algo/collective.h"
#include "base/error.h"

#include <choir/collective.h>
#include <stdbool.h>
#include <string.h>

enum { KEY_LISTS = 4 };

struct call_key;
struct prepared;

/* The form of a public function: its collective, and how its arguments become a prepared call.  One constant row a
 * function, beside its definition (src/api). */
struct call_form {
	const char *name;           /* "choir_allreduce" */
	enum collective collective; /* what the buffers hold, and what it takes: its row in algo/collective.def */
	bool padded;                /* of a list: a tensor's count is that of all blocks together */
	bool of_split;              /* the library's own, with the tag of splits */
	/* Checks all that can be checked, chooses and plans; nothing is sent, enqueued or changed.  call: read. */
	choir_status (*prepare)(choir_comm *comm, const struct call_key *key, const choir_call *call,
	                        struct prepared **out_p);
	/* Instead of that, of a call that learns its sizes on the way: starts it. */
	choir_status (*start)(choir_comm *comm, const struct call_key *key, const choir_call *call,
	                      choir_event **event_p);
};

/* A call's function and arguments, as the caller gave them.  Two calls with equal keys do the same. */
struct call_key {
	const struct call_form *form;
	choir_buffer send, recv; /* of a list: of its first tensor */
	size_t count;            /* elements; of a list: tensors */
	size_t recv_count;       /* sendrecv: count is what it sends */
	/* [ranks] each, compared by their contents: counts and displacements; NULL = there is none */
	const size_t *lists[KEY_LISTS];
	const choir_tensor *tensors; /* [count], compared by their contents; NULL = no list */
	const char *options;         /* NULL = none */
	double factor;
	choir_dtype dtype;
	choir_op op;
	int peer;    /* or the root */
	int source;  /* sendrecv: peer is where it sends to */
	int64_t tag; /* of send, recv, sendrecv */
};

/* call_key_copy: with lists and options of its own, in *room_p, which the caller frees; NULL: it has none.  n: ranks.
 * NO_MEMORY. */
choir_status call_key_copy(const struct call_key *from, int n, struct call_key *to, void **room_p);

/* call_key_same_lists: the counts and displacements of n ranks.  call_key_same_contents: all that keys point to. */
bool call_key_same_lists(const struct call_key *a, const struct call_key *b, int n);
bool call_key_same_contents(const struct call_key *a, const struct call_key *b, int n);

static inline bool call_key_same_buffer(const choir_buffer *a, const choir_buffer *b)
{
	return a->base == b->base && a->offset_bytes == b->offset_bytes && a->kind == b->kind;
}

/* call_key_is_flat: it points to nothing but buffers.  Lists come with a first one. */
static inline bool call_key_is_flat(const struct call_key *key)
{
	return ((uintptr_t)key->options | (uintptr_t)key->lists[0] | (uintptr_t)key->tensors) == 0;
}

/* call_key_same: do the two calls, of a comm of n ranks, ask for the same?  Inline: each call asks. */
static inline bool call_key_same(const struct call_key *a, const struct call_key *b, int n)
{
	return a->form == b->form && call_key_same_buffer(&a->send, &b->send) &&
	       call_key_same_buffer(&a->recv, &b->recv) && a->count == b->count && a->recv_count == b->recv_count &&
	       a->dtype == b->dtype && a->op == b->op && a->peer == b->peer && a->source == b->source &&
	       a->tag == b->tag &&
	       memcmp(&a->factor, &b->factor, sizeof a->factor) == 0 && /* 0.0 and -0.0 give other bits */
	       ((call_key_is_flat(a) && call_key_is_flat(b)) || call_key_same_contents(a, b, n));
}

#endif
