/* SPDX-License-Identifier: MIT */
/* One copy between a caller's buffer and host memory of ours, whichever way the device allows, without blocking. */
#ifndef SPARSE_TRANSFER_H
#define SPARSE_TRANSFER_H

#include "dev/dev.h"

struct transfer {
	choir_device *device;
	struct dev_access access;
	void *host;
	uint64_t bytes;
	bool to_buffer;
	bool mapped; /* until it is unmapped */
	int phase;
	cl_event event; /* what it waits for, else NULL */
	bool watched;   /* its end rings already: a callback an event, however often it is polled */
};

/* transfer_init: nothing is moved yet.  access was resolved for at least that many bytes. */
void transfer_init(struct transfer *transfer, choir_device *device, const struct dev_access *access, void *host,
                   uint64_t bytes, bool to_buffer);

/* transfer_step: goes on as far as it can without copying on the host; call until *done_p.  OPENCL. */
choir_status transfer_step(struct transfer *transfer, bool *done_p);

/* transfer_copies: the bytes that are to be copied on the host now, before the next step.  transfer_copy: does it. */
uint64_t transfer_copies(const struct transfer *transfer);
choir_status transfer_copy(struct transfer *transfer);

/* transfer_watch: rings fn when the next step is worth while. */
choir_status transfer_watch(struct transfer *transfer, void (*fn)(void *), void *ctx);

/* transfer_fini: waits for the device if a step was started and its end not seen.  Legal on a zeroed one. */
void transfer_fini(struct transfer *transfer);

#endif
