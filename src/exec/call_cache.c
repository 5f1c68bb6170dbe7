/* SPDX-License-Identifier: MIT */
/* Note [cache size].  A call stands in one of the CACHE_NEAR entries from that of its hash on; none is ever emptied, so
 * a search ends at an empty one.  A program that makes the same 300 calls again and again would find none of them among
 * the last 32, one whose buffers are always new would only fill more memory.  So the cache remembers the hashes of the
 * calls that it dropped, and grows when one of these calls comes back so soon that the largest cache still had it. */
#include "exec/call_cache.h"

#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum {
	CACHE_NEAR = 4,
	HASHED_TENSORS = 4096 /* of longer lists none: their length is not checked yet */
};

/* What the key points to. */
__attribute__((noinline)) static uint64_t hash_of_contents(const struct call_key *key, int n)
{
	uint64_t h = key->options != NULL ? XXH3_64bits(key->options, strlen(key->options)) : 0;

	for (int i = 0; i < KEY_LISTS; i++)
		if (key->lists[i] != NULL)
			h = XXH3_64bits_withSeed(key->lists[i], (size_t)n * sizeof *key->lists[i], h + (uint64_t)i);
	for (size_t i = 0; key->tensors != NULL && key->count <= HASHED_TENSORS && i < key->count; i++) {
		const choir_tensor *t = &key->tensors[i];

		h = hash_spread(h ^ ((uintptr_t)t->send.base + t->send.offset_bytes)) + t->count;
		h = hash_spread(h ^ ((uintptr_t)t->recv.base + t->recv.offset_bytes)) + (uint64_t)t->dtype;
	}
	return h;
}

/* Inline, and of few instructions: each call asks.  Members are read one by one, as the caller has just written them:
 * a load of two stores waits for both. */
static inline uint64_t hash_of(const struct call_key *key, int n)
{
	uint64_t h = (uintptr_t)key->form + 9 * ((uintptr_t)key->send.base + key->send.offset_bytes), factor;

	memcpy(&factor, &key->factor, sizeof factor);
	h = 9 * h + (uintptr_t)key->recv.base + key->recv.offset_bytes + (uint64_t)key->dtype + 8 * (uint64_t)key->op;
	h = 9 * h + key->count + 8 * key->recv_count + (uint64_t)key->peer + 8 * (uint64_t)key->source;
	h += ((uint64_t)key->tag << 20) + (factor >> 32);
	return hash_spread(call_key_is_flat(key) ? h : h + hash_of_contents(key, n));
}

static struct cache_entry *entry(const struct call_cache *cache, uint64_t hash, uint32_t i)
{
	return &cache->entries[((hash >> 32) + i) & cache->last];
}

/* Where the call with that key stands, or could; NULL if other calls stand in all its entries. */
static struct cache_entry *search(const struct choir_comm *comm, const struct call_key *key, uint64_t hash)
{
	for (uint32_t i = 0; i < CACHE_NEAR; i++) {
		struct cache_entry *at = entry(&comm->engine.cache, hash, i);

		if (at->prepared == NULL || (at->hash == hash && call_key_same(&at->prepared->key, key, comm->n)))
			return at;
	}
	return NULL;
}

struct prepared *call_cache_find(struct choir_comm *comm, const struct call_key *key)
{
	uint64_t hash = hash_of(key, comm->n);
	struct cache_entry *at = entry(&comm->engine.cache, hash, 0);

	/* most calls stand in their first entry */
	if (at->prepared == NULL || !call_key_same(&at->prepared->key, key, comm->n)) {
		at = search(comm, key, hash);
		if (at == NULL || at->prepared == NULL)
			return NULL;
	}
	return prepared_is_valid(comm, at->prepared, false) ? at->prepared : NULL;
}

struct prepared *call_cache_serving(const struct choir_comm *comm, const struct call_key *key)
{
	struct prepared *latest = comm->engine.cache.latest;

	return latest != NULL && prepared_serves(comm, latest, key) ? latest : NULL;
}

static struct dropped_call *dropped_at(struct call_cache *cache, uint64_t hash)
{
	return &cache->dropped[(hash >> 32) % PREPARED_MOST];
}

/* Without memory the cache does not grow. */
static void note_dropped(struct call_cache *cache, uint64_t hash)
{
	cache->n_dropped++;
	if (cache->dropped == NULL)
		cache->dropped = calloc(PREPARED_MOST, sizeof *cache->dropped);
	if (cache->dropped != NULL)
		*dropped_at(cache, hash) = (struct dropped_call){ (uint32_t)hash, cache->n_dropped };
}

/* Would the largest cache still have that call? */
static bool comes_back(struct call_cache *cache, uint64_t hash)
{
	return cache->dropped != NULL && dropped_at(cache, hash)->hash == (uint32_t)hash &&
	       cache->n_dropped - dropped_at(cache, hash)->number < PREPARED_MOST;
}

/* In place of the same call, or of another one if there is no empty entry. */
static void put(struct choir_comm *comm, struct prepared *prepared, uint64_t hash)
{
	struct call_cache *cache = &comm->engine.cache;
	struct cache_entry *at = search(comm, &prepared->key, hash);

	if (at == NULL) {
		at = entry(cache, hash, cache->n_dropped % CACHE_NEAR);
		note_dropped(cache, at->hash);
	}
	prepared_release(at->prepared);
	*at = (struct cache_entry){ hash, prepared };
}

/* Without memory the cache stays as it is. */
static void grow(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;
	struct cache_entry *old = cache->entries, *entries;
	uint32_t n = cache->last + 1;

	entries = calloc(2 * (size_t)n, sizeof *entries);
	if (entries == NULL)
		return;
	cache->entries = entries;
	cache->last = 2 * n - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].prepared != NULL)
			put(comm, old[i].prepared, old[i].hash);
	if (old != cache->first)
		free(old);
}

void call_cache_keep(struct choir_comm *comm, struct prepared *prepared)
{
	struct call_cache *cache = &comm->engine.cache;
	uint64_t hash = hash_of(&prepared->key, comm->n);

	if (cache->last + 1 < PREPARED_MOST && comes_back(cache, hash) && search(comm, &prepared->key, hash) == NULL)
		grow(comm);
	put(comm, prepared_retain(prepared), hash);
	prepared_release(cache->latest);
	cache->latest = prepared_retain(prepared);
}

struct prepared *call_cache_like(struct choir_comm *comm, const struct call_key *key)
{
	struct call_cache *cache = &comm->engine.cache;

	for (uint32_t i = 0; i <= cache->last; i++) {
		struct prepared *prepared = cache->entries[i].prepared;

		if (prepared != NULL && prepared->key.form == key->form && prepared->key.dtype == key->dtype &&
		    call_key_same_lists(&prepared->key, key, comm->n))
			return prepared;
	}
	return NULL;
}

void call_cache_init(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;

	cache->entries = cache->first;
	cache->last = PREPARED_FIRST - 1;
}

void call_cache_drop(struct choir_comm *comm)
{
	struct call_cache *cache = &comm->engine.cache;

	for (uint32_t i = 0; cache->entries != NULL && i <= cache->last; i++)
		prepared_release(cache->entries[i].prepared);
	prepared_release(cache->latest);
	if (cache->entries != cache->first)
		free(cache->entries);
	free(cache->dropped);
	memset(cache, 0, sizeof *cache);
	call_cache_init(comm);
}
