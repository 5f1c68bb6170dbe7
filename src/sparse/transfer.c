/* SPDX-License-Identifier: MIT */
/* Direct: a memcpy.  Map: map, memcpy, unmap.  Stage: one read or write on the device's internal queue. */
#include "sparse/transfer.h"

#include <string.h>

enum { START, MAPPING, COPYING, MOVING, ENDED };

void transfer_init(struct transfer *transfer, choir_device *device, const struct dev_access *access, void *host,
                   uint64_t bytes, bool to_buffer)
{
	*transfer = (struct transfer){
		.device = device, .access = *access, .host = host, .bytes = bytes, .to_buffer = to_buffer
	};
}

static choir_status start(struct transfer *transfer)
{
	if (transfer->bytes == 0) {
		transfer->phase = ENDED;
		return CHOIR_SUCCESS;
	}
	if (transfer->access.direct) {
		transfer->phase = COPYING;
		return CHOIR_SUCCESS;
	}
	if (dev_needs_map(&transfer->access)) {
		TRY(dev_map(transfer->device, &transfer->access, &transfer->event));
		transfer->mapped = true;
		transfer->phase = MAPPING;
		return CHOIR_SUCCESS;
	}
	if (transfer->to_buffer)
		TRY(dev_write(transfer->device, &transfer->access, 0, transfer->host, transfer->bytes,
		              &transfer->event));
	else
		TRY(dev_read(transfer->device, &transfer->access, 0, transfer->host, transfer->bytes,
		             &transfer->event));
	transfer->phase = MOVING;
	return CHOIR_SUCCESS;
}

uint64_t transfer_copies(const struct transfer *transfer)
{
	return transfer->phase == COPYING ? transfer->bytes : 0;
}

choir_status transfer_copy(struct transfer *transfer)
{
	if (transfer->phase != COPYING)
		return CHOIR_SUCCESS;
	if (transfer->to_buffer)
		memcpy(transfer->access.ptr, transfer->host, transfer->bytes);
	else
		memcpy(transfer->host, transfer->access.ptr, transfer->bytes);
	transfer->phase = MOVING;
	if (!transfer->mapped)
		return CHOIR_SUCCESS;
	transfer->mapped = false;
	return dev_unmap(transfer->device, &transfer->access, &transfer->event);
}

choir_status transfer_step(struct transfer *transfer, bool *done_p)
{
	bool over = true;

	if (transfer->phase == START)
		TRY(start(transfer));
	while (transfer->phase != ENDED && transfer->phase != COPYING) {
		if (transfer->event != NULL) {
			TRY(dev_poll(transfer->event, &over));
			if (!over) {
				*done_p = false;
				return CHOIR_SUCCESS;
			}
			clReleaseEvent(transfer->event);
			transfer->event = NULL;
			transfer->watched = false;
		}
		transfer->phase = transfer->phase == MAPPING ? COPYING : ENDED;
	}
	*done_p = transfer->phase == ENDED;
	return CHOIR_SUCCESS;
}

choir_status transfer_watch(struct transfer *transfer, void (*fn)(void *), void *ctx)
{
	if (transfer->event == NULL || transfer->watched)
		return CHOIR_SUCCESS;
	transfer->watched = true;
	return dev_watch(transfer->event, fn, ctx);
}

static void wait_and_release(cl_event *event)
{
	if (*event == NULL)
		return;
	clWaitForEvents(1, event);
	clReleaseEvent(*event);
	*event = NULL;
}

void transfer_fini(struct transfer *transfer)
{
	wait_and_release(&transfer->event);
	if (transfer->mapped && dev_unmap(transfer->device, &transfer->access, &transfer->event) == CHOIR_SUCCESS)
		wait_and_release(&transfer->event);
	memset(transfer, 0, sizeof *transfer);
}
