/* SPDX-License-Identifier: MIT */
/* Note [kinds of memory].  OpenCL copies from cl_mem to cl_mem, within SVM and within USM.  Between two of these only a
 * kernel does, and a kernel must touch no memory of a caller or a peer (Note [device plans] in algo/device.h).  So such
 * a copy takes three commands by way of two rooms of the run, one of each kind: copy, kernel, copy. */
#include "exec/device_copy.h"

#include "exec/device_memory.h"

static choir_status copy_by_rooms(struct run *run, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                                  cl_event *event_p)
{
	choir_device *device = run->comm->device;
	struct dev_bytes first, second;

	TRY(device_memory_room(run, dev_kind_of(from), &first));
	TRY(device_memory_room(run, dev_kind_of(to), &second));
	TRY(dev_copy(device, first, from, bytes, NULL));
	TRY(dev_copy_rooms(device, second, first, bytes, NULL));
	return dev_copy(device, to, second, bytes, event_p);
}

choir_status device_copy(struct run *run, struct dev_bytes to, struct dev_bytes from, uint64_t bytes, cl_event *event_p)
{
	if (dev_kind_of(to) == dev_kind_of(from))
		return dev_copy(run->comm->device, to, from, bytes, event_p);
	for (; bytes > DEVICE_ROOM_BYTES; bytes -= DEVICE_ROOM_BYTES) {
		TRY(copy_by_rooms(run, to, from, DEVICE_ROOM_BYTES, NULL));
		to.off += DEVICE_ROOM_BYTES;
		from.off += DEVICE_ROOM_BYTES;
	}
	return copy_by_rooms(run, to, from, bytes, event_p);
}
