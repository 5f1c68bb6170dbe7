/* SPDX-License-Identifier: MIT */
/* The calls that a keyed comm remembers, and messages about their keys; for keyed.c, keyed_check.c and
 * keyed_notes.c. */
#ifndef EXEC_KEYED_STATE_H
#define EXEC_KEYED_STATE_H

#include "exec/run.h"

enum { KEYED_BUCKETS = 1024 };

/* A call of this rank, from the moment it is made until its key may come again. */
struct keyed_call {
	struct keyed_call *next; /* in its bucket */
	struct keyed_call *next_unsaid;
	uint64_t key;
	char *text;
	choir_event *event;       /* a reference */
	struct run *first, **end; /* its parts, while they are held back */
	int n_parts;
	bool said;
	uint64_t place;           /* in the order, from 1 on, once it has begun */
	int64_t since_ns, ask_ms; /* since then it waits; after so long it asks who has made it, 0 = soon */
	bool warned;
	bool *made; /* [n] ranks of other nodes that said so; NULL: it did not ask */
	bool begun; /* one of these has begun it, so all ranks have made it */
};

/* A message about a key: enum wire_key. */
struct key_note {
	struct key_note *next;
	uint64_t key;
	enum wire_key what;
	int src;
	uint64_t number;  /* ORDERED: its place in the order, from 1 on; ASKED: that of the last call begun there */
	uint32_t n_nodes; /* at rank 0: that have said it */
};

struct keyed {
	pthread_mutex_t lock;      /* of the table */
	pthread_mutex_t note_lock; /* of the notes: taken under locks of the messenger; no lock is taken under it */
	_Atomic int n_held;        /* parts of calls */
	struct keyed_call *buckets[KEYED_BUCKETS];
	struct keyed_call *unsaid, **unsaid_end;
	/* The unsaid calls are tried in passes, since a full table may have got room.  pass: what points to the one to
	 * be tried next; pass_completed: how many keys were complete when the pass began. */
	struct keyed_call **pass;
	uint64_t pass_completed;
	size_t n_made;
	struct key_board *board;
	bool late;                           /* the driver: a held call has waited for LIVENESS_SIGN_MS */
	int awaited;                         /* the driver: a rank that such a call waits for, -1: not known */
	uint64_t n_said, cursor;             /* the driver: keys that this rank has said; read of the order */
	struct key_note *notes, **notes_end; /* arrived, oldest first */
	_Atomic int n_notes;                 /* looked at without the lock; one more if any was lost */
	_Atomic bool has_lost;               /* there was no memory for a message that the order needs */
	uint64_t n_ordered;                  /* rank 0's driver: keys whose place it has told */
	uint64_t n_taken;                    /* driver of a node's first rank: those in the node's order */
	struct key_note *waiting;            /* rank 0's driver: keys that not all nodes have said */
	int64_t asked_ns;                    /* the driver: the check that asked last; each asks about one key */
	uint64_t seen[];                     /* the driver: a bit for each rank of the node that had said a key */
};

/* The link that points to the call of that key, or to NULL.  Under the lock. */
static inline struct keyed_call **keyed_find(struct keyed *keyed, uint64_t key)
{
	struct keyed_call **link = &keyed->buckets[key % KEYED_BUCKETS];

	while (*link != NULL && (*link)->key != key)
		link = &(*link)->next;
	return link;
}

/* In keyed_notes.c.  keyed_send: a message about a key.  keyed_take_notes: what messages said; *wakes: the order of
 * this node grew; true if anything moved.  The driver only. */
void keyed_send(struct choir_comm *comm, int rank, enum wire_key what, uint64_t key, uint64_t number);
bool keyed_take_notes(struct choir_comm *comm, bool *wakes);

#endif
