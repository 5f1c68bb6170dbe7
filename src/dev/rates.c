/* SPDX-License-Identifier: MIT */
/* Note [rates].  A device of class stage whose memory is far is measured when it is created: reads and writes of a few
 * bytes and of 256 KB, from pinned and from pageable memory, and how late a callback is.  Each is the shortest of some
 * tries, since others use the machine too.  No try begins after 4 ms, so that all take 5 ms at most; only the first
 * read and the first write of a few bytes do, since a device without any figure would stay so: devices of one name and
 * driver are measured once in a process. */
#include "dev/rates.h"

#include "base/fork_lock.h"
#include "base/wait.h"
#include "dev/device_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
	SMALL_BYTES = 64,
	LARGE_BYTES = 256 * 1024,
	TRIES = 2,
	BUDGET_NS = 4000000,
	CALLBACK_NS = 500000,
	KEPT = 16 /* devices */
};

struct kept {
	char name[128], driver[128];
	struct device_rates rates;
};

FORK_LOCK(kept_lock)
static struct kept kept[KEPT];
static int n_kept;

struct trial {
	choir_device *device;
	struct dev_access access;
	int tries;
	int64_t end_ns;
	bool failed;
};

/* One copy; its time in us. */
static double copy_us(struct trial *trial, bool reads, void *host, uint64_t bytes)
{
	int64_t start = wait_now_ns();
	choir_status st = reads ? dev_stage_read_now(trial->device, &trial->access, 0, host, bytes)
	                        : dev_stage_write_now(trial->device, &trial->access, 0, host, bytes);

	trial->failed |= st != CHOIR_SUCCESS;
	return (double)(wait_now_ns() - start) / 1000;
}

/* The shortest of some copies; 0 where there was no time for one. */
static double shortest_us(struct trial *trial, bool reads, void *host, uint64_t bytes)
{
	int least = bytes == SMALL_BYTES ? 1 : 0;
	double best = 0;

	for (int i = 0; i < trial->tries && !trial->failed && (i < least || wait_now_ns() < trial->end_ns); i++) {
		double us = copy_us(trial, reads, host, bytes);

		best = best == 0 || us < best ? us : best;
	}
	return best;
}

static double rate_of(struct trial *trial, bool reads, void *host, double small_us)
{
	double us = shortest_us(trial, reads, host, LARGE_BYTES);

	return us > small_us && small_us > 0 ? (LARGE_BYTES - SMALL_BYTES) / (us - small_us) / 1000 : 0;
}

/* Shared with the driver's thread, which may be later than the probe waits. */
struct called {
	_Atomic int refs;
	_Atomic int64_t at_ns;
};

static void leave(struct called *called)
{
	if (atomic_fetch_sub(&called->refs, 1) == 1)
		free(called);
}

static void note_time(void *ctx)
{
	struct called *called = ctx;

	atomic_store(&called->at_ns, wait_now_ns());
	leave(called);
}

static double callback_us(struct trial *trial, void *host)
{
	struct called *called = calloc(1, sizeof *called);
	cl_event event = NULL;
	int64_t seen, now;
	double us = (double)CALLBACK_NS / 1000; /* unless it comes */

	if (called == NULL)
		return 0;
	atomic_init(&called->refs, 2);
	if (dev_stage_write(trial->device, &trial->access, 0, host, SMALL_BYTES, &event) != CHOIR_SUCCESS ||
	    dev_watch(event, note_time, called) != CHOIR_SUCCESS) {
		leave(called);
		(void)dev_wait(&event);
		leave(called);
		return 0;
	}
	(void)dev_wait(&event);
	seen = now = wait_now_ns();
	while (atomic_load(&called->at_ns) == 0 && now - seen < CALLBACK_NS) {
		wait_yield();
		now = wait_now_ns();
	}
	if (atomic_load(&called->at_ns) != 0)
		us = (double)(atomic_load(&called->at_ns) - seen) / 1000;
	leave(called);
	return us > 0.001 ? us : 0.001; /* the callback came first */
}

/* The first one may start the driver's thread for it. */
static double shortest_callback_us(struct trial *trial, void *host)
{
	double best = 0;

	for (int i = 0; i < trial->tries && !trial->failed && wait_now_ns() < trial->end_ns; i++) {
		double us = callback_us(trial, host);

		best = best == 0 || (us > 0 && us < best) ? us : best;
	}
	return best;
}

static void measure_on(struct trial *trial, void *pinned, void *pageable, struct device_rates *out)
{
	out->read_us = shortest_us(trial, true, pinned, SMALL_BYTES);
	out->write_us = shortest_us(trial, false, pinned, SMALL_BYTES);
	out->callback_us = shortest_callback_us(trial, pinned);
	out->read_GBps = rate_of(trial, true, pinned, out->read_us);
	out->write_GBps = rate_of(trial, false, pinned, out->write_us);
	out->pageable_read_GBps = rate_of(trial, true, pageable, out->read_us);
	out->pageable_write_GBps = rate_of(trial, false, pageable, out->write_us);
	out->measured = !trial->failed;
}

void rates_measure(choir_device *device, int tries, int64_t budget_ns, struct device_rates *out)
{
	struct trial trial = { .device = device, .tries = tries, .end_ns = wait_now_ns() + budget_ns };
	struct dev_memory pinned = { .ptr = NULL };
	void *pageable = calloc(1, LARGE_BYTES);
	cl_mem mem = NULL;

	*out = (struct device_rates){ .measured = false };
	if (pageable != NULL && dev_memory_create(device, LARGE_BYTES, &pinned) == CHOIR_SUCCESS &&
	    dev_buffer_create(device, LARGE_BYTES, &mem) == CHOIR_SUCCESS) {
		memset(pinned.ptr, 0, LARGE_BYTES);
		trial.access = dev_buffer_access(mem, 0, LARGE_BYTES);
		measure_on(&trial, pinned.ptr, pageable, out);
	}
	dev_buffer_free(mem);
	dev_memory_free(device, &pinned);
	free(pageable);
}

static struct kept *find(const struct device_facts *facts)
{
	for (int i = 0; i < n_kept; i++)
		if (strcmp(kept[i].name, facts->name) == 0 && strcmp(kept[i].driver, facts->driver) == 0)
			return &kept[i];
	return NULL;
}

void rates_learn(choir_device *device, struct device_rates *out)
{
	const struct device_facts *facts = &device->facts;
	struct kept *known;

	pthread_mutex_lock(&kept_lock); /* also while measuring: two at once would measure each other */
	known = find(facts);
	if (known != NULL) {
		*out = known->rates;
	} else {
		rates_measure(device, TRIES, BUDGET_NS, out);
		if (out->measured && n_kept < KEPT) {
			memcpy(kept[n_kept].name, facts->name, sizeof facts->name);
			memcpy(kept[n_kept].driver, facts->driver, sizeof facts->driver);
			kept[n_kept++].rates = *out;
		}
	}
	pthread_mutex_unlock(&kept_lock);
}
