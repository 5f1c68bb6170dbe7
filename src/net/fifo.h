/* SPDX-License-Identifier: MIT */
/* A byte FIFO in shared memory: one writer, one reader, any process each.  All zero: empty. */
#ifndef NET_FIFO_H
#define NET_FIFO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct fifo_ends { /* the counts only rise: bytes ever written and read; each on a line of its own */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t read;
};

struct fifo { /* one side's view */
	struct fifo_ends *ends;
	unsigned char *bytes;
	uint64_t size; /* a power of two */
};

/* fifo_write, fifo_read: as much as fits or is there, at most n; the number of bytes moved.  Never wait. */
size_t fifo_write(const struct fifo *fifo, const void *data, size_t n);
size_t fifo_read(const struct fifo *fifo, void *data, size_t n);

/* fifo_filled: bytes to read, as the reader sees it. */
uint64_t fifo_filled(const struct fifo *fifo);

#endif
