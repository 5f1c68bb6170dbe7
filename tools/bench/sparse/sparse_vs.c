/* SPDX-License-Identifier: MIT */
/* sparse_allreduce --vs mpi: everyone gathers all rows by MPI_Allgatherv and merges them on the host.  --vs staged: the
 * same with the rows read from and written back to cl_mems.  --vs dense: sparse_dense.c; bound: sparse_bound.c. */
#include "sparse_job.h"

#include "merge.h"
#include "bench/ranks/world.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DENSE_MAX_BYTES 4294967296.0

struct sparse_vs {
	struct contender base;
	const struct sparse_job *sparse;
	bool staged;
	struct sparse_buffers buffers; /* staged only */
	struct merge merge;
	void *send_ind, *send_val, *all_ind, *all_val, *out_ind, *out_val;
	int *counts, *bytes, *at; /* [ranks] */
	size_t rows_out;
};

/* Allgatherv of row_bytes bytes a row. */
static int gather(struct sparse_vs *vs, const void *mine, void *all, size_t row_bytes)
{
	const struct job *job = vs->sparse->job;
	int sum = 0;

	for (int r = 0; r < job->n; r++) {
		vs->bytes[r] = vs->counts[r] * (int)row_bytes;
		vs->at[r] = sum;
		sum += vs->bytes[r];
	}
	return MPI_Allgatherv(mine, vs->bytes[job->rank], MPI_BYTE, all, vs->bytes, vs->at, MPI_BYTE, job->world->comm);
}

static void scale(struct sparse_vs *vs)
{
	size_t n = vs->rows_out * vs->merge.width;

	for (size_t i = 0; i < n && vs->merge.dtype == CHOIR_F32; i++)
		((float *)vs->out_val)[i] /= (float)vs->sparse->job->n;
	for (size_t i = 0; i < n && vs->merge.dtype == CHOIR_F64; i++)
		((double *)vs->out_val)[i] /= vs->sparse->job->n;
}

static int reduce_on_host(struct sparse_vs *vs)
{
	const struct sparse_job *sparse = vs->sparse;
	int mine = (int)sparse->mine.rows;
	size_t rows = 0;

	if (MPI_Allgather(&mine, 1, MPI_INT, vs->counts, 1, MPI_INT, sparse->job->world->comm) != MPI_SUCCESS ||
	    gather(vs, vs->send_ind, vs->all_ind, sparse->ind_bytes) != MPI_SUCCESS ||
	    gather(vs, vs->send_val, vs->all_val, sparse->row_bytes) != MPI_SUCCESS)
		return EXIT_WRONG;
	for (int r = 0; r < sparse->job->n; r++)
		rows += (size_t)vs->counts[r];
	vs->rows_out = merge_sum(&vs->merge, vs->all_ind, vs->all_val, rows, vs->out_ind, vs->out_val);
	if (sparse->shape.op == CHOIR_OP_MEAN)
		scale(vs);
	return EXIT_FINE;
}

static bool copy_out(struct memory *memory, void *to, size_t bytes)
{
	return bytes == 0 ||
	       clEnqueueReadBuffer(memory->queue, memory->mem, CL_TRUE, 0, bytes, to, 0, NULL, NULL) == CL_SUCCESS;
}

static bool copy_in(struct memory *memory, const void *from, size_t bytes)
{
	return bytes == 0 || (clEnqueueWriteBuffer(memory->queue, memory->mem, CL_TRUE, 0, bytes, from, 0, NULL,
	                                           NULL) == CL_SUCCESS &&
	                      clFinish(memory->queue) == CL_SUCCESS);
}

static int once(struct contender *self)
{
	struct sparse_vs *vs = (struct sparse_vs *)self;
	const struct sparse_job *sparse = vs->sparse;
	size_t in = sparse->mine.rows;

	if (vs->staged && (!copy_out(&vs->buffers.send_ind, vs->send_ind, in * sparse->ind_bytes) ||
	                   !copy_out(&vs->buffers.send_val, vs->send_val, in * sparse->row_bytes)))
		return EXIT_WRONG;
	if (reduce_on_host(vs) != EXIT_FINE)
		return EXIT_WRONG;
	if (vs->staged && (!copy_in(&vs->buffers.recv_ind, vs->out_ind, vs->rows_out * sparse->ind_bytes) ||
	                   !copy_in(&vs->buffers.recv_val, vs->out_val, vs->rows_out * sparse->row_bytes)))
		return EXIT_WRONG;
	return EXIT_FINE;
}

