/* SPDX-License-Identifier: MIT */
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SENTINEL 0x5a
#define GUARD    64

choir_device *case_devices[N_KINDS];

static const double case_factors[MOST_RANKS] = { 0.5, -1.25, 1.0 / 3, 3, 1, 0, 1e-3, 7.7 };

/* What a rank gives: host memory is lent, so that a test may still change what it holds. */
static choir_buffer give(enum memory memory, const void *from, size_t bytes)
{
	if (memory == IN_HOST)
		return choir_host(from);
	return bytes == 0 ? choir_none() : buffer_make(memory, from, bytes);
}

/* Fresh memory full of sentinels. */
static choir_buffer blank(enum memory memory, size_t bytes)
{
	unsigned char *p = malloc(bytes + 1);
	choir_buffer buffer;

	memset(p, SENTINEL, bytes + 1);
	buffer = buffer_make(memory, p, bytes + 1);
	free(p);
	return buffer;
}

static void keep(struct side *side, choir_buffer ind, size_t ind_count, choir_buffer val, size_t val_count)
{
	side->got_ind = malloc(ind_count * side->ind_bytes + 1);
	side->got_val = malloc(val_count * side->elem_bytes + 1);
	side->got_ind_count = ind_count;
	side->got_val_count = val_count;
	buffer_read(ind, side->got_ind, ind_count * side->ind_bytes);
	buffer_read(val, side->got_val, val_count * side->elem_bytes);
}

static choir_status on_complete(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                                size_t val_count, choir_dtype val_dtype)
{
	struct side *side = ctx;

	assert_int_equal(choir_dtype_bytes(ind_dtype), side->ind_bytes);
	assert_int_equal(choir_dtype_bytes(val_dtype), side->elem_bytes);
	if (ind_count > 0) {
		assert_int_equal(ind.kind, side->lends_mem ? CHOIR_BUFFER_MEM : CHOIR_BUFFER_HOST);
		assert_int_equal(val.kind, ind.kind);
	} else {
		assert_true(ind.kind == CHOIR_BUFFER_NONE && val.kind == CHOIR_BUFFER_NONE);
	}
	keep(side, ind, ind_count, val, val_count);
	side->calls++;
	return side->answer;
}

static choir_status on_alloc(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count,
                             choir_dtype val_dtype, choir_buffer *out_ind, choir_buffer *out_val)
{
	struct side *side = ctx;

	assert_int_equal(choir_dtype_bytes(ind_dtype), side->ind_bytes);
	assert_int_equal(choir_dtype_bytes(val_dtype), side->elem_bytes);
	side->calls++;
	if (side->gives_nothing)
		return CHOIR_SUCCESS;
	side->got_ind_count = ind_count;
	side->got_val_count = val_count;
	*out_ind = side->recv_ind = blank(side->recv, ind_count * side->ind_bytes);
	*out_val = side->recv_val = blank(side->recv, val_count * side->elem_bytes);
	return side->answer;
}

static enum memory any_memory(uint64_t *seed)
{
	enum memory memory;

	do
		memory = (enum memory)(reference_next(seed) % N_MEMORIES);
	while (!buffers_have(memory));
	return memory;
}

void case_fill(struct side *side, const struct test_case *c, int rank, uint64_t *seed, choir_device *device)
{
	size_t row = c->width * choir_dtype_bytes(c->val_dtype);

	*side = (struct side){ .device = device,
		               .rank = rank,
		               .ind_in = c->memory,
		               .val_in = c->memory,
		               .recv = c->memory,
		               .ind_bytes = choir_dtype_bytes(c->ind_dtype),
		               .elem_bytes = choir_dtype_bytes(c->val_dtype) };
	if (c->any_memory) {
		side->ind_in = any_memory(seed);
		side->val_in = any_memory(seed);
		side->recv = any_memory(seed);
	}
	side->in.count = reference_next(seed) % 4 == 0 ? 0 : reference_next(seed) % (c->most_pairs + 1);
	if (c->hot != 0 && rank == abs(c->hot))
		side->in.count = c->hot > 0 ? c->most_pairs * 10 : 0;
	if (c->first_has_none && rank == 0)
		side->in.count = 0;
	side->in.ind = malloc((side->in.count + 1) * 8);
	side->in.val = malloc(side->in.count * row + 1);
	side->stored = malloc((side->in.count + 1) * 8);
	for (size_t i = 0; i < side->in.count; i++) {
		side->in.ind[i] = (int64_t)(c->base + (uint64_t)rank * c->apart + reference_next(seed) % c->range);
		if (side->ind_bytes == 4)
			((int32_t *)side->stored)[i] = (int32_t)side->in.ind[i];
		else
			((int64_t *)side->stored)[i] = side->in.ind[i];
	}
	reference_random(seed, c->val_dtype, c->specials, side->in.val, side->in.count * c->width);
	side->send_ind = give(side->ind_in, side->stored, side->in.count * side->ind_bytes);
	side->send_val = give(side->val_in, side->in.val, side->in.count * row);
	if (side->in.count == 0 && rank % 2 == 1)
		side->send_ind = side->send_val = choir_none();
	side->lends_mem = side->send_ind.kind != CHOIR_BUFFER_HOST || side->send_val.kind != CHOIR_BUFFER_HOST;
}

