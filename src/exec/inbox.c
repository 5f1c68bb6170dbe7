/* SPDX-License-Identifier: MIT */
#include "exec/inbox.h"

#include "base/error.h"

#include <stdatomic.h>
#include <string.h>

choir_status inbox_init(struct inbox *inbox)
{
	memset(inbox, 0, sizeof *inbox);
	if (pthread_mutex_init(&inbox->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an inbox");
	return CHOIR_SUCCESS;
}

void inbox_fini(struct inbox *inbox)
{
	for (int b = 0; b < INBOX_BUCKETS; b++)
		while (inbox->buckets[b] != NULL) {
			struct pump_message *message = inbox->buckets[b];

			inbox->buckets[b] = message->next;
			pump_give(message);
		}
	pthread_mutex_destroy(&inbox->lock);
}

static size_t bucket_of(uint64_t key, int src)
{
	return (key * 31 + (uint64_t)src * 7) % INBOX_BUCKETS;
}

/* Under the lock.  A pair's calls are compared when they are received: its numbers run in both directions. */
static void compare(struct inbox *inbox, const struct wire_header *theirs)
{
	uint64_t at = theirs->key % INBOX_CALLS;

	if ((theirs->key & WIRE_PAIR) != 0 || inbox->calls[at].number != theirs->key + 1 ||
	    memcmp(&inbox->calls[at].record, &theirs->record, sizeof theirs->record) == 0 || atomic_load_explicit(&inbox->has_odd, memory_order_relaxed))
		return;
	inbox->odd = (struct inbox_odd){ theirs->key, theirs->src, inbox->calls[at].record, theirs->record };
	atomic_store_explicit(&inbox->has_odd, true, memory_order_release);
}

void inbox_compare(struct inbox *inbox, const struct wire_header *header)
{
	pthread_mutex_lock(&inbox->lock);
	compare(inbox, header);
	pthread_mutex_unlock(&inbox->lock);
}

void inbox_expect(struct inbox *inbox, uint64_t key, const struct call_record *record)
{
	pthread_mutex_lock(&inbox->lock);
	inbox->calls[key % INBOX_CALLS].number = key + 1;
	inbox->calls[key % INBOX_CALLS].record = *record;
	for (int b = 0; b < INBOX_BUCKETS && inbox->n_kept > 0; b++)
		for (const struct pump_message *m = inbox->buckets[b]; m != NULL; m = m->next)
			if (m->header.key == key)
				compare(inbox, &m->header);
	pthread_mutex_unlock(&inbox->lock);
}

void inbox_put(struct inbox *inbox, struct pump_message *message)
{
	struct pump_message **at = &inbox->buckets[bucket_of(message->header.key, message->header.src)];

	pthread_mutex_lock(&inbox->lock);
	while (*at != NULL)
		at = &(*at)->next;
	message->next = NULL;
	*at = message;
	compare(inbox, &message->header);
	inbox->n_kept++;
	inbox->kept_bytes += message->payload_bytes;
	if (inbox->kept_bytes > INBOX_KEPT_BYTES)
		atomic_store_explicit(&inbox->overflow, true, memory_order_relaxed);
	pthread_mutex_unlock(&inbox->lock);
}

struct pump_message *inbox_take(struct inbox *inbox, uint64_t key, int src, uint32_t tag)
{
	struct pump_message **at = &inbox->buckets[bucket_of(key, src)], *found = NULL;

	pthread_mutex_lock(&inbox->lock);
	for (; *at != NULL; at = &(*at)->next)
		if ((*at)->header.key == key && (*at)->header.src == src && (*at)->header.tag == tag) {
			found = *at;
			*at = found->next;
			inbox->n_kept--;
			inbox->kept_bytes -= found->payload_bytes;
			break;
		}
	pthread_mutex_unlock(&inbox->lock);
	return found;
}

bool inbox_mismatch(struct inbox *inbox, uint64_t key, int from, const struct call_record *mine, struct call_record *theirs, int *src)
{
	bool found = false;

	pthread_mutex_lock(&inbox->lock);
	for (int b = 0; b < INBOX_BUCKETS && !found; b++)
		for (struct pump_message *m = inbox->buckets[b]; m != NULL && !found; m = m->next)
			if (m->header.key == key && (from < 0 || m->header.src == from) && memcmp(&m->header.record, mine, sizeof *mine) != 0) {
				*theirs = m->header.record;
				*src = m->header.src;
				found = true;
			}
	pthread_mutex_unlock(&inbox->lock);
	return found;
}
