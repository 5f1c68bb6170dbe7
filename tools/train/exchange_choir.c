/* SPDX-License-Identifier: MIT */
/* Nothing is copied and nothing waits before finish: a collective starts on the event of the kernel that wrote its
 * gradient. */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

struct by_choir {
	struct exchange base;
	choir_comm *comm;
	struct compression compression;
	choir_topk_state *states[N_BUCKETS]; /* made by the first call; of the dense gradients, with --compress */
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

/* That an allreduce of so many floats brings to a rank. */
static double whole_bytes(const struct by_choir *self, size_t count)
{
	double n = choir_comm_size(self->comm);

	return 2 * (n - 1) / n * (double)count * sizeof(float);
}

static choir_status start_whole(struct by_choir *self, struct bucket *bucket, const choir_call *call)
{
	choir_buffer values = choir_mem(bucket->values, 0);

	bucket->received = whole_bytes(self, bucket->count);
	return choir_allreduce(self->comm, values, values, bucket->count, CHOIR_F32, CHOIR_OP_SUM, call,
	                       &bucket->event);
}

static choir_status make_state(struct by_choir *self, const struct bucket *bucket)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;

	config.count = bucket->count - bucket->n_whole;
	config.algorithm = self->compression.algorithm;
	config.density = self->compression.density;
	config.momentum = self->compression.momentum;
	config.dense_calls = self->compression.dense_steps;
	config.op = CHOIR_OP_SUM;
	return choir_topk_create(self->comm, &config, &self->states[bucket->id]);
}

/* The gradient's largest entries, then the loss and the signals behind it, whole.  The second call waits for the first:
 * OpenCL leaves undefined what a kernel does to a cl_mem that another queue changes meanwhile, even at other bytes. */
static choir_status start_compressed(struct by_choir *self, struct bucket *bucket, const choir_call *call)
{
	size_t n = bucket->count - bucket->n_whole;
	choir_buffer values = choir_mem(bucket->values, 0), whole = choir_mem(bucket->values, n * sizeof(float));
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_call after = CHOIR_CALL_INIT;

	if (!self->states[bucket->id])
		TRY(make_state(self, bucket));
	out.dense = values;
	TRY(choir_topk_allreduce(self->states[bucket->id], values, &out, call, &bucket->event));
	if (bucket->n_whole == 0)
		return CHOIR_SUCCESS;
	after.deps = &bucket->event;
	after.n_deps = 1;
	after.name = call->name;
	return choir_allreduce(self->comm, whole, whole, bucket->n_whole, CHOIR_F32, CHOIR_OP_SUM, &after,
	                       &bucket->whole_event);
}

static choir_status start(struct exchange *exchange, struct bucket *bucket, cl_event ready)
{
	struct by_choir *self = (struct by_choir *)exchange;
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
		st = (self->compression.algorithm ? start_compressed : start_whole)(self, bucket, &call);
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
		choir_event *events[] = { bucket->event, bucket->whole_event };

		st = choir_queue_wait(exchange->ocl->queue, bucket->whole_event ? 2 : 1, events);
		return st == CHOIR_SUCCESS ? st : fail_choir("choir_queue_wait", st);
	}
	st = choir_event_wait(bucket->event, -1);
	if (st != CHOIR_SUCCESS)
		return failure(st, "%s: %s: %s", bucket->name, choir_status_name(st), choir_event_error(bucket->event));
	bucket->n_results = bucket->n_index;
	bucket->algorithm = choir_event_algorithm(bucket->event);
	return CHOIR_SUCCESS;
}

static choir_status settle_event(const struct bucket *bucket, choir_event **event_p)
{
	choir_status st = choir_event_wait(*event_p, -1);

	if (st != CHOIR_SUCCESS)
		failure(st, "%s: %s: %s", bucket->name, choir_status_name(st), choir_event_error(*event_p));
	choir_event_release(*event_p);
	*event_p = NULL;
	return st;
}

static choir_status settle(struct exchange *exchange, struct bucket *bucket)
{
	choir_topk_stats stats = { .struct_size = sizeof stats };
	struct by_choir *self = (struct by_choir *)exchange;
	choir_status st = CHOIR_SUCCESS;

	if (self->states[bucket->id] && choir_event_wait(bucket->event, -1) == CHOIR_SUCCESS &&
	    choir_event_topk_stats(bucket->event, &stats) == CHOIR_SUCCESS)
		bucket->received = strcmp(stats.algorithm, "dense") == 0
		                       ? whole_bytes(self, bucket->count - bucket->n_whole)
		                       : (double)stats.pairs_received * (sizeof(int32_t) + sizeof(float));
	if (bucket->whole_event)
		st = settle_event(bucket, &bucket->whole_event);
	TRY(settle_event(bucket, &bucket->event));
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

static choir_status forget(struct exchange *exchange)
{
	struct by_choir *self = (struct by_choir *)exchange;

	for (int i = 0; i < N_BUCKETS; i++) {
		choir_status st = self->states[i] ? choir_topk_reset(self->states[i]) : CHOIR_SUCCESS;

		if (st != CHOIR_SUCCESS)
			return fail_choir("choir_topk_reset", st);
	}
	return CHOIR_SUCCESS;
}

static void destroy(struct exchange *exchange)
{
	struct by_choir *self = (struct by_choir *)exchange;

	for (int i = 0; i < N_BUCKETS; i++)
		choir_topk_destroy(self->states[i]);
	free(exchange);
}

static const struct exchange_ops choir_ops = {
	.name = "choir",
	.start = start,
	.finish = finish,
	.settle = settle,
	.barrier = barrier,
	.least = least,
	.forget = forget,
	.destroy = destroy,
};

choir_status exchange_choir(struct ocl *ocl, choir_comm *comm, const struct compression *compression,
                            struct exchange **out_p)
{
	struct by_choir *self = malloc(sizeof *self);

	if (!self)
		return fail_memory("the exchange", sizeof *self);
	*self =
	    (struct by_choir){ .base = { .ops = &choir_ops, .ocl = ocl }, .comm = comm, .compression = *compression };
	*out_p = &self->base;
	return CHOIR_SUCCESS;
}