static int fill(struct contender *self)
{
	struct sparse_vs *vs = (struct sparse_vs *)self;
	const struct sparse_job *sparse = vs->sparse;

	if (vs->staged)
		return sparse_buffers_fill(&vs->buffers, sparse) ? EXIT_FINE : EXIT_WRONG;
	if (sparse->mine.rows > 0) {
		memcpy(vs->send_ind, sparse->mine.ind, sparse->mine.rows * sparse->ind_bytes);
		memcpy(vs->send_val, sparse->mine.val, sparse->mine.rows * sparse->row_bytes);
	}
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct sparse_vs *vs = (struct sparse_vs *)self;
	const struct sparse_job *sparse = vs->sparse;
	size_t rows = sparse->expected.rows;

	if (vs->staged)
		return sparse_buffers_count(&vs->buffers, sparse, vs->rows_out, wrong_p) ? EXIT_FINE : EXIT_WRONG;
	*wrong_p = vs->rows_out != rows;
	if (*wrong_p == 0 && rows > 0)
		*wrong_p = memcmp(vs->out_ind, sparse->expected.ind, rows * sparse->ind_bytes) != 0 ||
		           memcmp(vs->out_val, sparse->expected.val, rows * sparse->row_bytes) != 0;
	return EXIT_FINE;
}

static void close_vs(struct contender *self)
{
	struct sparse_vs *vs = (struct sparse_vs *)self;
	void *all[] = { vs->send_ind, vs->send_val, vs->all_ind, vs->all_val, vs->out_ind,
		        vs->out_val,  vs->counts,   vs->bytes,   vs->at };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
	merge_fini(&vs->merge);
	if (vs->staged)
		sparse_buffers_fini(&vs->buffers);
	free(vs);
}

static bool make_room(struct sparse_vs *vs)
{
	const struct sparse_job *sparse = vs->sparse;
	size_t n = (size_t)sparse->job->n, in = sparse->mine.rows, all = sparse->all_rows;

	vs->send_ind = memory_host(in * sparse->ind_bytes + 1);
	vs->send_val = memory_host(in * sparse->row_bytes + 1);
	vs->all_ind = memory_host(all * sparse->ind_bytes + 1);
	vs->all_val = memory_host(all * sparse->row_bytes + 1);
	vs->out_ind = memory_host(all * sparse->ind_bytes + 1);
	vs->out_val = memory_host(all * sparse->row_bytes + 1);
	vs->counts = calloc(n, sizeof *vs->counts);
	vs->bytes = calloc(n, sizeof *vs->bytes);
	vs->at = calloc(n, sizeof *vs->at);
	vs->merge = (struct merge){ .index_dtype = sparse->shape.args.index_dtype,
		                    .dtype = sparse->shape.dtype,
		                    .width = sparse->shape.args.width };
	return vs->send_ind != NULL && vs->send_val != NULL && vs->all_ind != NULL && vs->all_val != NULL &&
	       vs->out_ind != NULL && vs->out_val != NULL && vs->counts != NULL && vs->bytes != NULL &&
	       vs->at != NULL && merge_init(&vs->merge, all, sparse->shape.args.range) &&
	       (!vs->staged || sparse_buffers_init(&vs->buffers, sparse));
}

static const char *why_never(const struct sparse_job *sparse, const char *way)
{
	const struct sparse_shape *shape = &sparse->shape;

	if (strcmp(way, "keyed") == 0)
		return "keyed calls are measured of dense collectives";
	if (strcmp(way, "builtin") == 0)
		return "users' operators are measured of dense collectives";
	if (strcmp(way, "bound") == 0)
		return sparse_bound_unfit(sparse);
	if (strcmp(way, "dense") == 0)
		return (double)shape->args.range * (double)sparse->row_bytes > DENSE_MAX_BYTES
		           ? "the whole tensor has more than 4 GiB"
		           : NULL;
	if (!sparse->job->world->has_mpi)
		return "without mpiexec there is no MPI to compare with";
	if (strcmp(way, "staged") == 0 && !memory_has_mem(sparse->job->args->memory))
		return "nothing lies in a cl_mem";
	if ((shape->dtype != CHOIR_F32 && shape->dtype != CHOIR_F64) ||
	    (shape->op != CHOIR_OP_SUM && shape->op != CHOIR_OP_MEAN))
		return "the host merge is for sum and mean of f32 and f64 only";
	if (sparse->all_rows * sparse->row_bytes > INT_MAX)
		return "more bytes than an int counts";
	return NULL;
}

struct contender *sparse_vs_open(const struct sparse_job *sparse, const char *way, const char **why_not)
{
	struct sparse_vs *vs;

	*why_not = why_never(sparse, way);
	if (*why_not != NULL)
		return NULL;
	*why_not = "no memory";
	if (strcmp(way, "dense") == 0)
		return sparse_dense_open(sparse);
	if (strcmp(way, "bound") == 0)
		return sparse_bound_open(sparse);
	vs = calloc(1, sizeof *vs);
	if (vs == NULL)
		return NULL;
	vs->sparse = sparse;
	vs->staged = strcmp(way, "staged") == 0;
	vs->base = (struct contender){ .name = vs->staged ? "staged" : "mpi",
		                       .calls = 1,
		                       .once = once,
		                       .fill = fill,
		                       .verify = verify,
		                       .close = close_vs };
	if (make_room(vs) && fill(&vs->base) == EXIT_FINE)
		return &vs->base;
	close_vs(&vs->base);
	return NULL;
}
