/* SPDX-License-Identifier: MIT */
/* Each side keeps its own count, and reads the other's with acquire: bytes before the writer's count are written, bytes before the reader's are free again.  It
 * publishes its own with release.  The other side's count is looked at only when what was seen last does not suffice: its line is fetched from the other core.
 *
 * Long runs of bytes are written past the cache: a store to a line that the reader has read waits until the reader's core has let go of it, line after line. */
#include "net/fifo.h"

#include "base/copy.h"

#include <string.h>

enum { STREAM_BYTES = 1024 };

unsigned char *fifo_tip(const struct fifo *fifo)
{
	return fifo->bytes + (fifo->at & (fifo->size - 1));
}

uint64_t fifo_to_end(const struct fifo *fifo)
{
	return fifo->size - (fifo->at & (fifo->size - 1));
}

uint64_t fifo_room(struct fifo *fifo, uint64_t wanted)
{
	if (fifo->size - (fifo->at - fifo->seen) < wanted)
		fifo->seen = atomic_load_explicit(&fifo->ends->freed, memory_order_acquire);
	return fifo->size - (fifo->at - fifo->seen);
}

void fifo_put(struct fifo *fifo, const void *data, size_t n)
{
	size_t first = n < fifo_to_end(fifo) ? n : (size_t)fifo_to_end(fifo);
	bool stream = n >= STREAM_BYTES;

	if (n == 0)
		return;
	copy_host(fifo_tip(fifo), data, first, stream);
	copy_host(fifo->bytes, (const unsigned char *)data + first, n - first, stream && n > first);
	fifo->at += n;
}

void fifo_publish(const struct fifo *fifo)
{
	atomic_store_explicit(&fifo->ends->written, fifo->at, memory_order_release);
}

uint64_t fifo_ready(struct fifo *fifo, uint64_t wanted)
{
	if (fifo->seen - fifo->at < wanted)
		fifo->seen = atomic_load_explicit(&fifo->ends->written, memory_order_acquire);
	return fifo->seen - fifo->at;
}

void fifo_get(struct fifo *fifo, void *data, size_t n)
{
	size_t first = n < fifo_to_end(fifo) ? n : (size_t)fifo_to_end(fifo);

	if (n == 0)
		return;
	memcpy(data, fifo_tip(fifo), first);
	memcpy((unsigned char *)data + first, fifo->bytes, n - first);
	fifo->at += n;
}

void fifo_free(const struct fifo *fifo, uint64_t place)
{
	atomic_store_explicit(&fifo->ends->freed, place, memory_order_release);
}
