/* SPDX-License-Identifier: MIT */
/* Note [bell].  A ringer publishes its work, executes a full fence and reads who sleeps.  A sleeper adds itself there,
 * executes a full fence and checks for work once more.  So at least one of the two sees the other (Dekker's algorithm),
 * and no sleeper misses a ring.  Where the kernel has membarrier the sleeper makes every ringing process execute the
 * fence and ringers need none: a fence after a store to a line that other cores hold costs as much as the store.
 * Linux leaves out a core that ran a process before it registered for that and nothing else since, so only a process
 * that is bound to one core, on which it registers, rings without a fence.  A ringer that sees a sleeper raises the
 * count, which is the futex word, and wakes all sleepers.  A sleeper that read the count before does not fall asleep;
 * one that reads it afterwards does so by an acquire load, so its last check sees the work.  It reads the count before
 * it adds itself: a ringer that saw an earlier sleeper may set RUNG only now, and later ringers then leave the waking
 * to its count.
 * Where ranks outnumber cores sleeping is common, and a membarrier interrupts every core: there ringers fence.
 *
 * Note [sleepers].  One word says who sleeps: the number of threads, RUNG once a ringer is about to wake them, so that
 * the next ones need not, and, by its pid, the process whose steps alone can end the sleep.  Arming takes RUNG away, so
 * a ringer that still sees it has published before the sleeper's last check.  Where ranks outnumber cores most of them
 * sleep, and without the two each step of a rank would cost a system call a peer, and wake ranks that still wait for
 * others.
 *
 * The ringers' fences are seq_cst.  ThreadSanitizer does not support fences; under it a read-modify-write reads the
 * number of sleepers, which gives the same order but moves the cache line.
 *
 * A forked child shares its parent's page, so it makes a bell of its own at the next use; the parent's stays mapped and
 * is not used. */
#include "node/bell.h"

#include "base/error.h"
#include "node/arena.h"
#include "node/cache.h"
#include "node/process_id.h"
#include "node/shared.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define NO_FENCES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_FENCES 1
#endif
#endif
#ifndef NO_FENCES
#define NO_FENCES 0
#endif

#define AWAITED_SHIFT 32
#define RUNG          (UINT64_C(1) << (AWAITED_SHIFT - 1))
#define SLEEPERS      (RUNG - 1)
_Static_assert(SLEEPERS >= 1 << 22, "Linux has no more threads than that");

struct bell_page {
	struct shared_head head;
	_Alignas(64) _Atomic uint32_t count;    /* the futex */
	_Alignas(64) _Atomic uint64_t sleepers; /* Note [sleepers] */
	_Atomic bool fences_others;             /* its sleepers call membarrier */
};

struct bell {
	struct bell *next;
	struct bell_page *page;
	struct shared_map map;
	int64_t process; /* process_id.h */
	int watch;       /* on it, see arena.h; -1 = none */
	int refs;        /* under shared_lock */
	unsigned forks;  /* shared_forks() when it was made */
	bool mine;
};

static const char bell_name[] = "choir-bell";

static struct bell *_Atomic mine;
static struct bell *open_bells; /* under shared_lock; mine is not among them */

static _Atomic unsigned fenced_by_others; /* 1 + shared_forks() when this process was registered; 0 = never */

/* With all its threads. */
static bool is_bound_to_one_core(void)
{
	hwloc_bitmap_t cores = cache_machine() != NULL ? hwloc_bitmap_alloc() : NULL;
	bool is_one = cores != NULL && hwloc_get_cpubind(cache_machine(), cores, HWLOC_CPUBIND_PROCESS) == 0 &&
	              hwloc_bitmap_weight(cores) == 1;

	hwloc_bitmap_free(cores);
	return is_one;
}

/* Registers this process, a forked one again, for the membarrier of other processes' sleepers. */
static bool register_process(void)
{
	if (NO_FENCES || !is_bound_to_one_core() ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0 ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)
		return false;
	atomic_store_explicit(&fenced_by_others, shared_forks() + 1, memory_order_relaxed);
	return true;
}

static struct bell *make_mine(void)
{
	struct bell *bell = calloc(1, sizeof *bell);

	if (bell == NULL) {
		error_no_memory("a bell", sizeof *bell);
		return NULL;
	}
	if (shared_make(bell_name, sizeof(struct bell_page), &bell->map) != CHOIR_SUCCESS) {
		free(bell);
		return NULL;
	}
	bell->page = bell->map.base;
	bell->page->fences_others = register_process();
	bell->watch = -1;
	bell->process = process_id();
	bell->forks = shared_forks();
	bell->mine = true;
	/* The parent's bell stays reachable after a fork, so that leak checkers report no leak. */
	bell->next = atomic_load_explicit(&mine, memory_order_relaxed);
	atomic_store_explicit(&mine, bell, memory_order_release);
	return bell;
}

struct bell *bell_mine(void)
{
	struct bell *bell = atomic_load_explicit(&mine, memory_order_acquire);

	if (bell != NULL && bell->forks == shared_forks())
		return bell;
	shared_lock();
	bell = atomic_load_explicit(&mine, memory_order_relaxed);
	if (bell == NULL || bell->forks != shared_forks())
		bell = make_mine();
	shared_unlock();
	return bell;
}

choir_status bell_mine_address(struct bell_address *out)
{
	const struct bell *bell = bell_mine();

	if (bell == NULL)
		return CHOIR_NO_MEMORY; /* make_mine has set the sentence */
	*out = (struct bell_address){ .process = bell->process, .fd = bell->map.fd, .nonce = bell->map.nonce };
	return CHOIR_SUCCESS;
}

