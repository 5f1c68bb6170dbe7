/* SPDX-License-Identifier: MIT */
/* Note [peer rates].  What lies between two devices of a context is not told by OpenCL: a link of their own, the bus,
 * or a driver that copies by way of the host.  So a copy is timed, from memory that the other device has just written,
 * as a peer's buffer is: some drivers move a whole buffer to the device that reads it, and the next copy would cross
 * nothing.  The time of a short command is taken off as the probe measured it on the bus.  Nothing is kept: devices
 * that were at work are measured anew by the next comm. */
#include "dev/device_impl.h"

#include "base/kept_error.h"
#include "base/wait.h"

enum { BYTES = 2 * 1024 * 1024, TRIES = 3, MOST_PERCENT = 100000 };

struct link {
	choir_device *to, *from;
	cl_mem into, out_of;
	int64_t until_ns;
};

/* One copy, in us; 0: it failed, or was not over in time. */
static double copy_us(const struct link *link)
{
	struct dev_bytes to = { .mem = link->into }, from = { .mem = link->out_of };
	cl_event event = NULL;
	int64_t start;

	if (dev_fill_zero(link->from, link->out_of, 0, BYTES, 4, &event) != CHOIR_SUCCESS ||
	    !dev_ends_by(link->to, event, link->until_ns))
		return 0;
	start = wait_now_ns();
	if (dev_copy(link->to, to, from, BYTES, &event) != CHOIR_SUCCESS ||
	    !dev_ends_by(link->to, event, link->until_ns))
		return 0;
	return (double)(wait_now_ns() - start) / 1000;
}

/* Behind a copy that was not over in time, and still is under way, no other begins. */
static double least_us(const struct link *link)
{
	double least = copy_us(link);

	for (int i = 1; i < TRIES && wait_now_ns() < link->until_ns; i++) {
		double us = copy_us(link);

		if (us <= 0)
			break;
		least = us < least ? us : least;
	}
	return least;
}

static unsigned measure(choir_device *to, choir_device *from, int64_t until_ns)
{
	const struct device_rates *bus = &to->rates;
	double GBps = bus->read_GBps < bus->write_GBps ? bus->read_GBps : bus->write_GBps, us = 0, percent;
	struct link link = { .to = to, .from = from, .until_ns = until_ns };

	if (!bus->measured || GBps <= 0)
		return 0;
	if (dev_buffer_create(from, BYTES, &link.out_of) == CHOIR_SUCCESS &&
	    dev_buffer_create(to, BYTES, &link.into) == CHOIR_SUCCESS) {
		dev_buffer_place(to, link.into);
		us = least_us(&link);
	}
	dev_buffer_free(link.into);
	dev_buffer_free(link.out_of);
	if (us <= 0)
		return 0;
	us = us > 2 * bus->read_us ? us - bus->read_us : us / 2;
	percent = 100 * us / (BYTES / GBps / 1000);
	return percent < 1 ? 1 : percent > MOST_PERCENT ? MOST_PERCENT : (unsigned)percent;
}

unsigned dev_peer_percent(choir_device *to, choir_device *from, int64_t until_ns)
{
	struct kept_error before;
	unsigned percent;

	if (!dev_has_far_memory(to) || !dev_has_far_memory(from) || wait_now_ns() >= until_ns)
		return 0;
	error_keep(&before, CHOIR_OPENCL); /* any failure: its text alone matters */
	percent = measure(to, from, until_ns);
	(void)error_again(&before);
	return percent;
}
