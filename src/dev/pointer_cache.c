/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * The destructor callback of a cl_mem runs on a driver's thread or inside clReleaseMemObject, so it takes no lock: it
 * marks its entry dead and drops its reference.  It runs before the driver can reuse the handle, so a lookup skips a
 * dead entry: the same handle is another memory by then.  The next add to a bucket unlinks its dead entries.  No OpenCL
 * call is made with the lock held. */
#include "dev/pointer_cache.h"
#include "dev/dev.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 256

struct entry {
	struct entry *next;
	cl_mem mem;
	void *ptr;
	atomic_bool dead;
	atomic_int refs; /* the list's and the callback's */
};

struct pointer_cache {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
};

static struct entry **bucket_of(struct pointer_cache *cache, cl_mem mem)
{
	uintptr_t bits = (uintptr_t)mem;

	return &cache->buckets[(bits >> 4 ^ bits >> 12) % BUCKETS];
}

static _Atomic uint64_t deaths; /* one counter for all devices: an entry may outlive its device */

void dev_count_death(void)
{
	atomic_fetch_add(&deaths, 1);
}

uint64_t dev_deaths(void)
{
	return atomic_load(&deaths);
}

static void entry_release(struct entry *entry)
{
	if (atomic_fetch_sub(&entry->refs, 1) == 1)
		free(entry);
}

static void CL_CALLBACK memory_died(cl_mem mem, void *ctx)
{
	struct entry *entry = ctx;

	(void)mem;
	atomic_store(&entry->dead, true);
	atomic_fetch_add(&deaths, 1);
	entry_release(entry);
}

struct pointer_cache *pointer_cache_create(void)
{
	struct pointer_cache *cache = calloc(1, sizeof *cache);

	if (cache != NULL)
		pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

void pointer_cache_release(struct pointer_cache *cache)
{
	if (cache == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (cache->buckets[i] != NULL) {
			struct entry *entry = cache->buckets[i];

			cache->buckets[i] = entry->next;
			entry_release(entry);
		}
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* With the lock held. */
static struct entry *find_live(struct pointer_cache *cache, cl_mem mem)
{
	for (struct entry *entry = *bucket_of(cache, mem); entry != NULL; entry = entry->next)
		if (entry->mem == mem && !atomic_load(&entry->dead))
			return entry;
	return NULL;
}

/* With the lock held. */
static void drop_dead(struct entry **link)
{
	while (*link != NULL) {
		struct entry *entry = *link;

		if (!atomic_load(&entry->dead)) {
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		entry_release(entry);
	}
}

void *pointer_cache_find(struct pointer_cache *cache, cl_mem mem)
{
	pthread_mutex_lock(&cache->lock);
	struct entry *entry = find_live(cache, mem);
	void *ptr = entry != NULL ? entry->ptr : NULL;
	pthread_mutex_unlock(&cache->lock);
	return ptr;
}

choir_status pointer_cache_add(struct pointer_cache *cache, cl_mem mem, void *ptr)
{
	struct entry *entry = malloc(sizeof *entry);

	if (entry == NULL)
		return error_no_memory("a cached pointer", sizeof *entry);
	entry->mem = mem;
	entry->ptr = ptr;
	atomic_init(&entry->dead, false);
	atomic_init(&entry->refs, 2);

	pthread_mutex_lock(&cache->lock);
	struct entry **bucket = bucket_of(cache, mem);
	bool raced = find_live(cache, mem) != NULL; /* another thread resolved the same memory */
	if (!raced) {
		drop_dead(bucket);
		entry->next = *bucket;
		*bucket = entry;
	}
	pthread_mutex_unlock(&cache->lock);
	if (raced) {
		free(entry);
		return CHOIR_SUCCESS;
	}

	cl_int rc = clSetMemObjectDestructorCallback(mem, memory_died, entry);
	if (rc != CL_SUCCESS) {
		memory_died(mem, entry);
		return error_cl("clSetMemObjectDestructorCallback", rc);
	}
	return CHOIR_SUCCESS;
}

size_t pointer_cache_count(struct pointer_cache *cache)
{
	size_t n = 0;

	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry *entry = cache->buckets[i]; entry != NULL; entry = entry->next)
			n += !atomic_load(&entry->dead);
	pthread_mutex_unlock(&cache->lock);
	return n;
}
