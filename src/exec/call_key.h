/* SPDX-License-Identifier: MIT */
/* The key of a call: what was asked for. */
#ifndef EXEC_CALL_KEY_H
#define EXEC_CALL_KEY_H

#include "base/error.h"

#include <choir/collective.h>
#include <stdbool.h>

enum { KEY_LISTS = 4 };

struct call_form;

/* What was asked for, as the caller gave it.  Two calls with equal keys do the same. */
struct call_key {
	const struct call_form *form;    /* constant: which function was called */
	choir_buffer send, recv;         /* of a list: of its first tensor */
	size_t count;                    /* elements; of a list: tensors */
	size_t recv_count;               /* sendrecv: count is what it sends */
	/* [ranks] each, compared by their contents: counts and displacements; NULL = there is none */
	const size_t *lists[KEY_LISTS];
	const choir_tensor *tensors;     /* [count], compared by their contents; NULL = no list */
	const char *options;             /* NULL = none */
	double factor;
	choir_dtype dtype;
	choir_op op;
	int peer;                        /* or the root */
	int source;                      /* sendrecv: peer is where it sends to */
};

/* call_key_copy: with lists and options of its own, in *room_p, which the caller frees; NULL: it has none.  n: ranks.
 * NO_MEMORY. */
choir_status call_key_copy(const struct call_key *from, int n, struct call_key *to, void **room_p);

/* call_key_same, call_key_same_lists: of n ranks. */
bool call_key_same(const struct call_key *a, const struct call_key *b, int n);
bool call_key_same_lists(const struct call_key *a, const struct call_key *b, int n);

#endif
