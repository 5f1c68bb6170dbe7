/* SPDX-License-Identifier: MIT */
/* choir_sparse_allreduce through the public face, on worlds of 1, 2, 3, 5 and 8 ranks: random cases against the plain
 * reference, several in flight among dense calls, capacities too small, callbacks that fail. */
#include "sparse/reference.h"
#include "world/gate.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8, FLIGHT = 6 };
enum way { COMPLETES, ALLOCATES, RECEIVES, FALLS_SHORT, N_WAYS };

/* Of premul_sum, each rank's own. */
static const double factors[MOST] = { 0.5, -1.25, 1.0 / 3, 3, 1, 0, 1e-3, 7.7 };

/* One collective: all ranks' inputs and what comes out. */
struct trial {
	uint64_t seed;
	int n;
	choir_dtype ind_dtype, val_dtype;
	choir_op op;
	size_t width, ind_bytes, val_bytes; /* of an index; of a row */
	bool device;
	const char *options;
	choir_coalesce mode;
	struct reference_pairs in[MOST], want;
	void *stored[MOST]; /* indices in their dtype */
};

static void make_trial(struct trial *t, uint64_t seed, int n)
{
	static const choir_dtype values[] = { CHOIR_F32, CHOIR_F64, CHOIR_F16, CHOIR_BF16 };
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_SUM, CHOIR_OP_MAX, CHOIR_OP_MEAN, CHOIR_OP_PREMUL_SUM };
	static const char *const options[] = { NULL,
		                               "algorithm=allgather",
		                               "algorithm=split",
		                               "algorithm=split_bitmap",
		                               "algorithm=split_dense",
		                               "algorithm=recursive_doubling",
		                               "algorithm=mask",
		                               "algorithm=dense" };
	static const size_t widths[] = { 1, 3, 16, 64 }, most[] = { 1, 20, 700, 3000 };
	uint64_t r = seed * 77 + (uint64_t)n;
	size_t range = most[reference_next(&r) % 4] * 2 + 1, pairs = most[reference_next(&r) % 4];

	*t = (struct trial){ .seed = seed,
		             .n = n,
		             .val_dtype = values[reference_next(&r) % 4],
		             .op = ops[reference_next(&r) % 5],
		             .ind_dtype = reference_next(&r) % 2 ? CHOIR_I32 : CHOIR_I64,
		             .width = widths[reference_next(&r) % 4],
		             .device = reference_next(&r) % 2,
		             .options = options[seed % 8] };
	t->mode = (choir_coalesce)(reference_next(&r) % 4 == 0 ? reference_next(&r) % 3 : 0);
	if (t->mode == CHOIR_COALESCE_DISABLE)
		t->options = NULL;
	t->ind_bytes = choir_dtype_bytes(t->ind_dtype);
	t->val_bytes = t->width * choir_dtype_bytes(t->val_dtype);
	for (int k = 0; k < n; k++) {
		struct reference_pairs *in = &t->in[k];

		/* some ranks give nothing */
		in->count = reference_next(&r) % 4 == 0 ? 0 : reference_next(&r) % (pairs + 1);
		in->ind = malloc(in->count * 8 + 8);
		in->val = malloc(in->count * t->val_bytes + 1);
		t->stored[k] = malloc(in->count * 8 + 8);
		for (size_t i = 0; i < in->count; i++) {
			in->ind[i] = (int64_t)(reference_next(&r) % range);
			if (t->ind_bytes == 4)
				((int32_t *)t->stored[k])[i] = (int32_t)in->ind[i];
			else
				((int64_t *)t->stored[k])[i] = in->ind[i];
		}
		reference_random(&r, t->val_dtype, false, in->val, in->count * t->width);
	}
	reference_call(
	    &(struct reference_call){ .ranks = t->in,
	                              .n_ranks = n,
	                              .width = t->width,
	                              .dtype = t->val_dtype,
	                              .op = t->op,
	                              .factors = factors,
	                              .mode = (int)t->mode,
	                              .pairwise = t->options != NULL && strstr(t->options, "recursive") != NULL },
	    &t->want);
}

static void free_trial(struct trial *t)
{
	for (int k = 0; k < t->n; k++) {
		reference_free(&t->in[k]);
		free(t->stored[k]);
	}
	reference_free(&t->want);
}

/* One rank's call of a trial. */
struct side {
	struct world *world;
	int rank, calls;
	const struct trial *trial;
	enum way way;
	struct memory send_ind, send_val, recv_ind, recv_val;
	size_t ind_count, val_count;
	unsigned char *got_ind, *got_val; /* of a completion callback */
	choir_status answer;
	choir_event *event;
};