struct sparse_call case_call(struct side *side, const struct test_case *c, size_t capacity)
{
	struct sparse_call call = { .send_ind = side->send_ind,
		                    .send_val = side->send_val,
		                    .send_ind_count = side->in.count,
		                    .send_val_count = side->in.count * c->width,
		                    .recv_ind_count = &side->ind_count,
		                    .recv_val_count = &side->val_count,
		                    .ind_dtype = c->ind_dtype,
		                    .val_dtype = c->val_dtype,
		                    .op = c->op,
		                    .attr = CHOIR_SPARSE_ATTR_INIT,
		                    .algorithm = c->algorithm };

	if (c->op == CHOIR_OP_PREMUL_SUM)
		call.factor = case_factors[side->rank];
	call.attr.fn_ctx = side;
	call.attr.coalesce_mode = c->mode;
	call.attr.wire = c->wire;
	if (c->way == COMPLETES)
		call.attr.completion_fn = on_complete;
	if (c->way == ALLOCATES)
		call.attr.alloc_fn = on_alloc;
	if (c->way == RECEIVES || c->way == FALLS_SHORT) {
		call.ind_capacity = c->way == RECEIVES ? capacity : capacity / 2;
		call.val_capacity = call.ind_capacity * c->width;
		side->recv_ind = call.recv_ind = blank(side->recv, capacity * side->ind_bytes + GUARD);
		side->recv_val = call.recv_val = blank(side->recv, capacity * c->width * side->elem_bytes + GUARD);
	}
	return call;
}

static void expect(const struct test_case *c, bool ok, int rank, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %d ranks on %d nodes, %s %s %s width %zu, mode %d, wire %d, %s, way %d, memory "
		         "%d, rank %d: %s",
		         (unsigned long long)c->seed, c->n, c->n_nodes, choir_dtype_name(c->ind_dtype),
		         choir_dtype_name(c->val_dtype), choir_op_name(c->op), c->width, c->mode, c->wire,
		         c->algorithm == NULL ? "chosen" : c->algorithm, c->way, c->any_memory ? -1 : (int)c->memory,
		         rank, what);
}

static void all_blank(const struct test_case *c, choir_buffer buffer, size_t from, size_t bytes, int rank)
{
	unsigned char *p = malloc(from + bytes + 1);

	buffer_read(buffer, p, from + bytes);
	for (size_t i = 0; i < bytes; i++)
		expect(c, p[from + i] == SENTINEL, rank, "wrote where it must not");
	free(p);
}

/* After CAPACITY: nothing written, the sizes said, the result fetched. */
static void fetch(const struct test_case *c, struct world_rank *rank, struct side *side,
                  const struct reference_pairs *want, int r)
{
	size_t short_ind = want->count - 1, short_val = want->count * c->width;
	choir_buffer ind = blank(side->recv, want->count * side->ind_bytes),
		     val = blank(side->recv, short_val * side->elem_bytes);
	size_t ind_count = want->count, val_count = short_val;

	expect(c, rank->status == CHOIR_CAPACITY && rank->failure_is_local && rank->result != NULL, r, rank->error);
	all_blank(c, side->recv_ind, 0, want->count * side->ind_bytes, r);
	assert_int_equal(side->ind_count, want->count);
	assert_int_equal(side->val_count, want->count * c->width);
	assert_int_equal(sparse_result_fetch(rank->result, ind, &short_ind, val, &short_val), CHOIR_CAPACITY);
	assert_int_equal(short_ind, want->count);
	assert_int_equal(sparse_result_fetch(rank->result, ind, &ind_count, val, &val_count), CHOIR_SUCCESS);
	keep(side, ind, ind_count, val, val_count);
	sparse_result_free(rank->result);
	buffer_free(ind);
	buffer_free(val);
}

