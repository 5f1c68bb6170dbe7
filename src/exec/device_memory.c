/* SPDX-License-Identifier: MIT */
#include "exec/device_memory.h"

#include "exec/symmetric.h"

void device_memory_free(struct run *run)
{
	struct device_memory *memory = &run->device_memory;

	dev_buffer_free(memory->scratch);
	dev_buffer_free(memory->slot);
	dev_buffer_free(memory->list);
	dev_buffer_free(memory->sent);
	for (int kind = 0; kind < DEV_KINDS; kind++)
		dev_room_free(run->comm->device, &memory->rooms[kind]);
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
	return grow(run, bytes, &run->device_memory.scratch, &run->device_memory.scratch_bytes);
}

choir_status device_memory_list(struct run *run, uint64_t bytes)
{
	return grow(run, bytes, &run->device_memory.list, &run->device_memory.list_bytes);
}

choir_status device_memory_sent(struct run *run, uint64_t bytes, cl_mem *mem_p)
{
	TRY(grow(run, bytes, &run->device_memory.sent, &run->device_memory.sent_bytes));
	*mem_p = run->device_memory.sent;
	return CHOIR_SUCCESS;
}

choir_status device_memory_room(struct run *run, enum dev_kind kind, struct dev_bytes *out)
{
	struct dev_bytes *room = &run->device_memory.rooms[kind];

	if (room->mem == NULL && room->pointer == NULL)
		TRY(dev_room_create(run->comm->device, kind, DEVICE_ROOM_BYTES, room));
	*out = *room;
	return CHOIR_SUCCESS;
}

uint64_t device_memory_offer(struct run *run)
{
	const struct plan *plan = run->plan;
	const struct dev_access *send = &run->bound.send;

	if (device_memory_scratch(run, plan->scratch_bytes) != CHOIR_SUCCESS ||
	    grow(run, plan->slot_bytes, &run->device_memory.slot, &run->device_memory.slot_bytes) != CHOIR_SUCCESS)
		return 0;
	run->source = (struct run_source){ .send = dev_bytes_of(send),
		                           .send_list = run->bound.send_list,
		                           .slot = run->device_memory.slot,
		                           .factor = run->bound.factor };
	return symmetric_address_of_device(&run->source);
}
