/* SPDX-License-Identifier: MIT */
/* A byte FIFO in shared memory: one writer, one reader, any process each.  All zero: empty. */
#ifndef NET_FIFO_H
#define NET_FIFO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct fifo_ends { /* the counts only rise: bytes ever written and freed; each on a line of its own */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t freed;
};

struct fifo { /* one side's view */
	struct fifo_ends *ends;
	unsigned char *bytes;
	uint64_t size; /* a power of two, 64 at least */
	uint64_t at;   /* how far this side has come; the other side learns it by fifo_publish or fifo_free */
	uint64_t seen; /* how far the other side had come when I last looked */
};

/* fifo_tip: the byte at which this side stands; fifo_to_end: how many there are from it to where the memory ends. */
unsigned char *fifo_tip(const struct fifo *fifo);
uint64_t fifo_to_end(const struct fifo *fifo);

/* The writer's side.  fifo_room: bytes that are free, exactly if they are fewer than wanted; fifo_put copies n bytes, for which there is room, and passes them;
 * fifo_publish lets the reader see all that was passed. */
uint64_t fifo_room(struct fifo *fifo, uint64_t wanted);
void fifo_put(struct fifo *fifo, const void *data, size_t n);
void fifo_publish(const struct fifo *fifo);

/* The reader's side.  fifo_ready: bytes to read, exactly if they are fewer than wanted; more than fifo->size: somebody else wrote there; fifo_get copies n bytes,
 * which are ready, and passes them; fifo_free lets the writer have all bytes before that place. */
uint64_t fifo_ready(struct fifo *fifo, uint64_t wanted);
void fifo_get(struct fifo *fifo, void *data, size_t n);
void fifo_free(const struct fifo *fifo, uint64_t place);

#endif
