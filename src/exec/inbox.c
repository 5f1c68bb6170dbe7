/* SPDX-License-Identifier: MIT */
#include "exec/inbox.h"

#include "base/error.h"
#include "exec/tagged.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_BUCKETS = 64, BUCKET_MESSAGES = 4 };

choir_status inbox_init(struct inbox *inbox)
{
	memset(inbox, 0, sizeof *inbox);
	inbox->buckets = calloc(FEW_BUCKETS, sizeof *inbox->buckets);
	if (inbox->buckets == NULL)
		return error_no_memory("an inbox", FEW_BUCKETS * sizeof *inbox->buckets);
	inbox->n_buckets = FEW_BUCKETS;
	if (pthread_mutex_init(&inbox->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an inbox");
	return CHOIR_SUCCESS;
}

/* The first message of the bucket leaves it. */
static struct message *pop(struct inbox_bucket *bucket)
{
	struct message *message = bucket->first;

	if (message != NULL)
		bucket->first = message->next;
	return message;
}

static void append(struct inbox_bucket *bucket, struct message *message)
{
	message->next = NULL;
	if (bucket->first == NULL)
		bucket->first = message;
	else
		bucket->last->next = message;
	bucket->last = message;
}

void inbox_fini(struct inbox *inbox)
{
	struct message *message;

	for (size_t b = 0; b < inbox->n_buckets; b++)
		while ((message = pop(&inbox->buckets[b])) != NULL)
			message_give(message);
	free(inbox->buckets);
	pthread_mutex_destroy(&inbox->lock);
}

static struct inbox_bucket *bucket_of(const struct inbox *inbox, uint64_t key, int src)
{
	return &inbox->buckets[((key ^ key >> 32) * 31 + (uint64_t)src * 7) & (inbox->n_buckets - 1)];
}

/* The buckets that can hold messages of that number: bucket_holding(inbox, key, i) for i below n_holding(inbox). */
static size_t n_holding(const struct inbox *inbox)
{
	return inbox->n_sources < inbox->n_buckets ? inbox->n_sources : inbox->n_buckets;
}

static const struct inbox_bucket *bucket_holding(const struct inbox *inbox, uint64_t key, size_t i)
{
	return inbox->n_sources < inbox->n_buckets ? bucket_of(inbox, key, (int)i) : &inbox->buckets[i];
}

/* So that a bucket holds few messages, however many are kept.  Without memory it stays as it is. */
static void grow(struct inbox *inbox)
{
	struct inbox_bucket *old = inbox->buckets, *more;
	size_t n_old = inbox->n_buckets;
	struct message *message;

	if (inbox->n_kept <= n_old * BUCKET_MESSAGES || (more = calloc(2 * n_old, sizeof *more)) == NULL)
		return;
	inbox->buckets = more;
	inbox->n_buckets = 2 * n_old;
	for (size_t b = 0; b < n_old; b++)
		while ((message = pop(&old[b])) != NULL)
			append(bucket_of(inbox, message->header.key, message->header.src), message);
	free(old);
}

/* Under the lock.  A pair's calls are compared when they are received: its numbers run in both directions. */
static void compare(struct inbox *inbox, const struct wire_header *theirs)
{
	uint64_t at = theirs->key % INBOX_CALLS;

	if ((theirs->key & WIRE_PAIR) != 0 || inbox->calls[at].number != theirs->key + 1 ||
	    memcmp(&inbox->calls[at].record, &theirs->record, sizeof theirs->record) == 0 ||
	    atomic_load_explicit(&inbox->has_mismatch, memory_order_relaxed))
		return;
	inbox->mismatch =
	    (struct inbox_mismatch){ theirs->key, theirs->src, inbox->calls[at].record, theirs->record, "" };
	memcpy(inbox->mismatch.name, inbox->calls[at].name, CALL_NAME_BYTES);
	atomic_store_explicit(&inbox->has_mismatch, true, memory_order_release);
}

void inbox_compare(struct inbox *inbox, const struct wire_header *header)
{
	pthread_mutex_lock(&inbox->lock);
	compare(inbox, header);
	pthread_mutex_unlock(&inbox->lock);
}

void inbox_expect(struct inbox *inbox, uint64_t key, const struct call_record *record, const char *name)
{
	pthread_mutex_lock(&inbox->lock);
	inbox->calls[key % INBOX_CALLS].number = key + 1;
	inbox->calls[key % INBOX_CALLS].record = *record;
	snprintf(inbox->calls[key % INBOX_CALLS].name, CALL_NAME_BYTES, "%s", name);
	for (size_t i = 0; i < n_holding(inbox) && inbox->n_kept > 0; i++)
		for (const struct message *m = bucket_holding(inbox, key, i)->first; m != NULL; m = m->next)
			if (m->header.key == key)
				compare(inbox, &m->header);
	pthread_mutex_unlock(&inbox->lock);
}

static uint64_t kept_bytes_of(const struct message *message)
{
	return message->payload_bytes + INBOX_MESSAGE_BYTES;
}

void inbox_put(struct inbox *inbox, struct message *message)
{
	pthread_mutex_lock(&inbox->lock);
	append(bucket_of(inbox, message->header.key, message->header.src), message);
	if ((size_t)message->header.src >= inbox->n_sources)
		inbox->n_sources = (size_t)message->header.src + 1;
	compare(inbox, &message->header);
	inbox->n_kept++;
	grow(inbox);
	inbox->kept_bytes += kept_bytes_of(message);
	if (inbox->kept_bytes > INBOX_KEPT_BYTES)
		atomic_store_explicit(&inbox->overflow, true, memory_order_relaxed);
	pthread_mutex_unlock(&inbox->lock);
}

struct message *inbox_take(struct inbox *inbox, uint64_t key, int src, uint32_t tag)
{
	struct message *before = NULL, *found;
	struct inbox_bucket *bucket;

	pthread_mutex_lock(&inbox->lock);
	bucket = bucket_of(inbox, key, src);
	for (found = bucket->first; found != NULL; before = found, found = found->next)
		if (found->header.key == key && found->header.src == src && found->header.tag == tag)
			break;
	if (found != NULL) {
		*(before != NULL ? &before->next : &bucket->first) = found->next;
		if (found->next == NULL)
			bucket->last = before;
		inbox->n_kept--;
		inbox->kept_bytes -= kept_bytes_of(found);
	}
	pthread_mutex_unlock(&inbox->lock);
	return found;
}

bool inbox_find_mismatch(struct inbox *inbox, uint64_t key, int from, const struct call_record *mine,
                         struct call_record *theirs, int *src)
{
	bool found = false;

	pthread_mutex_lock(&inbox->lock);
	for (size_t i = 0; i < n_holding(inbox) && !found; i++)
		for (const struct message *m = bucket_holding(inbox, key, i)->first; m != NULL && !found; m = m->next)
			if (m->header.key == key && (from < 0 || m->header.src == from) &&
			    memcmp(&m->header.record, mine, sizeof *mine) != 0) {
				*theirs = m->header.record;
				*src = m->header.src;
				found = true;
			}
	pthread_mutex_unlock(&inbox->lock);
	return found;
}

bool inbox_other_tag(struct inbox *inbox, uint64_t key, int src, uint32_t *tag_p)
{
	bool found = false;

	pthread_mutex_lock(&inbox->lock);
	for (size_t b = 0; b < inbox->n_buckets && !found; b++)
		for (const struct message *m = inbox->buckets[b].first; m != NULL && !found; m = m->next)
			if (m->header.src == src && (m->header.key & WIRE_PAIR) != 0 &&
			    tagged_tag(m->header.key) != tagged_tag(key)) {
				*tag_p = tagged_tag(m->header.key);
				found = true;
			}
	pthread_mutex_unlock(&inbox->lock);
	return found;
}