static void check_side(const struct test_case *c, struct world_rank *rank, struct side *side,
                       const struct reference_pairs *want, int r)
{
	size_t at = 0;

	if (c->way == FALLS_SHORT && want->count > want->count / 2) {
		fetch(c, rank, side, want, r);
	} else {
		expect(c, rank->status == CHOIR_SUCCESS, r, rank->error);
		if (c->way == ALLOCATES)
			keep(side, side->recv_ind, side->got_ind_count, side->recv_val, side->got_val_count);
		if (c->way == RECEIVES || c->way == FALLS_SHORT) {
			keep(side, side->recv_ind, side->ind_count, side->recv_val, side->val_count);
			all_blank(c, side->recv_ind, want->count * side->ind_bytes, GUARD, r);
			all_blank(c, side->recv_val, want->count * c->width * side->elem_bytes, GUARD, r);
		}
		assert_int_equal(side->calls, c->way == COMPLETES || c->way == ALLOCATES);
	}
	expect(c, side->got_ind_count == want->count && side->ind_count == want->count, r, "wrong count of indices");
	expect(c, side->got_val_count == want->count * c->width && side->val_count == want->count * c->width, r,
	       "wrong count of values");
	for (size_t i = 0; i < want->count; i++)
		expect(c,
		       (side->ind_bytes == 4 ? ((int32_t *)side->got_ind)[i] : ((int64_t *)side->got_ind)[i]) ==
		           want->ind[i],
		       r, "wrong index");
	expect(c, reference_same(c->val_dtype, side->got_val, want->val, want->count * c->width, &at), r,
	       "wrong value");
}

void case_free(struct side *side)
{
	if (side->ind_in != IN_HOST)
		buffer_free(side->send_ind);
	if (side->val_in != IN_HOST)
		buffer_free(side->send_val);
	buffer_free(side->recv_ind);
	buffer_free(side->recv_val);
	reference_free(&side->in);
	free(side->stored);
	free(side->got_ind);
	free(side->got_val);
}

void case_run(const struct test_case *c, choir_device *device)
{
	struct side sides[MOST_RANKS];
	struct world_rank ranks[MOST_RANKS];
	struct reference_pairs ins[MOST_RANKS], want;
	struct world world;
	uint64_t seed = c->seed;
	size_t total = 0;

	memset(ranks, 0, sizeof ranks);
	for (int r = 0; r < c->n; r++) {
		case_fill(&sides[r], c, r, &seed, device);
		ins[r] = sides[r].in;
		total += ins[r].count;
	}
	reference_call(&(struct reference_call){ .ranks = ins,
	                                         .n_ranks = c->n,
	                                         .width = c->width,
	                                         .dtype = c->val_dtype,
	                                         .op = c->op,
	                                         .factors = case_factors,
	                                         .mode = (int)c->mode,
	                                         .wire = (int)c->wire,
	                                         .pairwise = c->algorithm != NULL &&
	                                                     strcmp(c->algorithm, "recursive_doubling") == 0 },
	               &want);
	for (int r = 0; r < c->n; r++) {
		ranks[r].call = case_call(&sides[r], c, want.count);
		if (sparse_check(device, c->n, &ranks[r].call) != CHOIR_SUCCESS)
			expect(c, false, r, choir_last_error());
	}
	world_init(&world, c->n, c->n_nodes, device);
	world.memories = c->memories;
	world.nt = c->nt;
	world.other_device = c->mixed ? case_devices[KERNELS] : device;
	world_run(&world, ranks);
	for (int r = 0; r < c->n; r++) {
		check_side(c, &ranks[r], &sides[r], &want, r);
		if (c->algorithm != NULL && total > 0)
			assert_string_equal(ranks[r].algorithm, c->algorithm);
		case_free(&sides[r]);
	}
	world_fini(&world);
	reference_free(&want);
}

int case_open(void **state)
{
	static const choir_device_config configs[N_KINDS] = {
		[PLAIN] = CHOIR_DEVICE_CONFIG_INIT,
		[MAPPED] = { sizeof(choir_device_config), CHOIR_CLASS_MAP, CHOIR_REDUCE_HOST },
		[STAGED] = { sizeof(choir_device_config), CHOIR_CLASS_STAGE, CHOIR_REDUCE_HOST },
		[KERNELS] = { sizeof(choir_device_config), CHOIR_CLASS_AUTO, CHOIR_REDUCE_KERNEL },
		[STAGED_KERNELS] = { sizeof(choir_device_config), CHOIR_CLASS_STAGE, CHOIR_REDUCE_KERNEL },
	};
	choir_device *first;
	cl_context context;

	(void)state;
	if (choir_device_create_default(0, &first) != CHOIR_SUCCESS)
		return -1;
	context = choir_device_context(first);
	for (int kind = 0; kind < N_KINDS; kind++)
		if (choir_device_create(context, choir_device_id(first), &configs[kind], &case_devices[kind]) !=
		    CHOIR_SUCCESS)
			return -1;
	choir_device_destroy(first);
	buffers_open(case_devices[PLAIN]);
	return 0;
}

int case_close(void **state)
{
	(void)state;
	for (int kind = 0; kind < N_KINDS; kind++)
		choir_device_destroy(case_devices[kind]);
	return 0;
}
