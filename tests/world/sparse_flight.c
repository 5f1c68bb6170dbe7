/* SPDX-License-Identifier: MIT */
#include "world/sparse_flight.h"

#include "read_mem.h"

#include <stdlib.h>
#include <string.h>

/* Of premul_sum, each rank's own. */
static const double factors[SPARSE_MOST_RANKS] = { 0.5, -1.25, 1.0 / 3, 3, 1, 0, 1e-3, 7.7, 2, -1, 0.1 };

static void make_input(struct sparse_call *t, int rank, uint64_t *r)
{
	struct reference_pairs *in = &t->in[rank];

	/* some ranks give nothing */
	in->count = reference_next(r) % 4 == 0 ? 0 : reference_next(r) % (t->most + 1);
	in->ind = malloc(in->count * 8 + 8);
	in->val = malloc(in->count * t->val_bytes + 1);
	t->stored[rank] = malloc(in->count * 8 + 8);
	for (size_t i = 0; i < in->count; i++) {
		in->ind[i] = (int64_t)(reference_next(r) % t->range);
		if (t->ind_bytes == 4)
			((int32_t *)t->stored[rank])[i] = (int32_t)in->ind[i];
		else
			((int64_t *)t->stored[rank])[i] = in->ind[i];
	}
	reference_random(r, t->val_dtype, false, in->val, in->count * t->width);
}

void sparse_call_make(struct sparse_call *t)
{
	uint64_t r = t->seed * 77 + (uint64_t)t->n;

	t->ind_bytes = choir_dtype_bytes(t->ind_dtype);
	t->val_bytes = t->width * choir_dtype_bytes(t->val_dtype);
	for (int rank = 0; rank < t->n; rank++)
		make_input(t, rank, &r);
	reference_call(
	    &(struct reference_call){ .ranks = t->in,
	                              .n_ranks = t->n,
	                              .width = t->width,
	                              .dtype = t->val_dtype,
	                              .op = t->op,
	                              .factors = factors,
	                              .mode = (int)t->mode,
	                              .wire = (int)t->wire,
	                              .pairwise = t->options != NULL && strstr(t->options, "recursive") != NULL },
	    &t->want);
}

const char *const sparse_call_options[SPARSE_CALL_OPTIONS] = { NULL,
	                                                       "algorithm=allgather",
	                                                       "algorithm=split",
	                                                       "algorithm=split_bitmap",
	                                                       "algorithm=split_dense",
	                                                       "algorithm=recursive_doubling",
	                                                       "algorithm=mask",
	                                                       "algorithm=dense" };

void sparse_call_draw(struct sparse_call *t, uint64_t seed, int n, size_t most_pairs)
{
	static const choir_dtype values[] = { CHOIR_F32, CHOIR_F64, CHOIR_F16, CHOIR_BF16 };
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_SUM, CHOIR_OP_MAX, CHOIR_OP_MEAN, CHOIR_OP_PREMUL_SUM };
	static const size_t widths[] = { 1, 3, 16, 64 }, most[] = { 1, 20, 700, 3000 };
	uint64_t r = seed * 31 + (uint64_t)n + 1;
	size_t range = most[reference_next(&r) % 4] * 2 + 1, pairs = most[reference_next(&r) % 4];

	*t = (struct sparse_call){ .seed = seed,
		                   .n = n,
		                   .val_dtype = values[reference_next(&r) % 4],
		                   .op = ops[reference_next(&r) % 5],
		                   .ind_dtype = reference_next(&r) % 2 ? CHOIR_I32 : CHOIR_I64,
		                   .width = widths[reference_next(&r) % 4],
		                   .range = range,
		                   .most = pairs < most_pairs ? pairs : most_pairs,
		                   .device = reference_next(&r) % 2,
		                   .options = sparse_call_options[seed % SPARSE_CALL_OPTIONS] };
	t->mode = (choir_coalesce)(reference_next(&r) % 4 == 0 ? reference_next(&r) % 3 : 0);
	if (t->mode == CHOIR_COALESCE_DISABLE)
		t->options = NULL;
	if (t->val_dtype == CHOIR_F32)
		t->wire = (choir_sparse_wire)(reference_next(&r) % 3);
	sparse_call_make(t);
}

void sparse_call_free(struct sparse_call *t)
{
	for (int k = 0; k < t->n; k++) {
		reference_free(&t->in[k]);
		free(t->stored[k]);
	}
	reference_free(&t->want);
}

static void check(struct sparse_flight *s, bool ok, const char *what)
{
	const struct sparse_call *t = s->call;

	if (!ok)
		world_fail(s->world, s->rank, "sparse seed %llu: %s %s %s width %zu %s %s wire %d way %d: %s",
		           (unsigned long long)t->seed, choir_dtype_name(t->ind_dtype), choir_dtype_name(t->val_dtype),
		           choir_op_name(t->op), t->width, t->device ? "cl_mem" : "host",
		           t->options != NULL ? t->options : "auto", t->wire, s->way, what);
}