static void check(struct side *s, bool ok, const char *what)
{
	const struct trial *t = s->trial;

	if (!ok)
		world_fail(s->world, s->rank, "sparse seed %llu: %s %s %s width %zu %s %s way %d: %s",
		           (unsigned long long)t->seed, choir_dtype_name(t->ind_dtype), choir_dtype_name(t->val_dtype),
		           choir_op_name(t->op), t->width, t->device ? "cl_mem" : "host",
		           t->options != NULL ? t->options : "auto", s->way, what);
}

static void check_result(struct side *s, const void *ind, size_t ind_count, const void *val, size_t val_count)
{
	const struct trial *t = s->trial;
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

static void pull(choir_buffer from, void *to, size_t bytes, struct side *s)
{
	if (bytes == 0)
		return;
	if (from.kind == CHOIR_BUFFER_MEM)
		clEnqueueReadBuffer(s->send_ind.queue, from.base, CL_TRUE, from.offset_bytes, bytes, to, 0, NULL, NULL);
	else
		memcpy(to, (unsigned char *)from.base + from.offset_bytes, bytes);
}

static choir_status on_complete(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                size_t val_count, choir_dtype val_dtype)
{
	struct side *s = ctx;
	struct world *world = s->world;
	int rank = s->rank;

	s->calls++;
	CHECK(ind_dtype == s->trial->ind_dtype && val_dtype == s->trial->val_dtype);
	IS(choir_barrier(world->comms[rank], NULL, NULL), CHOIR_WOULD_DEADLOCK);
	s->got_ind = malloc(ind_count * 8 + 1);
	s->got_val = malloc(val_count * 8 + 1);
	pull(ind, s->got_ind, ind_count * s->trial->ind_bytes, s);
	pull(val, s->got_val, val_count / s->trial->width * s->trial->val_bytes, s);
	/* a failure with a sentence of its own */
	return s->answer == CHOIR_SUCCESS ? CHOIR_SUCCESS : choir_event_wait(NULL, 0);
}

static choir_status on_alloc(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count,
                             choir_dtype val_dtype, choir_buffer *out_ind, choir_buffer *out_val)
{
	struct side *s = ctx;

	s->calls++;
	memory_make(&s->recv_ind, s->world->device, s->trial->device, ind_count * choir_dtype_bytes(ind_dtype), 8);
	memory_make(&s->recv_val, s->world->device, s->trial->device, val_count * choir_dtype_bytes(val_dtype), 16);
	*out_ind = s->recv_ind.buffer;
	*out_val = s->recv_val.buffer;
	return s->answer;
}

static void put(struct memory *m, struct side *s, const void *from, size_t bytes)
{
	memory_make(m, s->world->device, s->trial->device, bytes, 8);
	memcpy(memory_payload(m), from, bytes);
	memory_push(m);
}

static choir_status side_start(struct side *s, struct world *world, int rank, choir_comm *comm, const struct trial *t,
                               enum way way, choir_status answer)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;
	const struct reference_pairs *in = &t->in[rank];
	bool buffers = way == RECEIVES || way == FALLS_SHORT, named;

	*s = (struct side){ .world = world, .rank = rank, .trial = t, .way = way, .answer = answer };
	put(&s->send_ind, s, t->stored[rank], in->count * t->ind_bytes);
	put(&s->send_val, s, in->val, in->count * t->val_bytes);
	attr.fn_ctx = s;
	attr.coalesce_mode = t->mode;
	attr.completion_fn = way == COMPLETES ? on_complete : NULL;
	attr.alloc_fn = way == ALLOCATES ? on_alloc : NULL;
	call.options = t->options;
	if (t->op == CHOIR_OP_PREMUL_SUM)
		call.factor = factors[rank];
	if (buffers) {
		s->ind_count = way == RECEIVES ? t->want.count : t->want.count / 2;
		s->val_count = s->ind_count * t->width;
		memory_make(&s->recv_ind, world->device, t->device, t->want.count * t->ind_bytes, 8);
		memory_make(&s->recv_val, world->device, t->device, t->want.count * t->val_bytes, 16);
	}
	named = in->count > 0 || !t->device; /* a rank that gives nothing gets what a rank with cl_mem gets */
	return choir_sparse_allreduce(comm, named ? s->send_ind.buffer : choir_none(), in->count,
	                              named ? s->send_val.buffer : choir_none(), in->count * t->width,
	                              buffers ? s->recv_ind.buffer : choir_none(), &s->ind_count,
	                              buffers ? s->recv_val.buffer : choir_none(), &s->val_count, t->ind_dtype,
	                              t->val_dtype, t->op, &attr, &call, &s->event);
}

