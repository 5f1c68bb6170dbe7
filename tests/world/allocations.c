/* SPDX-License-Identifier: MIT */
#include "world/allocations.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 1 << 16 };

struct allocation {
	void *ptr;
	const void *site;
	unsigned number;
};

static struct allocation table[ROOM]; /* by address: the next free place behind its own */
static size_t live;
static unsigned number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint made, fails_at;
static _Atomic(const void *) failed_site;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **ptr_p, size_t align, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *ptr);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **ptr_p, size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *ptr);

static size_t place_of(const void *ptr)
{
	return (size_t)((uintptr_t)ptr / 16 * UINT64_C(0x9E3779B97F4A7C15) >> 48) % ROOM;
}

static void *note(void *ptr, const void *site)
{
	size_t at = place_of(ptr);

	if (ptr == NULL)
		return NULL;
	pthread_mutex_lock(&lock);
	while (live + 1 < ROOM && table[at].ptr != NULL)
		at = (at + 1) % ROOM;
	if (live + 1 < ROOM) {
		table[at] = (struct allocation){ ptr, site, ++number };
		live++;
	}
	pthread_mutex_unlock(&lock);
	return ptr;
}

/* What follows the gap moves up, so that it is still found. */
static void close_gap(size_t gap)
{
	for (size_t at = (gap + 1) % ROOM; table[at].ptr != NULL; at = (at + 1) % ROOM) {
		size_t home = place_of(table[at].ptr);

		if ((at - home) % ROOM < (at - gap) % ROOM)
			continue;
		table[gap] = table[at];
		gap = at;
	}
	table[gap].ptr = NULL;
}

static void forget(const void *ptr)
{
	size_t at = place_of(ptr);

	pthread_mutex_lock(&lock);
	while (table[at].ptr != NULL && table[at].ptr != ptr)
		at = (at + 1) % ROOM;
	if (ptr != NULL && table[at].ptr == ptr) {
		close_gap(at);
		live--;
	}
	pthread_mutex_unlock(&lock);
}

static bool fails(const void *site)
{
	if (atomic_fetch_add(&made, 1) + 1 != atomic_load(&fails_at))
		return false;
	atomic_store(&failed_site, site);
	errno = ENOMEM;
	return true;
}

#define SITE __builtin_return_address(0)

void *__wrap_malloc(size_t bytes)
{
	return fails(SITE) ? NULL : note(__real_malloc(bytes), SITE);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails(SITE) ? NULL : note(__real_calloc(n, bytes), SITE);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	if (fails(SITE))
		return NULL;
	forget(ptr);
	return note(__real_realloc(ptr, bytes), SITE);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return fails(SITE) ? NULL : note(__real_aligned_alloc(align, bytes), SITE);
}

int __wrap_posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
	int rc = fails(SITE) ? ENOMEM : __real_posix_memalign(ptr_p, align, bytes);

	if (rc == 0)
		(void)note(*ptr_p, SITE);
	return rc;
}

char *__wrap_strdup(const char *text)
{
	return fails(SITE) ? NULL : note(__real_strdup(text), SITE);
}

void __wrap_free(void *ptr)
{
	forget(ptr);
	__real_free(ptr);
}

void allocations_fail(unsigned k)
{
	atomic_store(&failed_site, NULL);
	atomic_store(&made, 0);
	atomic_store(&fails_at, k);
}

void allocations_stop(void)
{
	atomic_store(&fails_at, 0);
}

bool allocations_failed(const void **site_p)
{
	*site_p = atomic_load(&failed_site);
	return *site_p != NULL;
}

unsigned allocations_made(void)
{
	return atomic_load(&made);
}

size_t allocations_live(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = live;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned allocations_mark(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = number;
	pthread_mutex_unlock(&lock);
	return n;
}

const void *allocations_since(unsigned mark)
{
	const void *site = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < ROOM && site == NULL; i++)
		if (table[i].ptr != NULL && table[i].number > mark)
			site = table[i].site;
	pthread_mutex_unlock(&lock);
	return site;
}
