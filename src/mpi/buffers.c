/* SPDX-License-Identifier: MIT */
#include "mpi/buffers.h"

#include <stdlib.h>

#define SMALLEST_BYTES ((size_t)256)
#define KEEP_BYTES     ((size_t)64 << 20)

struct buffer {
	_Alignas(64) struct buffer *next;
	int class; /* BUFFERS_CLASSES: none, too large to keep */
};
_Static_assert(sizeof(struct buffer) == 64, "keeps the data aligned");

static size_t class_bytes(int class)
{
	return SMALLEST_BYTES << class;
}

void *buffers_take(struct buffers *buffers, size_t bytes)
{
	struct buffer *buffer;
	size_t room;
	int class = 0;

	while (class < BUFFERS_CLASSES && bytes > class_bytes(class))
		class ++;
	if (class < BUFFERS_CLASSES && buffers->free[class] != NULL) {
		buffer = buffers->free[class];
		buffers->free[class] = buffer->next;
		buffers->kept_bytes -= class_bytes(class);
		return buffer + 1;
	}
	room = class < BUFFERS_CLASSES ? class_bytes(class) : (bytes + 63) / 64 * 64;
	buffer = aligned_alloc(64, sizeof *buffer + room);
	if (buffer == NULL)
		return NULL;
	buffer->class = class;
	return buffer + 1;
}

void buffers_give(struct buffers *buffers, void *data)
{
	struct buffer *buffer = (struct buffer *)data - 1;

	if (buffer->class == BUFFERS_CLASSES || buffers->kept_bytes + class_bytes(buffer->class) > KEEP_BYTES) {
		free(buffer);
		return;
	}
	buffers->kept_bytes += class_bytes(buffer->class);
	buffer->next = buffers->free[buffer->class];
	buffers->free[buffer->class] = buffer;
}

void *buffers_memory(void *data)
{
	return (struct buffer *)data - 1;
}

void buffers_fini(struct buffers *buffers)
{
	for (int class = 0; class < BUFFERS_CLASSES; class ++)
		while (buffers->free[class] != NULL) {
			struct buffer *buffer = buffers->free[class];

			buffers->free[class] = buffer->next;
			free(buffer);
		}
}
