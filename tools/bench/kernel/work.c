/* SPDX-License-Identifier: MIT */
/* Buffers of a kernel: filled, and compared byte for byte.  Behind each stand CHECK_GUARD_BYTES that nobody may
 * write. */
#include "kernel.h"

#include "bench/data/check.h"
#include "bench/ranks/world.h"
#include "dev/dev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(struct kernel_work *work, void *data, size_t bytes, size_t elem_bytes, bool is_output)
{
	struct kernel_buffer *buffer = &work->buffer[work->n_buffers];

	if (data == NULL && bytes > 0)
		return false;
	if (work->n_buffers == KERNEL_MAX_BUFFERS ||
	    !memory_init(&buffer->memory, &work->source, bytes + CHECK_GUARD_BYTES)) {
		free(data);
		return false;
	}
	buffer->data = data;
	buffer->bytes = bytes;
	buffer->elem_bytes = elem_bytes;
	buffer->is_output = is_output;
	work->n_buffers++;
	return true;
}

bool kernel_add_input(struct kernel_work *work, void *data, size_t bytes, size_t elem_bytes)
{
	return add(work, data, bytes, elem_bytes, false);
}

bool kernel_add_output(struct kernel_work *work, void *data, size_t bytes, size_t elem_bytes)
{
	return add(work, data, bytes, elem_bytes, true);
}

cl_mem kernel_mem(const struct kernel_work *work, int i)
{
	return work->buffer[i].memory.mem;
}

void *kernel_host(const struct kernel_work *work, int i)
{
	return work->buffer[i].memory.host;
}

choir_status kernel_finish(choir_device *device)
{
	cl_int rc = clFinish(dev_queue(device));

	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clFinish", rc);
}

struct sparse_shape kernel_sparse(const struct kernel_shape *shape, int n_ranks)
{
	return (struct sparse_shape){
		.args = shape->sparse, .dtype = shape->dtype, .op = shape->op, .n_ranks = n_ranks, .text = shape->text
	};
}

static int once(struct contender *self)
{
	struct kernel_work *work = (struct kernel_work *)self;
	choir_status st = work->kernel->run(work);

	if (st == CHOIR_SUCCESS)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: kernel %s: %s: %s\n", work->kernel->name, choir_status_name(st),
	        choir_last_error());
	return EXIT_WRONG;
}

static int fill(struct contender *self)
{
	struct kernel_work *work = (struct kernel_work *)self;

	for (int i = 0; i < work->n_buffers; i++) {
		struct kernel_buffer *buffer = &work->buffer[i];

		memset(work->scratch, CHECK_SENTINEL, buffer->bytes + CHECK_GUARD_BYTES);
		if (!buffer->is_output && buffer->bytes > 0)
			memcpy(work->scratch, buffer->data, buffer->bytes);
		if (!memory_write(&buffer->memory, work->scratch))
			return EXIT_WRONG;
	}
	return EXIT_FINE;
}

/* Elements that are not as they must be, and one for a broken guard. */
static uint64_t count(const struct kernel_buffer *buffer, const unsigned char *got)
{
	const unsigned char *data = buffer->data;
	uint64_t wrong = 0, guard = 0;

	for (size_t at = 0; at < buffer->bytes; at += buffer->elem_bytes)
		wrong += memcmp(got + at, data + at, buffer->elem_bytes) != 0;
	for (size_t i = 0; i < CHECK_GUARD_BYTES; i++)
		guard |= got[buffer->bytes + i] != CHECK_SENTINEL;
	return wrong + guard;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct kernel_work *work = (struct kernel_work *)self;

	*wrong_p = work->kernel->wrong != NULL ? work->kernel->wrong(work) : 0;
	for (int i = 0; i < work->n_buffers; i++) {
		if (!memory_read(&work->buffer[i].memory, work->scratch))
			return EXIT_WRONG;
		*wrong_p += count(&work->buffer[i], work->scratch);
	}
	return EXIT_FINE;
}

static void use(struct contender *self, int manner)
{
	((struct kernel_work *)self)->manner = manner;
}

static void close_work(struct contender *self)
{
	struct kernel_work *work = (struct kernel_work *)self;

	for (int i = 0; i < work->n_buffers; i++) {
		memory_fini(&work->buffer[i].memory);
		free(work->buffer[i].data);
	}
	free(work->scratch);
	free(work->state);
	free(work);
}

static bool make_scratch(struct kernel_work *work)
{
	size_t largest = 0;

	for (int i = 0; i < work->n_buffers; i++)
		largest = work->buffer[i].bytes > largest ? work->buffer[i].bytes : largest;
	work->scratch = malloc(largest + CHECK_GUARD_BYTES);
	return work->scratch != NULL;
}

struct kernel_work *kernel_open(const struct kernel *kernel, const struct kernel_shape *shape, choir_device *device)
{
	struct kernel_work *work = calloc(1, sizeof *work);

	if (work == NULL)
		return NULL;
	work->base = (struct contender){ .name = kernel->name,
		                         .calls = 1,
		                         .once = once,
		                         .fill = fill,
		                         .verify = verify,
		                         .close = close_work,
		                         .n_manners = device == NULL ? kernel->host_manners : 0,
		                         .use = use };
	work->kernel = kernel;
	work->shape = shape;
	work->device = device;
	work->source = (struct memory_source){ .kind = device != NULL ? MEMORY_DEVICE : MEMORY_HOST, .device = device };
	snprintf(work->algorithm, sizeof work->algorithm, "%s", device != NULL ? "kernel" : "host");
	if (kernel->open(work) && make_scratch(work) && fill(&work->base) == EXIT_FINE)
		return work;
	close_work(&work->base);
	return NULL;
}
