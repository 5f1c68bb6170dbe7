/* SPDX-License-Identifier: MIT */
/* The same job as a careful user does it without choir: every gradient is read to the host by a second queue as soon as
 * it is there, while the first queue computes on; each rank merges its duplicates before it sends; the host merges what
 * all ranks sent, in rank order, so that the ranks stay equal bit for bit; the result is written back without
 * waiting. */
#include "exchange.h"
#include "merge.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* Host memory of one bucket. */
struct staging {
	int32_t *index, *my_index, *all_index, *sum_index;
	float *rows, *my_rows, *all_rows, *sum_rows; /* dense: rows only */
	size_t room_all;                             /* rows that all_index and all_rows have room for */
	cl_event read;                               /* the last of the reads */
};

struct by_mpi {
	struct exchange base;
	int rank, size;
	cl_command_queue copies;
	struct merger merger;
	int *counts, *offs; /* [size], of indices, then of floats */
	struct staging staging[N_BUCKETS];
};

static choir_status fail_mpi(const char *call, int rc)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	MPI_Error_string(rc, text, &length);
	return failure(CHOIR_TRANSPORT, "%s: %s", call, text);
}

/* The arrays whose sizes do not depend on what the others send; kept for all steps. */
static choir_status prepare(struct staging *staging, const struct bucket *bucket)
{
	size_t row_bytes = bucket->width * sizeof(float);

	if (staging->rows)
		return CHOIR_SUCCESS;
	if (!bucket->index) {
		staging->rows = malloc(bucket->count * sizeof *staging->rows);
		return staging->rows ? CHOIR_SUCCESS : fail_memory("a gradient", bucket->count * sizeof(float));
	}
	staging->index = malloc(bucket->n_rows * sizeof *staging->index);
	staging->rows = malloc(bucket->n_rows * row_bytes);
	staging->my_index = malloc(bucket->n_rows * sizeof *staging->my_index);
	staging->my_rows = malloc(bucket->n_rows * row_bytes);
	staging->sum_index = malloc(bucket->room * sizeof *staging->sum_index);
	staging->sum_rows = malloc(bucket->room * row_bytes);
	if (!staging->index || !staging->rows || !staging->my_index || !staging->my_rows || !staging->sum_index ||
	    !staging->sum_rows)
		return fail_memory("a gradient", (2 * bucket->n_rows + bucket->room) * row_bytes);
	return CHOIR_SUCCESS;
}

static choir_status start(struct exchange *exchange, struct bucket *bucket, cl_event ready)
{
	struct by_mpi *self = (struct by_mpi *)exchange;
	struct staging *staging = self->staging + bucket->id;
	size_t n_values = bucket->index ? bucket->n_rows * bucket->width : bucket->count;
	cl_int rc = CL_SUCCESS;

	TRY(prepare(staging, bucket));
	stamp_clear(&bucket->done);
	TRY(stamp_on(&bucket->ready, ready));
	if (bucket->index)
		rc = clEnqueueReadBuffer(self->copies, bucket->index, CL_FALSE, 0, bucket->n_rows * sizeof(int32_t),
		                         staging->index, 1, &ready, NULL);
	if (!rc)
		rc = clEnqueueReadBuffer(self->copies, bucket->values, CL_FALSE, 0, n_values * sizeof(float),
		                         staging->rows, 1, &ready, &staging->read);
	if (!rc)
		rc = clFlush(self->copies);
	return rc ? fail_cl("clEnqueueReadBuffer", rc) : CHOIR_SUCCESS;
}

static choir_status wait_read(struct staging *staging)
{
	cl_int rc = clWaitForEvents(1, &staging->read);

	clReleaseEvent(staging->read);
	staging->read = NULL;
	return rc ? fail_cl("clWaitForEvents", rc) : CHOIR_SUCCESS;
}

/* The sum of a bucket is done when its values are back on the device. */
static choir_status write_values(struct by_mpi *self, struct bucket *bucket, cl_mem mem, size_t count,
                                 const float *from)
{
	cl_event event;
	cl_int rc =
	    clEnqueueWriteBuffer(self->base.ocl->queue, mem, CL_FALSE, 0, count * sizeof *from, from, 0, NULL, &event);
	choir_status st;

	if (rc)
		return fail_cl("clEnqueueWriteBuffer", rc);
	st = stamp_on(&bucket->done, event);
	clReleaseEvent(event);
	return st;
}

