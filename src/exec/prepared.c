/* SPDX-License-Identifier: MIT */
/* Note [what may change].  A key is equal if every argument is: addresses, handles, lengths, and the contents of lists.
 * Two things may change behind equal arguments, and both are counted where they happen: the memory that the ranks share
 * (symmetric_changes), and a cl_mem that dies, whose handle may come back as another memory's (dev_deaths).  The death
 * of a cl_mem is noticed if the host reaches it directly, and cannot happen while it is retained.  What is behind an
 * SVM or USM pointer is looked at each time.  Calls of other ranks are compared as ever. */
#include "exec/prepared.h"


#include <stdlib.h>
#include <string.h>

static uint64_t changes_of(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->symmetric.changes, memory_order_acquire);
}

static size_t text_bytes(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

/* The lists and the text of the key become the call's own. */
static choir_status copy_key(const struct choir_comm *comm, struct prepared *prepared)
{
	struct call_key *key = &prepared->key;
	size_t bytes = (size_t)comm->n * sizeof *key->lists[0], text = text_bytes(key->options), total = text;
	unsigned char *at;

	for (int i = 0; i < KEY_LISTS; i++)
		total += key->lists[i] != NULL ? bytes : 0;
	if (total == 0)
		return CHOIR_SUCCESS;
	prepared->room = at = malloc(total);
	if (at == NULL)
		return error_no_memory("a call's arguments", total);
	for (int i = 0; i < KEY_LISTS; i++) {
		if (key->lists[i] == NULL)
			continue;
		key->lists[i] = memcpy(at, key->lists[i], bytes);
		at += bytes;
	}
	if (text > 0)
		key->options = memcpy(at, key->options, text);
	return CHOIR_SUCCESS;
}

choir_status prepared_create(const struct choir_comm *comm, const char *name, const struct call_key *key,
                             size_t n_parts, struct prepared **out_p)
{
	size_t bytes = sizeof(struct prepared) + n_parts * sizeof(struct part);
	struct prepared *prepared = calloc(1, bytes);
	choir_status st;

	if (prepared == NULL)
		return error_no_memory("a call", bytes);
	atomic_init(&prepared->refs, 1);
	prepared->name = name;
	prepared->key = *key;
	prepared->n_parts = n_parts;
	prepared->reusable = prepared->reusable_if_retained = true;
	prepared->changes = changes_of(comm);
	prepared->deaths = dev_deaths();
	st = copy_key(comm, prepared);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

struct prepared *prepared_retain(struct prepared *prepared)
{
	if (prepared != NULL)
		atomic_fetch_add_explicit(&prepared->refs, 1, memory_order_relaxed);
	return prepared;
}

void prepared_release(struct prepared *prepared)
{
	if (prepared == NULL || atomic_fetch_sub_explicit(&prepared->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < prepared->n_parts; i++) {
		cached_plan_release(prepared->parts[i].bound.cached);
		operand_table_free(prepared->parts[i].operands);
	}
	segments_release(prepared->owner);
	free(prepared->room);
	free(prepared);
}

bool prepared_is_valid(const struct choir_comm *comm, const struct prepared *prepared, bool retained)
{
	bool lasts = retained ? prepared->reusable_if_retained : prepared->reusable && prepared->deaths == dev_deaths();

	return lasts && prepared->changes == changes_of(comm);
}

static bool same_buffer(const choir_buffer *a, const choir_buffer *b)
{
	return a->base == b->base && a->offset_bytes == b->offset_bytes && a->kind == b->kind;
}

static bool same_list(const size_t *a, const size_t *b, int n)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (int rank = 0; rank < n; rank++)
		if (a[rank] != b[rank])
			return false;
	return true;
}

static bool same_lists(const struct call_key *a, const struct call_key *b, int n)
{
	if (a->lists[0] == NULL && b->lists[0] == NULL) /* nor the others */
		return true;
	for (int i = 0; i < KEY_LISTS; i++)
		if (!same_list(a->lists[i], b->lists[i], n))
			return false;
	return true;
}

static bool same_tensors(const choir_tensor *a, const choir_tensor *b, size_t n)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (size_t i = 0; i < n; i++)
		if (a[i].count != b[i].count || a[i].dtype != b[i].dtype || !same_buffer(&a[i].send, &b[i].send) ||
		    !same_buffer(&a[i].recv, &b[i].recv))
			return false;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_key(const struct call_key *a, const struct call_key *b, int n)
{
	return a->form == b->form && same_buffer(&a->send, &b->send) && same_buffer(&a->recv, &b->recv) &&
	       a->count == b->count && a->recv_count == b->recv_count && a->dtype == b->dtype && a->op == b->op &&
	       a->peer == b->peer && a->source == b->source && a->factor == b->factor &&
	       same_text(a->options, b->options) && same_lists(a, b, n) &&
	       same_tensors(a->tensors, b->tensors, a->count);
}

/* Where in the comm's table: by what differs most from call to call. */
static struct prepared **cache_entry_of(struct choir_comm *comm, const struct call_key *key)
{
	uint64_t h = (uintptr_t)key->form + 31 * ((uintptr_t)key->send.base + key->send.offset_bytes);

	h = 31 * h + (uintptr_t)key->recv.base + key->recv.offset_bytes;
	h = 31 * h + key->count + (uint64_t)key->peer;
	return &comm->engine.cache.prepared[(h * 0x9E3779B97F4A7C15u >> 32) % PREPARED_KEPT];
}

struct prepared *prepared_find(struct choir_comm *comm, const struct call_key *key)
{
	struct prepared *prepared = *cache_entry_of(comm, key);

	return prepared != NULL && same_key(&prepared->key, key, comm->n) && prepared_is_valid(comm, prepared, false)
	           ? prepared
	           : NULL;
}

void prepared_keep(struct choir_comm *comm, struct prepared *prepared)
{
	struct prepared **at = cache_entry_of(comm, &prepared->key), *old = *at;

	*at = prepared_retain(prepared);
	prepared_release(old);
}

struct prepared *prepared_like(struct choir_comm *comm, const struct call_key *key)
{
	for (int i = 0; i < PREPARED_KEPT; i++) {
		struct prepared *prepared = comm->engine.cache.prepared[i];

		if (prepared != NULL && prepared->key.form == key->form && prepared->key.dtype == key->dtype &&
		    same_lists(&prepared->key, key, comm->n))
			return prepared;
	}
	return NULL;
}

void prepared_drop(struct choir_comm *comm)
{
	for (int i = 0; i < PREPARED_KEPT; i++) {
		prepared_release(comm->engine.cache.prepared[i]);
		comm->engine.cache.prepared[i] = NULL;
	}
}

void prepared_unbind(struct run *run)
{
	prepared_release(run->prepared);
	cached_plan_release(run->other);
	run->prepared = NULL;
	run->part = NULL;
	run->other = NULL;
	run->plan = NULL;
}

void prepared_bind(struct run *run, struct prepared *prepared, struct part *part)
{
	prepared_retain(prepared); /* the run may hold the last one */
	prepared_unbind(run);
	run->bound = part->bound;
	run->prepared = prepared;
	run->part = part;
	run->plan = &part->bound.cached->plan;
	run->event->algorithm = run->plan->algorithm;
}
