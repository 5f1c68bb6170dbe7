/* SPDX-License-Identifier: MIT */
/* Coalescing: all routes of the host twin and of the kernels against the plain reference, bit for bit.  Small sizes only on Oclgrind, which
 * interprets, or with CHOIR_TEST_QUICK=1. */
#include "kern/reduce.h"
#include "quick.h"
#include "sparse/coalesce_kernel.h"
#include "sparse/range_kernel.h"
#include "sparse/interprets.h"
#include "sparse/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SENTINEL 0x5a
#define GUARD 64

/* HOST, KERNEL: the one that is chosen. */
enum route { HOST, BITMAP, SORT, KERNEL, KERNEL_SORT, N_ROUTES };
static const char *const route_names[] = { "host", "bitmap", "sort", "kernel", "kernel sort" };

static choir_device *device;
static bool small;

struct shape {
	const char *name;
	size_t n, width;
	uint64_t base, range; /* indices in [base, base + range) */
	int order;            /* 0 random, 1 sorted, 2 reversed, 3 all equal */
	uint32_t n_src;       /* lists the pairs are dealt to */
};

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void make(const struct shape *shape, choir_dtype dtype, bool specials, uint64_t seed, struct reference_pairs *out)
{
	out->count = shape->n;
	out->ind = malloc((shape->n + 1) * sizeof *out->ind);
	out->val = malloc((shape->n * shape->width + 1) * choir_dtype_bytes(dtype));
	for (size_t i = 0; i < shape->n; i++)
		out->ind[i] = (int64_t)(shape->base + (shape->order == 3 ? shape->range / 2 : reference_next(&seed) % shape->range));
	if (shape->order == 1 || shape->order == 2)
		qsort(out->ind, shape->n, sizeof *out->ind, ascending);
	for (size_t i = 0; shape->order == 2 && i < shape->n / 2; i++) {
		int64_t swap = out->ind[i];

		out->ind[i] = out->ind[shape->n - 1 - i];
		out->ind[shape->n - 1 - i] = swap;
	}
	reference_random(&seed, dtype, specials, out->val, shape->n * shape->width);
}

/* The first pair of each index, ascending, of count pairs: what a coalesced list is. */
static size_t keep_distinct(struct reference_pairs *all, size_t from, size_t count, size_t row)
{
	size_t kept = 0;

	for (size_t i = from; i < from + count; i++) {
		size_t to = from;

		while (to < from + kept && all->ind[to] < all->ind[i])
			to++;
		if (to < from + kept && all->ind[to] == all->ind[i])
			continue;
		int64_t index = all->ind[i];
		unsigned char first[65 * 8];

		memcpy(first, all->val + i * row, row);
		memmove(all->ind + to + 1, all->ind + to, (from + kept - to) * sizeof *all->ind);
		memmove(all->val + (to + 1) * row, all->val + to * row, (from + kept - to) * row);
		all->ind[to] = index;
		memcpy(all->val + to * row, first, row);
		kept++;
	}
	return kept;
}

/* Deals the pairs to lists, each half of what is left; lists that are not raw are coalesced.  counts: [n_src]. */
static void deal(const struct shape *shape, const struct reference_pairs *in, size_t row, bool raw, struct reference_pairs *out, size_t *counts)
{
	size_t at = 0;

	out->ind = malloc((shape->n + 1) * sizeof *out->ind);
	out->val = malloc((shape->n + 1) * row);
	out->count = 0;
	for (uint32_t s = 0; s < shape->n_src; s++) {
		size_t share = s + 1 == shape->n_src ? shape->n - at : (shape->n - at) / 2;

		memcpy(out->ind + out->count, in->ind + at, share * sizeof *out->ind);
		memcpy(out->val + out->count * row, in->val + at * row, share * row);
		counts[s] = raw ? share : keep_distinct(out, out->count, share, row);
		out->count += counts[s];
		at += share;
	}
}

static void run_job(struct coalesce *job, void *ind, struct index_form form, void *val)
{
	bool done = false;

	while (!done)
		assert_int_equal(coalesce_count(job, &done), CHOIR_SUCCESS);
	for (done = false; !done;)
		assert_int_equal(coalesce_fill(job, ind, form, val, &done), CHOIR_SUCCESS);
}

static void check_guard(const unsigned char *p)
{
	for (int i = 0; i < GUARD; i++)
		assert_int_equal(p[i], SENTINEL);
}