static choir_status finish_dense(struct by_mpi *self, struct bucket *bucket)
{
	struct staging *staging = self->staging + bucket->id;
	int rc;

	TRY(wait_read(staging));
	rc = MPI_Allreduce(MPI_IN_PLACE, staging->rows, (int)bucket->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	if (rc)
		return fail_mpi("MPI_Allreduce", rc);
	return write_values(self, bucket, bucket->values, bucket->count, staging->rows);
}

/* Tells how many rows every rank brings: counts and offs in rows, the sum of all in *n_p, and room for them. */
static choir_status gather_counts(struct by_mpi *self, struct staging *staging, size_t mine, size_t width, size_t *n_p)
{
	int count = (int)mine, rc = MPI_Allgather(&count, 1, MPI_INT, self->counts, 1, MPI_INT, MPI_COMM_WORLD);
	size_t n = 0;

	if (rc)
		return fail_mpi("MPI_Allgather", rc);
	for (int r = 0; r < self->size; r++) {
		self->offs[r] = (int)n;
		n += (size_t)self->counts[r];
	}
	if (n * width > INT_MAX)
		return failure(CHOIR_UNSUPPORTED, "%zu rows are more than MPI counts", n);
	if (n > staging->room_all) {
		free(staging->all_index);
		free(staging->all_rows);
		staging->room_all = n + n / 4;
		staging->all_index = malloc(staging->room_all * sizeof *staging->all_index);
		staging->all_rows = malloc(staging->room_all * width * sizeof *staging->all_rows);
		if (!staging->all_index || !staging->all_rows)
			return fail_memory("all ranks' rows", n * width * sizeof(float));
	}
	*n_p = n;
	return CHOIR_SUCCESS;
}

static choir_status gather(struct by_mpi *self, struct staging *staging, size_t mine, size_t width, size_t *n_p)
{
	int rc;

	TRY(gather_counts(self, staging, mine, width, n_p));
	rc = MPI_Allgatherv(staging->my_index, (int)mine, MPI_INT32_T, staging->all_index, self->counts, self->offs,
	                    MPI_INT32_T, MPI_COMM_WORLD);
	for (int r = 0; r < self->size; r++) {
		self->counts[r] *= (int)width;
		self->offs[r] *= (int)width;
	}
	if (!rc)
		rc = MPI_Allgatherv(staging->my_rows, (int)(mine * width), MPI_FLOAT, staging->all_rows, self->counts,
		                    self->offs, MPI_FLOAT, MPI_COMM_WORLD);
	return rc ? fail_mpi("MPI_Allgatherv", rc) : CHOIR_SUCCESS;
}

static choir_status finish_sparse(struct by_mpi *self, struct bucket *bucket)
{
	struct staging *staging = self->staging + bucket->id;
	size_t width = bucket->width, n_all = 0, mine;

	TRY(wait_read(staging));
	if (self->size == 1) {
		bucket->n_results = merger_run(&self->merger, staging->index, staging->rows, bucket->n_rows, width,
		                               staging->sum_index, staging->sum_rows);
	} else {
		mine = merger_run(&self->merger, staging->index, staging->rows, bucket->n_rows, width,
		                  staging->my_index, staging->my_rows);
		TRY(gather(self, staging, mine, width, &n_all));
		bucket->n_results = merger_run(&self->merger, staging->all_index, staging->all_rows, n_all, width,
		                               staging->sum_index, staging->sum_rows);
	}
	TRY(ocl_write(self->base.ocl, bucket->result_index, 0, bucket->n_results * sizeof(int32_t),
	              staging->sum_index));
	return write_values(self, bucket, bucket->result_rows, bucket->n_results * width, staging->sum_rows);
}

static choir_status finish(struct exchange *exchange, struct bucket *bucket)
{
	struct by_mpi *self = (struct by_mpi *)exchange;

	return bucket->index ? finish_sparse(self, bucket) : finish_dense(self, bucket);
}

static choir_status settle(struct exchange *exchange, struct bucket *bucket)
{
	(void)exchange;
	(void)bucket;
	return CHOIR_SUCCESS;
}

/* Sleeps instead of spinning: somebody may be building kernels meanwhile. */
static choir_status barrier(struct exchange *exchange)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	MPI_Request request;
	int done = 0, rc = MPI_Ibarrier(MPI_COMM_WORLD, &request);

	(void)exchange;
	while (!rc && !done) {
		rc = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (!done)
			nanosleep(&nap, NULL);
	}
	return rc ? fail_mpi("MPI_Ibarrier", rc) : CHOIR_SUCCESS;
}

static choir_status least(struct exchange *exchange, double *values, size_t n)
{
	int rc;

	(void)exchange;
	if (n > INT_MAX)
		return failure(CHOIR_UNSUPPORTED, "%zu figures are more than MPI counts", n);
	rc = MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	return rc ? fail_mpi("MPI_Allreduce", rc) : CHOIR_SUCCESS;
}

static void free_staging(struct staging *staging)
{
	free(staging->index);
	free(staging->my_index);
	free(staging->all_index);
	free(staging->sum_index);
	free(staging->rows);
	free(staging->my_rows);
	free(staging->all_rows);
	free(staging->sum_rows);
	if (staging->read)
		clReleaseEvent(staging->read);
}

static void destroy(struct exchange *exchange)
{
	struct by_mpi *self = (struct by_mpi *)exchange;

	if (self->copies) {
		clFinish(self->copies);
		clReleaseCommandQueue(self->copies);
	}
	for (int i = 0; i < N_BUCKETS; i++)
		free_staging(self->staging + i);
	merger_fini(&self->merger);
	free(self->counts);
	free(self->offs);
	free(self);
}

static const struct exchange_ops mpi_ops = {
	.name = "mpi",
	.start = start,
	.finish = finish,
	.settle = settle,
	.barrier = barrier,
	.least = least,
	.destroy = destroy,
};

static choir_status init(struct by_mpi *self, size_t n_words)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &self->size);
	self->counts = calloc((size_t)self->size, sizeof *self->counts);
	self->offs = calloc((size_t)self->size, sizeof *self->offs);
	if (!self->counts || !self->offs)
		return fail_memory("counts", (size_t)self->size * 8);
	TRY(ocl_queue(self->base.ocl, &self->copies));
	return merger_init(&self->merger, n_words);
}

choir_status exchange_mpi(struct ocl *ocl, size_t n_words, struct exchange **out_p)
{
	struct by_mpi *self = calloc(1, sizeof *self);
	choir_status st;

	if (!self)
		return fail_memory("the exchange", sizeof *self);
	self->base = (struct exchange){ .ops = &mpi_ops, .ocl = ocl };
	st = init(self, n_words);
	if (st != CHOIR_SUCCESS)
		destroy(&self->base);
	else
		*out_p = &self->base;
	return st;
}
