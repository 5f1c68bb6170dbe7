/* SPDX-License-Identifier: MIT */
/* Each side reads its own count relaxed, since nobody else writes it, and the other's with acquire: bytes before the writer's count are
 * written, bytes before the reader's count are free again.  It publishes its own with release. */
#include "net/fifo.h"

#include <string.h>

static size_t smaller(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

size_t fifo_write(const struct fifo *fifo, const void *data, size_t n)
{
	uint64_t written = atomic_load_explicit(&fifo->ends->written, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&fifo->ends->read, memory_order_acquire);
	uint64_t at = written & (fifo->size - 1);
	size_t first;

	n = smaller(n, fifo->size - (written - read));
	if (n == 0)
		return 0;
	first = smaller(n, fifo->size - at);
	memcpy(fifo->bytes + at, data, first);
	memcpy(fifo->bytes, (const unsigned char *)data + first, n - first);
	atomic_store_explicit(&fifo->ends->written, written + n, memory_order_release);
	return n;
}

size_t fifo_read(const struct fifo *fifo, void *data, size_t n)
{
	uint64_t read = atomic_load_explicit(&fifo->ends->read, memory_order_relaxed);
	uint64_t written = atomic_load_explicit(&fifo->ends->written, memory_order_acquire);
	uint64_t at = read & (fifo->size - 1);
	size_t first;

	n = smaller(n, written - read);
	if (n == 0)
		return 0;
	first = smaller(n, fifo->size - at);
	memcpy(data, fifo->bytes + at, first);
	memcpy((unsigned char *)data + first, fifo->bytes, n - first);
	atomic_store_explicit(&fifo->ends->read, read + n, memory_order_release);
	return n;
}

uint64_t fifo_filled(const struct fifo *fifo)
{
	return atomic_load_explicit(&fifo->ends->written, memory_order_acquire) -
	       atomic_load_explicit(&fifo->ends->read, memory_order_relaxed);
}
