/* SPDX-License-Identifier: MIT */
/* sparse_allreduce --vs dense: choir's own allreduce of a tensor that has a row for every index of the range.  The
 * scattering into it and the search for what is there afterwards are left out: whoever works so has the gradient dense
 * to begin with. */
#include "sparse_job.h"

#include "bench/ways/ours.h"
#include "bench/ranks/world.h"

#include <stdlib.h>

struct sparse_dense {
	struct contender base;
	const struct sparse_job *sparse;
	struct memory send, recv;
	choir_call call;
	char options[OURS_OPTIONS_BYTES];
};

static int once(struct contender *self)
{
	struct sparse_dense *dense = (struct sparse_dense *)self;
	const struct sparse_shape *shape = &dense->sparse->shape;
	choir_status st =
	    choir_allreduce(dense->sparse->job->comm, memory_buffer(&dense->send, 0), memory_buffer(&dense->recv, 0),
	                    shape->args.range * shape->args.width, shape->dtype, shape->op, &dense->call, NULL);

	return st == CHOIR_SUCCESS ? EXIT_FINE : ours_failed(dense->sparse->job, "allreduce", st, choir_last_error());
}

static void close_dense(struct contender *self)
{
	struct sparse_dense *dense = (struct sparse_dense *)self;

	memory_fini(&dense->send);
	memory_fini(&dense->recv);
	free(dense);
}

static bool is_ready(struct sparse_dense *dense, size_t bytes)
{
	void *zeros = memory_host(bytes);
	bool fine = zeros != NULL && memory_init(&dense->send, &dense->sparse->job->memory, bytes) &&
	            memory_init(&dense->recv, &dense->sparse->job->memory, bytes) &&
	            memory_write(&dense->send, zeros) && memory_write(&dense->recv, zeros);

	free(zeros);
	return fine;
}

struct contender *sparse_dense_open(const struct sparse_job *sparse)
{
	struct sparse_dense *dense = calloc(1, sizeof *dense);

	if (dense == NULL)
		return NULL;
	dense->base = (struct contender){ .name = "dense", .calls = 1, .once = once, .close = close_dense };
	dense->sparse = sparse;
	dense->call = ours_call(sparse->job->args, sparse->job->op, NULL, dense->options);
	if (is_ready(dense, sparse->shape.args.range * sparse->row_bytes))
		return &dense->base;
	close_dense(&dense->base);
	return NULL;
}
