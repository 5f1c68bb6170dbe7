/* SPDX-License-Identifier: MIT */
/* Design notes.  A pooled run keeps its memory, and so would as many runs as a comm ever had in flight: memory beyond a
 * limit is kept once a comm, by submission.large, and taken by the next run that needs no more. */
#include "exec/device_memory.h"

#include "exec/symmetric.h"

#include <pthread.h>

void device_memory_free(struct device_memory *memory)
{
	dev_buffer_free(memory->scratch);
	dev_buffer_free(memory->slot);
	*memory = (struct device_memory){ .scratch = NULL };
}

static choir_status grow(struct run *run, uint64_t bytes, cl_mem *mem, uint64_t *has)
{
	if (bytes <= *has)
		return CHOIR_SUCCESS;
	dev_buffer_free(*mem);
	*mem = NULL;
	*has = 0;
	TRY(dev_buffer_create(run->comm->device, bytes, mem));
	*has = bytes;
	return CHOIR_SUCCESS;
}

choir_status device_memory_scratch(struct run *run, uint64_t bytes)
{
	return grow(run, bytes, &run->device.scratch, &run->device.scratch_bytes);
}

/* The comm's large memory, if the run's does not suffice. */
static void take_large(struct run *run, uint64_t scratch_bytes, uint64_t slot_bytes)
{
	struct submission *submission = &run->comm->submission;
	struct device_memory own = run->device;

	if (scratch_bytes <= own.scratch_bytes && slot_bytes <= own.slot_bytes)
		return;
	pthread_mutex_lock(&submission->lock);
	run->device = submission->large;
	submission->large = (struct device_memory){ .scratch = NULL };
	pthread_mutex_unlock(&submission->lock);
	device_memory_free(&own);
}

uint64_t device_memory_lend(struct run *run)
{
	const struct plan *plan = run->plan;
	const struct dev_access *send = &run->bound.send;

	take_large(run, plan->scratch_bytes, plan->slot_bytes);
	if (device_memory_scratch(run, plan->scratch_bytes) != CHOIR_SUCCESS ||
	    grow(run, plan->slot_bytes, &run->device.slot, &run->device.slot_bytes) != CHOIR_SUCCESS)
		return 0;
	run->lent = (struct run_lent){ .send = { send->mem, send->off }, .slot = run->device.slot };
	return symmetric_address_of_device(&run->lent);
}

void device_memory_keep_large(struct run *run, uint64_t bytes)
{
	struct submission *submission = &run->comm->submission;
	struct device_memory mine = run->device;

	if (mine.scratch_bytes <= bytes)
		return;
	run->device = (struct device_memory){ .scratch = NULL };
	pthread_mutex_lock(&submission->lock);
	if (!run->comm->engine.closed && mine.scratch_bytes >= submission->large.scratch_bytes) {
		struct device_memory smaller = submission->large;

		submission->large = mine;
		mine = smaller;
	}
	pthread_mutex_unlock(&submission->lock);
	device_memory_free(&mine);
}
