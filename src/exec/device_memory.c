/* SPDX-License-Identifier: MIT */
#include "exec/device_memory.h"

#include "exec/symmetric.h"

void device_memory_free(struct run *run)
{
	struct device_memory *memory = &run->device_memory;

	dev_buffer_free(memory->scratch.mem);
	for (int i = 0; i < OWN_BLOCK_TURNS; i++)
		dev_buffer_free(memory->turns[i].mem);
	dev_buffer_free(memory->slot.mem);
	dev_buffer_free(memory->list.mem);
	dev_buffer_free(memory->sent.mem);
	for (int kind = 0; kind < DEV_KINDS; kind++)
		dev_room_free(run->comm->device, &memory->rooms[kind]);
	*memory = (struct device_memory){ .scratch = { 0 } };
}

static choir_status grow(const struct run *run, struct device_buffer *buffer, uint64_t bytes, bool place)
{
	if (bytes <= buffer->bytes)
		return CHOIR_SUCCESS;
	dev_buffer_free(buffer->mem);
	*buffer = (struct device_buffer){ .mem = NULL };
	TRY(dev_buffer_create(run->comm->device, bytes, &buffer->mem));
	if (place)
		dev_buffer_place(run->comm->device, buffer->mem);
	buffer->bytes = bytes;
	return CHOIR_SUCCESS;
}

choir_status device_memory_grow(const struct run *run, struct device_buffer *buffer, uint64_t bytes)
{
	return grow(run, buffer, bytes, true);
}

choir_status device_memory_grow_unplaced(const struct run *run, struct device_buffer *buffer, uint64_t bytes)
{
	return grow(run, buffer, bytes, false);
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

	if (device_memory_grow(run, &run->device_memory.scratch, plan->scratch_bytes) != CHOIR_SUCCESS ||
	    device_memory_grow(run, &run->device_memory.slot, plan->slot_bytes) != CHOIR_SUCCESS)
		return 0;
	run->source = (struct run_source){ .send = dev_bytes_of(send),
		                           .send_list = run->bound.send_list,
		                           .slot = run->device_memory.slot.mem,
		                           .factor = run->bound.factor };
	return symmetric_address_of_device(&run->source);
}

enum { PIN_BYTES = 16 * 1024 };

void device_memory_pin_slots(struct choir_comm *comm, struct plan_ref ref, uint64_t bytes)
{
	struct arena_use *use = &comm->engine.arena;

	if (use->pin_tried || ref.buf != PLAN_SLOT || bytes < PIN_BYTES || !dev_has_far_memory(comm->device))
		return;
	use->pin_tried = true;
	if (arena_take_all(comm->arena) == CHOIR_SUCCESS)
		dev_memory_pin(comm->device, arena_base(comm->arena), arena_bytes(comm->arena), &use->pinned);
}