/* One route on one input, dealt to lists, written with sentinels behind both outputs. */
static void one_route(const struct shape *shape, choir_dtype dtype, choir_op op, bool raw, const struct reference_pairs *in, const size_t *counts,
                      uint32_t ind_bytes, enum route route)
{
	struct coalesce_source *src = calloc(shape->n_src, sizeof *src);
	size_t row = shape->width * choir_dtype_bytes(dtype), at = 0, bad = 0;
	struct index_form in_form = { .bytes = ind_bytes }, out_form;
	unsigned char *stored = malloc(in->count * 8 + 8), *ind, *val;
	struct reference_pairs want;
	struct coalesce job;
	struct coalesce_call call = { .dtype = dtype, .op = op, .width = shape->width, .raw = raw, .final = !raw, .n_ranks = 3, .src = src,
				      .n_src = shape->n_src };

	call.range = (struct index_range){ .lo = (int64_t)shape->base, .hi = (int64_t)(shape->base + shape->range - 1) };
	if (ind_bytes == 4 && call.range.hi > INT32_MAX)
		in_form = index_form_of(call.range);
	out_form = index_form_of(call.range);
	index_convert(stored, in_form, in->ind, (struct index_form){ .bytes = 8 }, in->count);
	for (uint32_t s = 0; s < shape->n_src; s++) {
		src[s].pairs = (struct pairs){ .ind = stored + at * in_form.bytes, .rows = in->val + at * row, .count = counts[s], .form = in_form };
		at += counts[s];
	}
	reference_coalesce(in, shape->width, dtype, op, raw, !raw, 3, &want);
	ind = malloc(want.count * out_form.bytes + GUARD);
	val = malloc(want.count * row + GUARD);
	memset(ind, SENTINEL, want.count * out_form.bytes + GUARD);
	memset(val, SENTINEL, want.count * row + GUARD);
	assert_int_equal(coalesce_init(&job, &call, route >= KERNEL ? device : NULL), CHOIR_SUCCESS);
	if (route == BITMAP || route == SORT)
		job.way = route == SORT ? &coalesce_way_sort : &coalesce_way_bitmap;
	else if (route == KERNEL_SORT && job.on_device != NULL)
		job.on_device->route = &coalesce_route_sort;
	run_job(&job, ind, out_form, val);
	if (job.count != want.count)
		fail_msg("%s %s %s %s: %zu distinct, not %zu", shape->name, route_names[route], choir_dtype_name(dtype), choir_op_name(op),
			 (size_t)job.count, want.count);
	for (size_t i = 0; i < want.count; i++)
		assert_int_equal(index_at(ind, out_form, i), want.ind[i]);
	if (!reference_same(dtype, val, want.val, want.count * shape->width, &bad))
		fail_msg("%s %s %s %s raw %d: element %zu differs", shape->name, route_names[route], choir_dtype_name(dtype),
			 choir_op_name(op), raw, bad);
	check_guard(ind + want.count * out_form.bytes);
	check_guard(val + want.count * row);
	coalesce_fini(&job);
	reference_free(&want);
	free(ind);
	free(val);
	free(stored);
	free(src);
}

static void all_routes(const struct shape *shape, choir_dtype dtype, choir_op op, uint32_t ind_bytes, bool specials)
{
	struct reference_pairs in, dealt;
	size_t counts[8];

	make(shape, dtype, specials, 88172645463325252u + shape->n, &in);
	for (int raw = 0; raw < 2; raw++) {
		if (!raw && shape->n > 5000)
			continue; /* they are coalesced by insertion */
		deal(shape, &in, shape->width * choir_dtype_bytes(dtype), raw, &dealt, counts);
		for (enum route route = HOST; route < N_ROUTES; route++) {
			if (route == BITMAP && shape->range > 1u << 24)
				continue;
			if (route >= KERNEL && reduce_kernel_supported(device, dtype, op) != CHOIR_SUCCESS)
				continue;
			one_route(shape, dtype, op, raw, &dealt, counts, ind_bytes, route);
		}
		reference_free(&dealt);
	}
	reference_free(&in);
}

static bool supported(choir_dtype dtype, choir_op op)
{
	return op != CHOIR_OP_LOCAL && reduce_supported(dtype, op) == CHOIR_SUCCESS;
}

/* Each combination is some programs to build, and what the operators do with each type is tested where they are (kern-kernels): so a sum of every type, a third of the
 * others, each operator with some type of each size. */
static bool picked(choir_dtype dtype, choir_op op)
{
	if (small)
		return op == CHOIR_OP_SQUARE_ADD || op == CHOIR_OP_MEAN;
	return op == CHOIR_OP_SUM || ((int)dtype + (int)op) % 3 == 0;
}

