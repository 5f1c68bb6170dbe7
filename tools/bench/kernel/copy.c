/* SPDX-License-Identifier: MIT */
/* On a device the copy is its driver's own, or choir's reduction of one source; on the host with plain or with
 * nt stores. */
#include "kernel.h"

#include "bench/ways/bound_loops.h"
#include "bench/ranks/world.h"
#include "kern/reduce.h"

#include <stdlib.h>

enum { MANNERS = 2 };

struct copy {
	struct contender base;
	choir_device *device;
	struct memory_source source;
	struct memory from, to;
	size_t bytes;
	int manner;
};

static choir_status by_driver(struct copy *copy)
{
	cl_int rc = clEnqueueCopyBuffer(dev_queue(copy->device), copy->from.mem, copy->to.mem, 0, 0, copy->bytes, 0,
	                                NULL, NULL);

	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clEnqueueCopyBuffer", rc);
}

static choir_status by_kernel(struct copy *copy)
{
	struct reduce_call call = {
		.dtype = CHOIR_U32, .op = CHOIR_OP_MAX, .n_src = 1, .n_ranks = 1, .n_dst = 1, .count = copy->bytes / 4
	};
	struct reduce_operand from = { .mem = copy->from.mem }, to = { .mem = copy->to.mem };

	return reduce_kernel_start(copy->device, &call, to, &from, NULL);
}

static int once(struct contender *self)
{
	struct copy *copy = (struct copy *)self;
	char *to = (char *)copy->to.host;

	if (copy->device == NULL) {
		bound_copy(&to, 1, (const char *)copy->from.host, copy->bytes, copy->manner == 1);
		return EXIT_FINE;
	}
	if ((copy->manner == 0 ? by_driver(copy) : by_kernel(copy)) != CHOIR_SUCCESS ||
	    kernel_finish(copy->device) != CHOIR_SUCCESS)
		return EXIT_WRONG;
	return EXIT_FINE;
}

static void use(struct contender *self, int manner)
{
	((struct copy *)self)->manner = manner;
}

static void close_copy(struct contender *self)
{
	struct copy *copy = (struct copy *)self;

	memory_fini(&copy->from);
	memory_fini(&copy->to);
	free(copy);
}

/* Pages that nobody has written are all one page of zeros. */
static bool touch(struct copy *copy)
{
	void *bytes = memory_host(copy->bytes);
	bool fine = bytes != NULL && memory_write(&copy->from, bytes) && memory_write(&copy->to, bytes);

	free(bytes);
	return fine;
}

struct contender *copy_open(uint64_t moved_bytes, const struct memory_source *source, choir_device *device)
{
	struct copy *copy = calloc(1, sizeof *copy);

	if (copy == NULL)
		return NULL;
	copy->base = (struct contender){
		.name = "bound", .calls = 1, .once = once, .close = close_copy, .n_manners = MANNERS, .use = use
	};
	copy->device = device;
	copy->source = *source;
	copy->bytes = (size_t)(moved_bytes / 8 + 1) * 4; /* whole words */
	if (memory_init(&copy->from, &copy->source, copy->bytes) &&
	    memory_init(&copy->to, &copy->source, copy->bytes) && touch(copy))
		return &copy->base;
	close_copy(&copy->base);
	return NULL;
}
