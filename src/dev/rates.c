/* SPDX-License-Identifier: MIT */
/* Note [rates].  A device of class stage whose memory is far is measured when it is created: reads and writes of a few
 * bytes and of 256 KB, from pinned and from pageable memory, and how late a callback is.  Each is the shortest of some
 * tries, since others use the machine too; the tries go in turn, so that none lacks for the second try of another.  A
 * driver's first map and first commands may take longer than all of them, so one read and one write go before the clock
 * starts.  No try begins 4 ms after that, so that tries of up to 1 ms take 5 ms at most; only the first read and the
 * first write of a few bytes do, since a device without any figure would stay so.  Devices of one name and driver are
 * measured once in a process, but anew with each device while a figure lacks. */
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

enum { SHORT_READ, SHORT_WRITE, LONG_READ, LONG_WRITE, CALLBACK, PAGEABLE_READ, PAGEABLE_WRITE, FIGURES };
enum { TRIED_IN_ANY_CASE = 2 /* the first of these */ };

struct trial {
	choir_device *device;
	struct dev_access access;
	void *pinned, *pageable;
	double us[FIGURES]; /* 0: there was no time for it */
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

/* A long copy that took no longer than a short one has at least the rate of its whole time. */
static double rate_of(const struct trial *trial, int figure, int short_figure)
{
	double us = trial->us[figure], short_us = trial->us[short_figure];

	if (us <= 0)
		return 0;
	return us > short_us ? (LARGE_BYTES - SMALL_BYTES) / (us - short_us) / 1000 : LARGE_BYTES / us / 1000;
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
	struct wait wait = { 0 };
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
		wait_command(&wait, dev_is_cpu(trial->device));
		now = wait_now_ns();
	}
	if (atomic_load(&called->at_ns) != 0)
		us = (double)(atomic_load(&called->at_ns) - seen) / 1000;
	leave(called);
	return us > 0.001 ? us : 0.001; /* the callback came first */
}

/* A driver's first callback may start its thread for them. */
static double try_us(struct trial *trial, int figure)
{
	switch (figure) {
	case SHORT_READ:
	case SHORT_WRITE:
		return copy_us(trial, figure == SHORT_READ, trial->pinned, SMALL_BYTES);
	case LONG_READ:
	case LONG_WRITE:
		return copy_us(trial, figure == LONG_READ, trial->pinned, LARGE_BYTES);
	case CALLBACK:
		return callback_us(trial, trial->pinned);
	default:
		return copy_us(trial, figure == PAGEABLE_READ, trial->pageable, LARGE_BYTES);
	}
}

static void try_in_turn(struct trial *trial, int tries, int64_t end_ns)
{
	for (int i = 0; i < tries * FIGURES && !trial->failed; i++) {
		double *best = &trial->us[i % FIGURES];

		if (i >= TRIED_IN_ANY_CASE && wait_now_ns() >= end_ns)
			return;
		double us = try_us(trial, i % FIGURES);
		*best = *best == 0 || (us > 0 && us < *best) ? us : *best;
	}
}

static void measure_on(struct trial *trial, int tries, int64_t budget_ns, struct device_rates *out)
{
	(void)copy_us(trial, true, trial->pinned, SMALL_BYTES);
	(void)copy_us(trial, false, trial->pinned, SMALL_BYTES);
	try_in_turn(trial, tries, wait_now_ns() + budget_ns);
	*out = (struct device_rates){ .measured = !trial->failed,
		                      .read_us = trial->us[SHORT_READ],
		                      .write_us = trial->us[SHORT_WRITE],
		                      .read_GBps = rate_of(trial, LONG_READ, SHORT_READ),
		                      .write_GBps = rate_of(trial, LONG_WRITE, SHORT_WRITE),
		                      .pageable_read_GBps = rate_of(trial, PAGEABLE_READ, SHORT_READ),
		                      .pageable_write_GBps = rate_of(trial, PAGEABLE_WRITE, SHORT_WRITE),
		                      .callback_us = trial->us[CALLBACK] };
}

void rates_measure(choir_device *device, int tries, int64_t budget_ns, struct device_rates *out)
{
	struct trial trial = { .device = device, .pageable = calloc(1, LARGE_BYTES) };
	struct dev_memory pinned = { .ptr = NULL };
	cl_mem mem = NULL;

	*out = (struct device_rates){ .measured = false };
	if (trial.pageable != NULL && dev_memory_create(device, LARGE_BYTES, &pinned) == CHOIR_SUCCESS &&
	    dev_buffer_create(device, LARGE_BYTES, &mem) == CHOIR_SUCCESS) {
		memset(pinned.ptr, 0, LARGE_BYTES);
		trial.pinned = pinned.ptr;
		trial.access = dev_buffer_access(mem, 0, LARGE_BYTES);
		measure_on(&trial, tries, budget_ns, out);
	}
	dev_buffer_free(mem);
	dev_memory_free(device, &pinned);
	free(trial.pageable);
}

static bool are_complete(const struct device_rates *r)
{
	return r->measured && r->read_us > 0 && r->write_us > 0 && r->read_GBps > 0 && r->write_GBps > 0 &&
	       r->pageable_read_GBps > 0 && r->pageable_write_GBps > 0 && r->callback_us > 0;
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
		if (are_complete(out) && n_kept < KEPT) {
			memcpy(kept[n_kept].name, facts->name, sizeof facts->name);
			memcpy(kept[n_kept].driver, facts->driver, sizeof facts->driver);
			kept[n_kept++].rates = *out;
		}
	}
	pthread_mutex_unlock(&kept_lock);
}