static void every_dtype_and_operator(void **state)
{
	struct shape rows = { .name = "duplicates", .n = small ? 37 : 301, .width = 3, .range = 40, .n_src = 3 };
	struct shape scalars = { .name = "scalars", .n = small ? 41 : 333, .width = 1, .range = 90, .n_src = 2 };

	(void)state;
	for (choir_dtype dtype = CHOIR_I8; dtype <= CHOIR_BOOL; dtype++)
		for (choir_op op = CHOIR_OP_SUM; op < CHOIR_OP_LOCAL; op++)
			if (supported(dtype, op) && picked(dtype, op)) {
				all_routes(&rows, dtype, op, (op & 1) != 0 ? 4 : 8, true);
				if (op == CHOIR_OP_SUM || op == CHOIR_OP_MEAN || op == CHOIR_OP_SQUARE_ADD)
					all_routes(&scalars, dtype, op, (op & 1) != 0 ? 8 : 4, true);
			}
}

static void every_width(void **state)
{
	static const size_t widths[] = { 1, 2, 3, 16, 64, 65 };

	(void)state;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct shape shape = { .name = "width", .n = small ? 21 : 500, .width = widths[i], .range = 300, .n_src = 1 };

		all_routes(&shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
		all_routes(&shape, CHOIR_BF16, CHOIR_OP_MEAN, 8, false);
		all_routes(&shape, CHOIR_F64, CHOIR_OP_SUM, 4, false);
	}
}

static void every_size_and_order(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 63, 64, 65, 257, 4097, 20011 };
	static const char *const orders[] = { "random", "sorted", "reversed", "all equal" };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int order = 0; order < 4; order++) {
			struct shape shape = { .name = orders[order], .n = sizes[i], .width = 1, .range = sizes[i] * 3 + 1, .order = order,
					       .n_src = 1 };

			if (small && shape.n > 300)
				continue;
			all_routes(&shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
			all_routes(&shape, CHOIR_F16, CHOIR_OP_SUM, 8, false);
		}
}

static void every_range(void **state)
{
	static const struct shape shapes[] = {
		{ .name = "one index", .n = 50, .width = 2, .base = 7, .range = 1, .n_src = 2 },
		{ .name = "one word", .n = 50, .width = 1, .base = 3, .range = 64, .n_src = 1 },
		{ .name = "a million", .n = 20000, .width = 1, .range = 1000000, .n_src = 2 },
		{ .name = "many buckets", .n = 70001, .width = 1, .base = 11, .range = 4000000, .n_src = 1 },
		{ .name = "radix of 11 bits", .n = 70001, .width = 1, .range = INT32_MAX, .n_src = 1 },
		{ .name = "merged", .n = 4000, .width = 1, .base = 100, .range = 30001, .n_src = 5 },
		{ .name = "to the end", .n = 3000, .width = 2, .base = INT32_MAX - 2000, .range = 2001, .n_src = 4 },
		{ .name = "31 bits", .n = 300, .width = 1, .range = INT32_MAX, .n_src = 1 },
		{ .name = "far, narrow", .n = 300, .width = 2, .base = UINT64_C(1) << 40, .range = 1000, .n_src = 3 },
		{ .name = "far, 32 bits", .n = 300, .width = 1, .base = 5, .range = UINT64_C(1) << 32, .n_src = 2 },
		{ .name = "33 bits", .n = 300, .width = 1, .range = UINT64_C(1) << 33, .n_src = 2 },
		{ .name = "all of i64", .n = 300, .width = 3, .range = INT64_MAX, .n_src = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct shape shape = shapes[i];

		shape.n = small && shape.n > 50 ? 50 : shape.n;
		all_routes(&shape, CHOIR_F32, CHOIR_OP_SUM, 8, false);
		if (shape.base + shape.range - 1 <= INT32_MAX)
			all_routes(&shape, CHOIR_F32, CHOIR_OP_SUM, 4, false);
	}
}

/* The kernels read a caller's cl_mem at offsets, where it lies. */
static void kernels_read_cl_mem(void **state)
{
	struct shape shape = { .name = "cl_mem", .n = small ? 33 : 999, .width = 2, .range = 100, .n_src = 1 };
	struct reference_pairs in, want;
	struct coalesce_source src = { .ind_off = 12, .val_off = 20 };
	struct coalesce job;
	struct coalesce_call call = { .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .width = 2, .raw = true, .n_ranks = 1, .src = &src, .n_src = 1,
				      .range = { 0, 99 } };
	struct range_job *range_job;
	struct index_range range;
	uint64_t bad_at;
	int64_t bad_index;
	bool done = false;
	int32_t *ind = calloc(shape.n + 3, 4), out_ind[100];
	float *val = calloc(shape.n * 2 + 5, 4), out_val[200];
	size_t at;
	cl_int rc;

	(void)state;
	make(&shape, CHOIR_F32, false, 7, &in);
	for (size_t i = 0; i < shape.n; i++)
		ind[i + 3] = (int32_t)in.ind[i];
	memcpy(val + 5, in.val, shape.n * 8);
	src.ind_mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, (shape.n + 3) * 4, ind, &rc);
	src.val_mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, (shape.n * 2 + 5) * 4, val, &rc);
	src.pairs = (struct pairs){ .count = shape.n, .form = { .bytes = 4 } };
	assert_int_equal(range_job_create(device, src.ind_mem, src.ind_off, 4, shape.n, &range_job), CHOIR_SUCCESS);
	while (!done)
		assert_int_equal(range_job_poll(range_job, &range, &bad_at, &bad_index, &done), CHOIR_SUCCESS);
	range_job_destroy(range_job);
	assert_int_equal(bad_at, shape.n);
	assert_true(range.lo >= 0 && range.hi < 100 && range.lo <= range.hi);
	reference_coalesce(&in, 2, CHOIR_F32, CHOIR_OP_SUM, true, false, 1, &want);
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	run_job(&job, out_ind, (struct index_form){ .bytes = 4 }, out_val);
	assert_int_equal(job.count, want.count);
	assert_true(reference_same(CHOIR_F32, out_val, want.val, want.count * 2, &at));
	for (size_t i = 0; i < want.count; i++)
		assert_int_equal(out_ind[i], want.ind[i]);
	coalesce_fini(&job);
	clReleaseMemObject(src.ind_mem);
	clReleaseMemObject(src.val_mem);
	reference_free(&in);
	reference_free(&want);
	free(ind);
	free(val);
}

