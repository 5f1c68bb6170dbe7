/* SPDX-License-Identifier: MIT */
/* What a keyed comm remembers of its calls; for keyed.c and keyed_check.c. */
#ifndef EXEC_KEYED_STATE_H
#define EXEC_KEYED_STATE_H

#include "exec/run.h"

enum { KEYED_BUCKETS = 1024 };

/* A call of this rank, from the moment it is made until its key may come again. */
struct keyed_call {
	struct keyed_call *next;      /* in its bucket */
	struct keyed_call *next_unsaid;
	uint64_t key;
	char *text;
	choir_event *event;           /* a reference */
	struct run *first, **end;     /* its parts, while they are held back */
	int n_parts;
	bool said;
	int64_t since_ns;
	bool warned;
};

/* Keys that arrived by messages: said (at rank 0) or ordered (at the first rank of a node). */
struct key_note {
	struct key_note *next;
	uint64_t key;
	uint64_t number;  /* its place in the order, from 1 on; 0 = it is said */
	uint32_t n_nodes; /* at rank 0: that have said it */
};

struct keyed {
	pthread_mutex_t lock;      /* of the table */
	pthread_mutex_t note_lock; /* of the notes: taken under the messenger's lock, and under no other one's */
	_Atomic int n_held;        /* parts of calls */
	struct keyed_call *buckets[KEYED_BUCKETS];
	struct keyed_call *unsaid, **unsaid_end;
	size_t n_made;
	struct key_board *board;
	bool late;                           /* the driver: a held call has waited for LIVENESS_SIGN_MS */
	uint64_t n_said, cursor;             /* the driver: keys that this rank has said; read of the order */
	struct key_note *notes, **notes_end; /* arrived, oldest first */
	uint64_t n_ordered;                  /* rank 0's driver: keys whose place it has told */
	uint64_t n_taken;                    /* driver of a node's first rank: those in the node's order */
	struct key_note *waiting;            /* rank 0's driver: keys that not all nodes have said */
};

#endif