static choir_status open_new(const struct bell_address *address, struct bell **out_p)
{
	struct bell *bell = calloc(1, sizeof *bell);
	choir_status st;

	if (bell == NULL)
		return error_no_memory("a bell", sizeof *bell);
	st =
	    shared_find(bell_name, address->process, address->fd, address->nonce, sizeof(struct bell_page), &bell->map);
	if (st != CHOIR_SUCCESS) {
		free(bell);
		return st;
	}
	bell->page = bell->map.base;
	bell->watch = peer_watch_open(address->process);
	bell->process = address->process;
	bell->refs = 1;
	bell->next = open_bells;
	open_bells = bell;
	*out_p = bell;
	return CHOIR_SUCCESS;
}

choir_status bell_open(const struct bell_address *address, struct bell **out_p)
{
	struct bell *own = bell_mine(), *bell;
	choir_status st = CHOIR_SUCCESS;

	if (own != NULL && own->map.nonce == address->nonce && own->process == address->process) {
		*out_p = own;
		return CHOIR_SUCCESS;
	}
	shared_lock();
	for (bell = open_bells; bell != NULL; bell = bell->next)
		if (bell->map.nonce == address->nonce && bell->process == address->process)
			break;
	if (bell != NULL) {
		bell->refs++;
		*out_p = bell;
	} else {
		st = open_new(address, out_p);
	}
	shared_unlock();
	return st;
}

void bell_close(struct bell *bell)
{
	if (bell == NULL || bell->mine)
		return;
	shared_lock();
	if (--bell->refs == 0) {
		struct bell **at = &open_bells;

		while (*at != bell)
			at = &(*at)->next;
		*at = bell->next;
		peer_watch_close(bell->watch);
		shared_drop(&bell->map);
		free(bell);
	}
	shared_unlock();
}

bool bell_is_orphan(const struct bell *bell)
{
	return peer_watch_dead(bell->watch);
}

static bool fences_others(const struct bell_page *page)
{
	return atomic_load_explicit(&page->fences_others, memory_order_relaxed);
}

/* A ringer that read the flag before the membarrier has published before it: the next sleeper's last check sees that.
 */
void bell_leave_fences_to_ringers(struct bell *bell)
{
	if (!fences_others(bell->page))
		return;
	atomic_store(&bell->page->fences_others, false);
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); /* cannot fail once registered */
}

static uint64_t sleepers_after_fence(struct bell_page *page)
{
#if NO_FENCES
	return atomic_fetch_add(&page->sleepers, 0);
#else
	if (fences_others(page) && atomic_load_explicit(&fenced_by_others, memory_order_relaxed) == shared_forks() + 1)
		atomic_signal_fence(memory_order_seq_cst); /* the compiler's; the sleeper's membarrier fences the CPU */
	else
		atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&page->sleepers, memory_order_relaxed);
#endif
}

static void wake(struct bell_page *page)
{
	int saved = errno; /* for callers in signal handlers */

	atomic_fetch_or_explicit(&page->sleepers, RUNG, memory_order_seq_cst);
	atomic_fetch_add_explicit(&page->count, 1, memory_order_seq_cst);
	/* Not FUTEX_PRIVATE: the sleepers may be threads of another process. */
	syscall(SYS_futex, (uint32_t *)&page->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

static bool is_asleep(uint64_t sleepers)
{
	return (sleepers & SLEEPERS) != 0 && (sleepers & RUNG) == 0;
}

void bell_ring(struct bell *bell)
{
	if (is_asleep(sleepers_after_fence(bell->page)))
		wake(bell->page);
}

/* A bell that is made after the second look is armed after it too, and its thread then finds what the ringer did. */
void bell_ring_mine(void)
{
	struct bell *bell = atomic_load_explicit(&mine, memory_order_acquire);

	if (bell == NULL || bell->forks != shared_forks()) {
		atomic_thread_fence(memory_order_seq_cst);
		bell = atomic_load_explicit(&mine, memory_order_acquire);
	}
	if (bell != NULL && bell->forks == shared_forks())
		bell_ring(bell);
}

void bell_ring_step(struct bell *bell, int64_t process)
{
	uint64_t sleepers = sleepers_after_fence(bell->page), awaited = sleepers >> AWAITED_SHIFT;

	if (is_asleep(sleepers) && (awaited == BELL_ANY || awaited == (uint32_t)process))
		wake(bell->page);
}

uint32_t bell_arm(struct bell *bell, int64_t awaited)
{
	struct bell_page *page = bell->page;
	uint32_t seen = atomic_load_explicit(&page->count, memory_order_acquire);
	uint64_t old = atomic_load_explicit(&page->sleepers, memory_order_relaxed), now;

	do { /* threads that sleep together wait for any process */
		now = (old & SLEEPERS) + 1;
		if (now == 1)
			now |= (uint64_t)awaited << AWAITED_SHIFT;
	} while (!atomic_compare_exchange_weak(&page->sleepers, &old, now));
#if !NO_FENCES
	atomic_thread_fence(memory_order_seq_cst);
	if (fences_others(page))
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); /* cannot fail once registered */
#endif
	return seen;
}

void bell_disarm(struct bell *bell)
{
	struct bell_page *page = bell->page;
	uint64_t old = atomic_load_explicit(&page->sleepers, memory_order_relaxed), now;

	do
		now = (old & SLEEPERS) == 1 ? 0 : old - 1;
	while (!atomic_compare_exchange_weak_explicit(&page->sleepers, &old, now, memory_order_release,
	                                              memory_order_relaxed));
}

void bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us)
{
	struct timespec limit = { .tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000 };

	syscall(SYS_futex, (uint32_t *)&bell->page->count, FUTEX_WAIT, seen, timeout_us < 0 ? NULL : &limit, NULL, 0);
	bell_disarm(bell);
}