/* Host and kernel name the first negative index. */
static void negative_indices_are_found(void **state)
{
	int64_t ind[600];
	cl_mem mem;
	cl_int rc;
	uint64_t bad_at;
	int64_t bad_index;
	struct index_range range;
	struct range_job *job;
	bool done = false;

	(void)state;
	for (int i = 0; i < 600; i++)
		ind[i] = i * 11;
	range = coalesce_range_host(ind, 8, 600, &bad_at);
	assert_int_equal(bad_at, 600);
	assert_int_equal(range.lo, 0);
	assert_int_equal(range.hi, 599 * 11);
	ind[411] = -5;
	ind[500] = -7;
	range = coalesce_range_host(ind, 8, 600, &bad_at);
	assert_int_equal(bad_at, 411);
	mem = clCreateBuffer(choir_device_context(device), CL_MEM_COPY_HOST_PTR, sizeof ind, ind, &rc);
	assert_int_equal(range_job_create(device, mem, 0, 8, 600, &job), CHOIR_SUCCESS);
	while (!done)
		assert_int_equal(range_job_poll(job, &range, &bad_at, &bad_index, &done), CHOIR_SUCCESS);
	assert_int_equal(bad_at, 411);
	assert_int_equal(bad_index, -5);
	range_job_destroy(job);
	clReleaseMemObject(mem);
}

/* A job given up half-way leaves nothing running. */
static void giving_up_is_safe(void **state)
{
	struct shape shape = { .name = "given up", .n = small ? 50 : 5000, .width = 4, .range = 1000, .n_src = 1 };
	struct reference_pairs in;
	struct coalesce_source src = { 0 };
	struct coalesce job;
	struct coalesce_call call = { .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .width = 4, .n_ranks = 1, .src = &src, .n_src = 1,
				      .range = { 0, 999 } };
	bool done;

	(void)state;
	make(&shape, CHOIR_F32, false, 3, &in);
	src.pairs = (struct pairs){ .ind = in.ind, .rows = in.val, .count = in.count, .form = { .bytes = 8 } };
	assert_int_equal(coalesce_init(&job, &call, device), CHOIR_SUCCESS);
	assert_int_equal(coalesce_count(&job, &done), CHOIR_SUCCESS);
	coalesce_fini(&job);
	reference_free(&in);
}

static int open_device(void **state)
{
	(void)state;
	if (choir_device_create_default(0, &device) != CHOIR_SUCCESS)
		return -1;
	small = quick_wanted() || device_interprets(device);
	return 0;
}

static int close_device(void **state)
{
	(void)state;
	choir_device_destroy(device);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_dtype_and_operator), cmocka_unit_test(every_width),		 cmocka_unit_test(every_size_and_order),
		cmocka_unit_test(every_range),		    cmocka_unit_test(kernels_read_cl_mem), cmocka_unit_test(negative_indices_are_found),
		cmocka_unit_test(giving_up_is_safe),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
