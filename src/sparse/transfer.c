/* SPDX-License-Identifier: MIT */
/* Direct: a memcpy.  Map: map, memcpy, unmap.  Stage: one read or write on the device's internal queue. */
#include "sparse/transfer.h"

#include <string.h>

enum { START, MAPPING, MOVING, ENDED };

void transfer_init(struct transfer *transfer, choir_device *device, const struct dev_access *access, void *host,
                   uint64_t bytes, bool to_buffer)
{
	*transfer = (struct transfer){
		.device = device, .access = *access, .host = host, .bytes = bytes, .to_buffer = to_buffer
	};
}

static void copy(const struct transfer *transfer)
{
	if (transfer->to_buffer)
		memcpy(transfer->access.ptr, transfer->host, transfer->bytes);
	else
		memcpy(transfer->host, transfer->access.ptr, transfer->bytes);
}

static choir_status start(struct transfer *transfer)
{
	if (transfer->bytes == 0) {
		transfer->phase = ENDED;
		return CHOIR_SUCCESS;
	}
	if (transfer->access.direct) {
		copy(transfer);
		transfer->phase = ENDED;
		return CHOIR_SUCCESS;
	}
	if (dev_needs_map(&transfer->access)) {
		TRY(dev_map(transfer->device, &transfer->access, &transfer->event));
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

static choir_status mapped(struct transfer *transfer)
{
	copy(transfer);
	TRY(dev_unmap(transfer->device, &transfer->access, &transfer->event));
	transfer->phase = MOVING;
	return CHOIR_SUCCESS;
}

choir_status transfer_step(struct transfer *transfer, bool *done_p)
{
	bool over = true;

	if (transfer->phase == START)
		TRY(start(transfer));
	while (transfer->phase != ENDED) {
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
		if (transfer->phase == MAPPING)
			TRY(mapped(transfer));
		else
			transfer->phase = ENDED;
	}
	*done_p = true;
	return CHOIR_SUCCESS;
}

choir_status transfer_watch(struct transfer *transfer, void (*fn)(void *), void *ctx)
{
	if (transfer->event == NULL || transfer->watched)
		return CHOIR_SUCCESS;
	transfer->watched = true;
	return dev_watch(transfer->event, fn, ctx);
}

void transfer_fini(struct transfer *transfer)
{
	if (transfer->event != NULL) {
		clWaitForEvents(1, &transfer->event);
		clReleaseEvent(transfer->event);
		if (transfer->phase == MAPPING &&
		    dev_unmap(transfer->device, &transfer->access, &transfer->event) == CHOIR_SUCCESS &&
		    transfer->event != NULL) {
			clWaitForEvents(1, &transfer->event);
			clReleaseEvent(transfer->event);
		}
	}
	memset(transfer, 0, sizeof *transfer);
}