static void check_result(struct sparse_flight *s, const void *ind, size_t ind_count, const void *val, size_t val_count)
{
	const struct sparse_call *t = s->call;
	size_t at;

	check(s, ind_count == t->want.count && val_count == t->want.count * t->width, "wrong counts");
	for (size_t i = 0; i < t->want.count && ind_count == t->want.count; i++)
		if ((t->ind_bytes == 4 ? ((const int32_t *)ind)[i] : ((const int64_t *)ind)[i]) != t->want.ind[i]) {
			check(s, false, "wrong index");
			break;
		}
	if (ind_count == t->want.count)
		check(s, reference_same(t->val_dtype, val, t->want.val, t->want.count * t->width, &at), "wrong value");
}

/* All ranks' threads share the queue. */
static void pull(choir_buffer from, void *to, size_t bytes, struct sparse_flight *s)
{
	if (bytes == 0)
		return;
	if (from.kind == CHOIR_BUFFER_MEM)
		check(s, read_mem(s->send_ind.queue, from.base, from.offset_bytes, bytes, to) == CL_SUCCESS, "no read");
	else
		memcpy(to, (unsigned char *)from.base + from.offset_bytes, bytes);
}

static choir_status on_complete(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                size_t val_count, choir_dtype val_dtype)
{
	struct sparse_flight *s = ctx;
	struct world *world = s->world;
	int rank = s->rank;

	s->calls++;
	CHECK(ind_dtype == s->call->ind_dtype && val_dtype == s->call->val_dtype);
	IS(choir_barrier(s->comm, NULL, NULL), CHOIR_WOULD_DEADLOCK);
	s->got_ind = malloc(ind_count * 8 + 1);
	s->got_val = malloc(val_count * 8 + 1);
	pull(ind, s->got_ind, ind_count * s->call->ind_bytes, s);
	pull(val, s->got_val, val_count / s->call->width * s->call->val_bytes, s);
	/* a failure with a sentence of its own */
	return s->answer == CHOIR_SUCCESS ? CHOIR_SUCCESS : choir_event_wait(NULL, 0);
}

static choir_status on_alloc(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count,
                             choir_dtype val_dtype, choir_buffer *out_ind, choir_buffer *out_val)
{
	struct sparse_flight *s = ctx;

	s->calls++;
	memory_make(&s->recv_ind, s->world->device, s->call->device, ind_count * choir_dtype_bytes(ind_dtype), 8);
	memory_make(&s->recv_val, s->world->device, s->call->device, val_count * choir_dtype_bytes(val_dtype), 16);
	*out_ind = s->recv_ind.buffer;
	*out_val = s->recv_val.buffer;
	return s->answer;
}

static void put(struct memory *m, struct sparse_flight *s, const void *from, size_t bytes)
{
	memory_make(m, s->world->device, s->call->device, bytes, 8);
	memcpy(memory_payload(m), from, bytes);
	memory_push(m);
}

choir_status sparse_flight_start(struct sparse_flight *s, struct world *world, int rank, choir_comm *comm,
                                 const struct sparse_call *t, enum way way, choir_status answer)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;
	const struct reference_pairs *in = &t->in[rank];
	bool buffers = way == RECEIVES || way == FALLS_SHORT, named;

	*s = (struct sparse_flight){
		.world = world, .comm = comm, .rank = rank, .call = t, .way = way, .answer = answer
	};
	put(&s->send_ind, s, t->stored[rank], in->count * t->ind_bytes);
	put(&s->send_val, s, in->val, in->count * t->val_bytes);
	attr.fn_ctx = s;
	attr.coalesce_mode = t->mode;
	attr.wire = t->wire;
	attr.completion_fn = way == COMPLETES ? on_complete : NULL;
	attr.alloc_fn = way == ALLOCATES ? on_alloc : NULL;
	call.options = t->options;
	if (t->op == CHOIR_OP_PREMUL_SUM)
		call.factor = factors[rank];
	if (buffers) {
		s->ind_count = way == RECEIVES ? t->want.count + t->spare : t->want.count / 2;
		s->val_count = s->ind_count * t->width;
		memory_make(&s->recv_ind, world->device, t->device, (t->want.count + t->spare) * t->ind_bytes, 8);
		memory_make(&s->recv_val, world->device, t->device, (t->want.count + t->spare) * t->val_bytes, 16);
	}
	named = in->count > 0 || !t->device; /* a rank that gives nothing gets what a rank with cl_mem gets */
	return choir_sparse_allreduce(comm, named ? s->send_ind.buffer : choir_none(), in->count,
	                              named ? s->send_val.buffer : choir_none(), in->count * t->width,
	                              buffers ? s->recv_ind.buffer : choir_none(), &s->ind_count,
	                              buffers ? s->recv_val.buffer : choir_none(), &s->val_count, t->ind_dtype,
	                              t->val_dtype, t->op, &attr, &call, &s->event);
}

