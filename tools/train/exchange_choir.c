/* SPDX-License-Identifier: MIT */
/* Nothing is copied and nothing waits before finish: a collective starts on the event of the kernel that wrote its
 * gradient. */
#include "exchange.h"

#include <stdlib.h>

struct by_choir {
	struct exchange base;
	choir_comm *comm;
};

static void on_done(void *stamp, choir_status status)
{
	(void)status; /* settle returns it */
	stamp_now(stamp);
}

static choir_status start_sparse(struct by_choir *self, struct bucket *bucket, const choir_call *call)
{
	bucket->n_index = bucket->room;
	bucket->n_values = bucket->room * bucket->width;
	return choir_sparse_allreduce(self->comm, choir_mem(bucket->index, 0), bucket->n_rows,
	                              choir_mem(bucket->values, 0), bucket->n_rows * bucket->width,
	                              choir_mem(bucket->result_index, 0), &bucket->n_index,
	                              choir_mem(bucket->result_rows, 0), &bucket->n_values, CHOIR_I32, CHOIR_F32,
	                              CHOIR_OP_SUM, NULL, call, &bucket->event);
}

static choir_status start(struct exchange *exchange, struct bucket *bucket, cl_event ready)
{
	struct by_choir *self = (struct by_choir *)exchange;
	choir_buffer values = choir_mem(bucket->values, 0);
	choir_call call = CHOIR_CALL_INIT;
	choir_status st;

	call.cl_deps = &ready;
	call.n_cl_deps = 1;
	call.name = bucket->name;
	stamp_clear(&bucket->done);
	TRY(stamp_on(&bucket->ready, ready));
	if (bucket->index)
		st = start_sparse(self, bucket, &call);
	else
		st = choir_allreduce(self->comm, values, values, bucket->count, CHOIR_F32, CHOIR_OP_SUM, &call,
		                     &bucket->event);
	if (st != CHOIR_SUCCESS)
		return fail_choir(bucket->name, st);
	st = choir_event_on_complete(bucket->event, on_done, &bucket->done);
	return st == CHOIR_SUCCESS ? st : fail_choir("choir_event_on_complete", st);
}

/* The queue waits for a dense sum by itself; how many rows a sparse one has, the host must know to launch the
 * update. */
static choir_status finish(struct exchange *exchange, struct bucket *bucket)
{
	choir_status st;

	if (!bucket->index) {
		st = choir_queue_wait(exchange->ocl->queue, 1, &bucket->event);
		return st == CHOIR_SUCCESS ? st : fail_choir("choir_queue_wait", st);
	}
	st = choir_event_wait(bucket->event, -1);
	if (st != CHOIR_SUCCESS)
		return failure(st, "%s: %s: %s", bucket->name, choir_status_name(st), choir_event_error(bucket->event));
	bucket->n_results = bucket->n_index;
	bucket->algorithm = choir_event_algorithm(bucket->event);
	return CHOIR_SUCCESS;
}

static choir_status settle(struct exchange *exchange, struct bucket *bucket)
{
	choir_status st = choir_event_wait(bucket->event, -1);

	(void)exchange;
	if (st != CHOIR_SUCCESS)
		failure(st, "%s: %s: %s", bucket->name, choir_status_name(st), choir_event_error(bucket->event));
	choir_event_release(bucket->event);
	bucket->event = NULL;
	return st;
}

static choir_status barrier(struct exchange *exchange)
{
	choir_status st = choir_barrier(((struct by_choir *)exchange)->comm, NULL, NULL);

	return st == CHOIR_SUCCESS ? st : fail_choir("choir_barrier", st);
}

static choir_status least(struct exchange *exchange, double *values, size_t n)
{
	choir_buffer buffer = choir_host(values);
	choir_status st = choir_allreduce(((struct by_choir *)exchange)->comm, buffer, buffer, n, CHOIR_F64,
	                                  CHOIR_OP_MIN, NULL, NULL);

	return st == CHOIR_SUCCESS ? st : fail_choir("choir_allreduce", st);
}

static void destroy(struct exchange *exchange)
{
	free(exchange);
}

static const struct exchange_ops choir_ops = {
	.name = "choir",
	.start = start,
	.finish = finish,
	.settle = settle,
	.barrier = barrier,
	.least = least,
	.destroy = destroy,
};

choir_status exchange_choir(struct ocl *ocl, choir_comm *comm, struct exchange **out_p)
{
	struct by_choir *self = malloc(sizeof *self);

	if (!self)
		return fail_memory("the exchange", sizeof *self);
	*self = (struct by_choir){ .base = { .ops = &choir_ops, .ocl = ocl }, .comm = comm };
	*out_p = &self->base;
	return CHOIR_SUCCESS;
}