/* Nothing written; the sizes said; fetched into a larger buffer, not into a small one. */
static void check_short(struct side *s)
{
	const struct trial *t = s->trial;
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
	      choir_sparse_fetch(s->event, s->recv_ind.buffer, &ind_count, s->recv_val.buffer, &val_count) ==
	          CHOIR_SUCCESS,
	      "not fetched");
}

static void check_stats(struct side *s)
{
	const struct trial *t = s->trial;
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

static void side_end(struct side *s)
{
	if (s->way == FALLS_SHORT && s->trial->want.count > 0) {
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
	memory_free(&s->send_ind);
	memory_free(&s->send_val);
	check_stats(s);
	choir_event_release(s->event);
	free(s->got_ind);
	free(s->got_val);
}

/* Several in flight, a dense sum between any two. */
static void flight(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct trial *trials = arg;
	struct side sides[FLIGHT];
	struct sum sums[FLIGHT];

	for (int i = 0; i < FLIGHT; i++) {
		OK(side_start(&sides[i], world, rank, comm, &trials[i],
		              (enum way)((trials[i].seed + (uint64_t)rank * (i % 2)) % N_WAYS), CHOIR_SUCCESS));
		OK(sum_start(&sums[i], comm, 1000, (float)i, NULL, true));
	}
	for (int i = FLIGHT - 1; i >= 0; i--) {
		OK(choir_event_wait(sums[i].event, -1));
		CHECK(sum_is(&sums[i], world->n));
		sum_free(&sums[i]);
	}
	for (int i = 0; i < FLIGHT; i++)
		side_end(&sides[i]);
}

static void test_flight(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 5; round++)
		for (int per_node = 0; per_node <= 2; per_node++)
			for (size_t i = 0; i < 5; i++) {
				choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
				struct trial trials[FLIGHT];

				config.ranks_per_node = per_node;
				config.deadline_ms = 30000;
				for (int k = 0; k < FLIGHT; k++)
					make_trial(&trials[k], seed++, sizes[i]);
				world_run(sizes[i], &config, flight, trials);
				for (int k = 0; k < FLIGHT; k++)
					free_trial(&trials[k]);
			}
}

/* A callback that fails, or aborts the comm while it runs: its own event fails, the comm goes on; or all fail, and
 * nothing hangs. */
static void failing(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct trial *t = arg;
	struct side s;

	OK(side_start(&s, world, rank, comm, t, COMPLETES, rank == 0 ? CHOIR_ARGUMENT : CHOIR_SUCCESS));
	IS(choir_event_wait(s.event, -1), rank == 0 ? CHOIR_ARGUMENT : CHOIR_SUCCESS);
	CHECK(rank != 0 || says(choir_event_error(s.event), "choir_event_wait"));
	CHECK(s.calls == 1);
	OK(choir_comm_status(comm));
	CHECK(sum_works(comm, 100));
	memory_free(&s.send_ind);
	memory_free(&s.send_val);
	choir_event_release(s.event);
	free(s.got_ind);
	free(s.got_val);
}

static choir_status abort_inside(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                 size_t val_count, choir_dtype val_dtype)
{
	(void)ind, (void)ind_count, (void)ind_dtype, (void)val, (void)val_count, (void)val_dtype;
	return choir_comm_abort(ctx);
}

static void aborting(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static int32_t indices[2] = { 4, 2 };
	static float rows[2] = { 1, 2 };
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_event *event;

	(void)arg;
	attr.completion_fn = abort_inside;
	attr.fn_ctx = comm;
	OK(choir_sparse_allreduce(comm, choir_host(indices), 2, choir_host(rows), 2, choir_none(), NULL, choir_none(),
	                          NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, &event));
	IS(choir_event_wait(event, -1), CHOIR_ABORTED);
	IS(choir_barrier(comm, NULL, NULL), CHOIR_ABORTED);
	choir_event_release(event);
}

static void test_callbacks(void **state)
{
	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		for (int n = 1; n <= 3; n++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			struct trial t;

			config.ranks_per_node = per_node;
			config.deadline_ms = 20000;
			make_trial(&t, 1000, n);
			world_run(n, &config, failing, &t);
			world_run(n, &config, aborting, NULL);
			free_trial(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_flight), cmocka_unit_test(test_callbacks) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
