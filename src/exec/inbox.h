/* SPDX-License-Identifier: MIT */
/* The inbox: messages that came for a rank, kept until the step that wants them asks.  Written by the thread that
 * drives the messenger, read by the driver of the rank's engine. */
#ifndef EXEC_INBOX_H
#define EXEC_INBOX_H

#include "base/error.h"
#include "net/messenger.h"

#include <pthread.h>
#include <stdbool.h>

enum { INBOX_CALLS = 256 };

struct inbox_bucket {                 /* messages in the order in which they came */
	struct message *first, *last; /* last is valid if there is a first */
};

/* A message that is of another call than mine of the same number. */
struct inbox_mismatch {
	uint64_t key;
	int src;
	struct call_record mine, theirs;
	char name[CALL_NAME_BYTES]; /* the caller's of mine; "" = none */
};

/* INBOX_KEPT_BYTES: the most that an inbox keeps.  INBOX_MESSAGE_BYTES: about what a message takes beside its payload,
 * which counts too: empty messages fill memory. */
#define INBOX_KEPT_BYTES    (1ull << 30)
#define INBOX_MESSAGE_BYTES 1024

struct inbox {
	pthread_mutex_t lock;
	/* [n_buckets] by key and source; a power of two, which grows with the messages kept */
	struct inbox_bucket *buckets;
	size_t n_buckets, n_sources; /* all messages so far came from ranks below n_sources */
	uint64_t n_kept, kept_bytes; /* messages, and what they count against INBOX_KEPT_BYTES */
	struct {
		uint64_t number; /* of the call + 1; 0 = none */
		struct call_record record;
		char name[CALL_NAME_BYTES];
	} calls[INBOX_CALLS];           /* my last calls, at number mod INBOX_CALLS */
	struct inbox_mismatch mismatch; /* the first one found */
	_Atomic bool has_mismatch;
	_Atomic bool overflow; /* more was kept than INBOX_KEPT_BYTES: the comm fails */
};

choir_status inbox_init(struct inbox *inbox);
void inbox_fini(struct inbox *inbox); /* gives back what is left */

void inbox_put(struct inbox *inbox, struct message *message);

/* inbox_expect: this rank makes the collective that has this key in headers.  Messages with the key, here already or
 * still to come, must have the same record: if one has not, `mismatch` tells.  name: the caller's, "" = none. */
void inbox_expect(struct inbox *inbox, uint64_t key, const struct call_record *record, const char *name);

/* inbox_compare: the same for a record that came without a message to keep. */
void inbox_compare(struct inbox *inbox, const struct wire_header *header);

/* inbox_take: the message of that call, source and tag, or NULL. */
struct message *inbox_take(struct inbox *inbox, uint64_t key, int src, uint32_t tag);

/* inbox_find_mismatch: is there a message of that call (from that source; -1 = any) with another record?  Fills
 * theirs and src. */
bool inbox_find_mismatch(struct inbox *inbox, uint64_t key, int from, const struct call_record *mine,
                         struct call_record *theirs, int *src);

/* inbox_other_tag: is there a message of send from that source with another tag than the key's?  *tag_p: one of
 * them. */
bool inbox_other_tag(struct inbox *inbox, uint64_t key, int src, uint32_t *tag_p);

#endif
