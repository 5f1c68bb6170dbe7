/* SPDX-License-Identifier: MIT */
/* Note [cache size].  A call stands in one of the CACHE_NEAR entries from that of its hash on; none is ever emptied, so
 * a search ends at an empty one.  A program that makes the same 300 calls again and again would find none of them among
 * the last 32, one whose buffers are always new would only fill more memory.  So the cache remembers the hashes of the
 * calls that it dropped, and grows when one of these calls comes back. */
#include "exec/call_cache.h"

#include <stdlib.h>

enum { CACHE_NEAR = 4 };

/* By what differs most from call to call. */
static uint64_t hash_of(const struct call_key *key)
{
	uint64_t h = (uintptr_t)key->form + 31 * ((uintptr_t)key->send.base + key->send.offset_bytes);

	h = 31 * h + (uintptr_t)key->recv.base + key->recv.offset_bytes;
	h = 31 * h + key->count + (uint64_t)key->peer + ((uint64_t)key->tag << 20);
	return h * 0x9E3779B97F4A7C15u;
}

static struct prepared **entry(const struct call_cache *cache, uint64_t hash, uint32_t i)
{
	return &cache->prepared[((hash >> 32) + i) & cache->last];
}

/* Where the call with that key stands, or could; NULL if other calls stand in all its entries. */
static struct prepared **search(const struct choir_comm *comm, const struct call_key *key, uint64_t hash)
{
	for (uint32_t i = 0; i < CACHE_NEAR; i++) {
		struct prepared **at = entry(&comm->engine.cache, hash, i);

		if (*at == NULL || call_key_same(&(*at)->key, key, comm->n))
			return at;
	}
	return NULL;
}

struct prepared *call_cache_find(struct choir_comm *comm, const struct call_key *key)
{
	uint64_t hash = hash_of(key);
	struct prepared *found = *entry(&comm->engine.cache, hash, 0);

	if (found == NULL)
		return NULL;
	if (!call_key_same(&found->key, key, comm->n)) { /* most calls stand in their first entry */
		struct prepared **at = search(comm, key, hash);

		found = at != NULL ? *at : NULL;
	}
	return found != NULL && prepared_is_valid(comm, found, false) ? found : NULL;
}

/* Where the hash of a dropped call is remembered. */
static uint32_t *mark_of(struct call_cache *cache, uint64_t hash)
{
	return &cache->dropped[(hash >> 32) % PREPARED_MOST];
}

/* In place of the same call, or of another one if there is no empty entry. */
static void put(struct choir_comm *comm, struct prepared *prepared)
{
	struct call_cache *cache = &comm->engine.cache;
	uint64_t hash = hash_of(&prepared->key);
	struct prepared **at = search(comm, &prepared->key, hash);

	if (at == NULL) {
		uint64_t dropped;

		at = entry(cache, hash, cache->turn++ % CACHE_NEAR);
		dropped = hash_of(&(*at)->key);
		*mark_of(cache, dropped) = (uint32_t)dropped;
	}
	prepared_release(*at);
	*at = prepared;
}

/* Without memory the cache stays as it is. */
static void grow(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;
	struct prepared **old = cache->prepared, **prepared;
	uint32_t n = cache->last + 1;

	prepared = calloc(2 * (size_t)n, sizeof *prepared);
	if (prepared == NULL)
		return;
	cache->prepared = prepared;
	cache->last = 2 * n - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i] != NULL)
			put(comm, old[i]);
	if (old != cache->first)
		free(old);
}

void call_cache_keep(struct choir_comm *comm, struct prepared *prepared)
{
	struct call_cache *cache = &comm->engine.cache;
	uint64_t hash = hash_of(&prepared->key);
	bool comes_back = *mark_of(cache, hash) == (uint32_t)hash;

	if (comes_back && cache->last + 1 < PREPARED_MOST && search(comm, &prepared->key, hash) == NULL)
		grow(comm);
	put(comm, prepared_retain(prepared));
}

struct prepared *call_cache_like(struct choir_comm *comm, const struct call_key *key)
{
	struct call_cache *cache = &comm->engine.cache;

	for (uint32_t i = 0; i <= cache->last; i++) {
		struct prepared *prepared = cache->prepared[i];

		if (prepared != NULL && prepared->key.form == key->form && prepared->key.dtype == key->dtype &&
		    call_key_same_lists(&prepared->key, key, comm->n))
			return prepared;
	}
	return NULL;
}

void call_cache_init(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;

	cache->prepared = cache->first;
	cache->last = PREPARED_FIRST - 1;
}

void call_cache_drop(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;

	for (uint32_t i = 0; cache->prepared != NULL && i <= cache->last; i++) {
		prepared_release(cache->prepared[i]);
		cache->prepared[i] = NULL;
	}
	if (cache->prepared != cache->first)
		free(cache->prepared);
	call_cache_init(comm);
}
