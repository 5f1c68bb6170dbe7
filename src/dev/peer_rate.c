/* SPDX-License-Identifier: MIT */
/* Note [peer rates].  What lies between two devices of a context is not told by OpenCL: a link of their own, the bus,
 * or a driver that copies by way of the host.  So a copy is timed, from memory that the other device has just written,
 * as a peer's buffer is: some drivers move a whole buffer to the device that reads it, and the next copy would cross
 * nothing.  The time of a short command is taken off as the probe measured it on the bus.  Two devices are measured
 * once in a process, in each direction, by the first comm that has both. */
#include "dev/device_impl.h"

#include "base/fork_lock.h"
#include "base/wait.h"

enum { BYTES = 2 * 1024 * 1024, TRIES = 3, MOST_PERCENT = 100000, KEPT = 64 /* pairs of devices */ };

struct pair {
	cl_device_id to, from;
	unsigned percent;
};

FORK_LOCK(pairs_lock)
static struct pair pairs[KEPT];
static int n_pairs;

/* The shortest of some copies, in us; 0 after an error. */
static double copy_us(choir_device *to, cl_mem into, choir_device *from, cl_mem out_of)
{
	double least = 0;

	for (int i = 0; i < TRIES; i++) {
		cl_event event = NULL;
		int64_t start;
		double us;

		if (dev_fill_zero(from, out_of, 0, BYTES, 4, &event) != CHOIR_SUCCESS ||
		    dev_wait(&event) != CHOIR_SUCCESS)
			return 0;
		start = wait_now_ns();
		if (dev_copy(to, (struct dev_bytes){ .mem = into }, (struct dev_bytes){ .mem = out_of }, BYTES,
		             &event) != CHOIR_SUCCESS ||
		    dev_wait(&event) != CHOIR_SUCCESS)
			return 0;
		us = (double)(wait_now_ns() - start) / 1000;
		least = i == 0 || us < least ? us : least;
	}
	return least;
}

static unsigned measure(choir_device *to, choir_device *from)
{
	const struct device_rates *bus = &to->rates;
	double GBps = bus->read_GBps < bus->write_GBps ? bus->read_GBps : bus->write_GBps, us = 0, percent;
	cl_mem into = NULL, out_of = NULL;

	if (!bus->measured || GBps <= 0)
		return 0;
	if (dev_buffer_create(from, BYTES, &out_of) == CHOIR_SUCCESS &&
	    dev_buffer_create(to, BYTES, &into) == CHOIR_SUCCESS) {
		dev_buffer_place(to, into);
		us = copy_us(to, into, from, out_of);
	}
	dev_buffer_free(into);
	dev_buffer_free(out_of);
	if (us <= 0)
		return 0;
	us = us > 2 * bus->read_us ? us - bus->read_us : us / 2;
	percent = 100 * us / (BYTES / GBps / 1000);
	return percent < 1 ? 1 : percent > MOST_PERCENT ? MOST_PERCENT : (unsigned)percent;
}

static const struct pair *find(cl_device_id to, cl_device_id from)
{
	for (int i = 0; i < n_pairs; i++)
		if (pairs[i].to == to && pairs[i].from == from)
			return &pairs[i];
	return NULL;
}

unsigned dev_peer_percent(choir_device *to, choir_device *from)
{
	const struct pair *known;
	unsigned percent;

	if (!dev_has_far_memory(to) || !dev_has_far_memory(from))
		return 0;
	pthread_mutex_lock(&pairs_lock); /* also while measuring: two at once would measure each other */
	known = find(to->id, from->id);
	percent = known != NULL ? known->percent : measure(to, from);
	if (known == NULL && percent > 0 && n_pairs < KEPT)
		pairs[n_pairs++] = (struct pair){ to->id, from->id, percent };
	pthread_mutex_unlock(&pairs_lock);
	return percent;
}
