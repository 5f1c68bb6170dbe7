/* SPDX-License-Identifier: MIT */
#include "exec/plan_cache.h"

#include "base/arithmetic.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

choir_status plan_cache_init(struct plan_cache *cache)
{
	memset(cache, 0, sizeof *cache);
	if (pthread_mutex_init(&cache->lock, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for a plan cache");
	return CHOIR_SUCCESS;
}

void plan_cache_fini(struct plan_cache *cache)
{
	for (size_t i = 0; i < PLAN_CACHE_ENTRIES; i++)
		cached_plan_release(cache->entries[i]);
	pthread_mutex_destroy(&cache->lock);
}

void cached_plan_release(struct cached_plan *plan)
{
	if (plan == NULL || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
		return;
	plan_fini(&plan->plan);
	free(plan->lists);
	free(plan);
}

choir_status cached_plan_wrap(struct plan *plan, struct cached_plan **out_p)
{
	struct cached_plan *wrapped = calloc(1, sizeof *wrapped);

	if (wrapped == NULL)
		return error_no_memory("a plan", sizeof *wrapped);
	atomic_init(&wrapped->refs, 1);
	wrapped->plan = *plan;
	memset(plan, 0, sizeof *plan);
	*out_p = wrapped;
	return CHOIR_SUCCESS;
}

enum { MOST_NUMBERS = 4096 };

/* The lists of a v-collective. */
struct lists {
	struct {
		const uint64_t *numbers;
		size_t n;
	} each[PLAN_LISTS];
	size_t n; /* numbers in all */
};

/* In the order of cached_plan_lists. */
static void lists_of(const struct algo_in *in, struct lists *lists)
{
	size_t n = (size_t)in->layout->n, pairs = collective_of_pairs(in->collective) ? n * n : n;

	*lists = (struct lists){ .each = { { in->block_bytes, pairs },
		                           { in->block_off, n },
		                           { in->send_off, pairs },
		                           { in->recv_off, n },
		                           { in->to_bytes, n },
		                           { in->from_bytes, n } } };
	for (size_t i = 0; i < PLAN_LISTS; i++)
		lists->n += lists->each[i].numbers != NULL ? lists->each[i].n : 0;
}

/* Which lists there are counts too. */
static uint64_t hash_lists(const struct lists *lists)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < PLAN_LISTS; i++)
		hash = lists->each[i].numbers == NULL
		           ? hash + 1
		           : XXH64(lists->each[i].numbers, lists->each[i].n * sizeof(uint64_t), hash);
	return hash;
}

static bool same_list(const uint64_t *a, const uint64_t *b, size_t n)
{
	if (a == NULL || b == NULL)
		return a == b;
	return memcmp(a, b, n * sizeof *a) == 0;
}

/* Equal hashes do not suffice: the same bytes? */
static bool same_lists(const struct lists *lists, const struct cached_plan *plan)
{
	if (lists->n == 0)
		return plan->lists == NULL;
	for (size_t i = 0; i < PLAN_LISTS; i++)
		if (!same_list(lists->each[i].numbers, plan->each[i], lists->each[i].n))
			return false;
	return true;
}

void cached_plan_lists(const struct cached_plan *plan, struct algo_in *in)
{
	in->block_bytes = plan->each[0];
	in->block_off = plan->each[1];
	in->send_off = plan->each[2];
	in->recv_off = plan->each[3];
	in->to_bytes = plan->each[4];
	in->from_bytes = plan->each[5];
}

static choir_status keep_lists(const struct lists *lists, struct cached_plan *plan)
{
	uint64_t *at;

	if (lists->n == 0)
		return CHOIR_SUCCESS;
	at = malloc(lists->n * sizeof *at);
	if (at == NULL)
		return error_no_memory("a plan's lists", lists->n * sizeof *at);
	plan->lists = at;
	for (size_t i = 0; i < PLAN_LISTS; i++) {
		if (lists->each[i].numbers == NULL)
			continue;
		memcpy(at, lists->each[i].numbers, lists->each[i].n * sizeof *at);
		plan->each[i] = at;
		at += lists->each[i].n;
	}
	return CHOIR_SUCCESS;
}

static void key_of(const struct algorithm *algorithm, const struct algo_in *in, struct plan_key *key)
{
	memset(key, 0, sizeof *key);
	key->algorithm = algorithm;
	key->elem_bytes = in->elem_bytes;
	key->bytes = in->bytes;
	key->in_place_off = in->in_place_off;
	key->slot_bytes = in->slot_bytes;
	key->device_bytes = in->device_bytes;
	key->message_bytes = in->message_bytes;
	key->command_bytes = in->command_bytes;
	key->core_cache_bytes = in->core_cache_bytes;
	key->root = in->root;
	key->in_place = in->in_place;
	key->lists = in->lists > 0;
	key->send_direct = in->send_direct;
	key->recv_direct = in->recv_direct;
	key->owns_copied = in->owns_copied;
	key->owns_reduced = in->owns_reduced;
	key->final_op = in->final_op;
	key->shared = in->shared;
	key->nt = in->nt;
	key->scaled = in->scaled;
	key->order = in->order;
	key->chunk_bytes = in->chunk_bytes;
}

static size_t hash_slot(const struct plan_key *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key->algorithm / sizeof(struct algorithm);

	h = hash_spread(h) + key->bytes;
	h = hash_spread(h) + key->lists_hash + key->chunk_bytes + key->order;
	h = hash_spread(h) + key->elem_bytes + ((uint64_t)key->root << 8) + key->in_place + 2u * key->send_direct +
	    4u * key->recv_direct;
	return (hash_spread(h) >> 32) % PLAN_CACHE_ENTRIES;
}

/* The products stand in scratch of their own, out of place and within the host's reach, whatever SEND is. */
static choir_status build_scaled(const struct algorithm *algorithm, const struct algo_in *in, struct plan *plan)
{
	struct algo_in own = *in;
	bool whole = in->block_bytes != NULL || !collective_sends_blocks(in->collective);
	uint64_t blocks = whole ? 1 : (uint64_t)in->layout->n;

	plan_scale(plan, in->bytes * blocks, in->send_direct);
	own.send_direct = true;
	own.owns_copied = own.owns_reduced = false;
	own.in_place = false;
	own.in_place_off = 0;
	return algorithm->build(&own, plan);
}

static choir_status build(const struct algorithm *algorithm, const struct algo_in *in, const struct plan_key *key,
                          const struct lists *lists, struct cached_plan **out_p)
{
	struct cached_plan *wrapped = NULL;
	struct plan plan;
	choir_status st;

	plan_init(&plan, algorithm->name, in->elem_bytes);
	st = in->scaled && !algorithm->on_device ? build_scaled(algorithm, in, &plan) : algorithm->build(in, &plan);
	if (st == CHOIR_SUCCESS)
		st = cached_plan_wrap(&plan, &wrapped);
	if (st == CHOIR_SUCCESS)
		st = keep_lists(lists, wrapped);
	if (st != CHOIR_SUCCESS) {
		cached_plan_release(wrapped);
		plan_fini(&plan);
		return st;
	}
	wrapped->key = *key;
	*out_p = wrapped;
	return CHOIR_SUCCESS;
}

choir_status plan_cache_get(struct plan_cache *cache, const struct algorithm *algorithm, const struct algo_in *in,
                            struct cached_plan **out_p)
{
	struct plan_key key;
	struct cached_plan *found, *old;
	struct lists lists;
	size_t slot;

	key_of(algorithm, in, &key);
	lists_of(in, &lists);
	if (cache == NULL || lists.n > MOST_NUMBERS)
		return build(algorithm, in, &key, &lists, out_p);
	key.lists_hash = lists.n > 0 ? hash_lists(&lists) : 0;
	slot = hash_slot(&key);
	pthread_mutex_lock(&cache->lock);
	found = cache->entries[slot];
	if (found != NULL && memcmp(&found->key, &key, sizeof key) == 0 && same_lists(&lists, found)) {
		atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
		pthread_mutex_unlock(&cache->lock);
		*out_p = found;
		return CHOIR_SUCCESS;
	}
	pthread_mutex_unlock(&cache->lock);
	TRY(build(algorithm, in, &key, &lists, &found));
	atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
	pthread_mutex_lock(&cache->lock);
	old = cache->entries[slot];
	cache->entries[slot] = found;
	pthread_mutex_unlock(&cache->lock);
	cached_plan_release(old);
	*out_p = found;
	return CHOIR_SUCCESS;
}