/* Nothing written; the sizes said; fetched into a larger buffer, not into a small one. */
static void check_short(struct sparse_flight *s)
{
	const struct sparse_call *t = s->call;
	size_t ind_count = t->want.count - 1, val_count = t->want.count * t->width;

	check(s, choir_event_wait(s->event, -1) == CHOIR_CAPACITY, choir_event_error(s->event));
	check(s, s->ind_count == t->want.count && s->val_count == t->want.count * t->width,
	      "CAPACITY does not say the sizes");
	memory_pull(&s->recv_ind);
	memory_pull(&s->recv_val);
	for (size_t i = 0; i < s->recv_val.bytes; i++)
		if (memory_payload(&s->recv_val)[i] != SENTINEL) {
			check(s, false, "CAPACITY, but something was written");
			break;
		}
	check(s,
	      choir_sparse_fetch(s->event, s->recv_ind.buffer, &ind_count, s->recv_val.buffer, &val_count) ==
	          CHOIR_CAPACITY,
	      "fetched into too little");
	check(s, ind_count == t->want.count, "fetch does not say the size");
	check(s,
	      choir_sparse_fetch(s->event, s->recv_ind.buffer, &ind_count, s->recv_ind.buffer, &val_count) ==
	              CHOIR_ARGUMENT &&
	          strncmp(choir_last_error(), "choir_sparse_fetch: ", strlen("choir_sparse_fetch: ")) == 0 &&
	          (s->recv_ind.buffer.kind != CHOIR_BUFFER_HOST || strstr(choir_last_error(), "overlap") != NULL),
	      "fetched into one buffer twice");
	check(s,
	      choir_sparse_fetch(s->event, s->recv_ind.buffer, &ind_count, s->recv_val.buffer, &val_count) ==
	          CHOIR_SUCCESS,
	      "not fetched");
}

static void check_stats(struct sparse_flight *s)
{
	const struct sparse_call *t = s->call;
	choir_sparse_stats stats = { .struct_size = sizeof stats };
	size_t all = 0;

	for (int r = 0; r < t->n; r++)
		all += t->in[r].count;
	check(s, choir_event_sparse_stats(s->event, &stats) == CHOIR_SUCCESS, choir_last_error());
	check(s, stats.pairs_in == t->in[s->rank].count && stats.pairs_out == t->want.count, "statistics: pairs");
	check(s, stats.pairs_merged >= t->want.count && stats.pairs_merged <= all, "statistics: pairs merged");
	check(s, stats.imbalance >= 1 && stats.imbalance <= t->n, "statistics: imbalance");
	check(s, (stats.predicted_us > 0 || all == 0 || t->n == 1) && (*stats.algorithm != '\0') == (all > 0),
	      "statistics: prediction");
	check(s,
	      strcmp(stats.algorithm, choir_event_algorithm(s->event)) == 0 &&
	          stats.wire_bytes == choir_event_wire_bytes(s->event),
	      "statistics: algorithm, wire bytes");
}

void sparse_flight_land(struct sparse_flight *s)
{
	if (s->way == FALLS_SHORT && s->call->want.count > 0) {
		check_short(s);
	} else {
		check(s, choir_event_wait(s->event, -1) == CHOIR_SUCCESS, choir_event_error(s->event));
		check(s, s->calls == (s->way == COMPLETES || s->way == ALLOCATES), "number of callbacks");
	}
	if (s->way == COMPLETES) {
		check_result(s, s->got_ind, s->ind_count, s->got_val, s->val_count);
	} else {
		memory_pull(&s->recv_ind);
		memory_pull(&s->recv_val);
		check_result(s, memory_payload(&s->recv_ind), s->ind_count, memory_payload(&s->recv_val), s->val_count);
		check(s, memory_sentinels_stand(&s->recv_ind) && memory_sentinels_stand(&s->recv_val),
		      "wrote round its output");
		memory_free(&s->recv_ind);
		memory_free(&s->recv_val);
	}
	check_stats(s);
	sparse_flight_free(s);
}

void sparse_flight_free(struct sparse_flight *s)
{
	memory_free(&s->send_ind);
	memory_free(&s->send_val);
	choir_event_release(s->event);
	free(s->got_ind);
	free(s->got_val);
}

void sparse_flight_run(struct world *world, int rank, choir_comm *comm, const struct sparse_call *call, enum way way)
{
	struct sparse_flight flight;

	if (OK(sparse_flight_start(&flight, world, rank, comm, call, way, CHOIR_SUCCESS)))
		sparse_flight_land(&flight);
}
