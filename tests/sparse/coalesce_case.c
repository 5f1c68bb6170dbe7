/* SPDX-License-Identifier: MIT */
#include "look.h"
#include "sparse/coalesce_case.h"

#include "kern/reduce.h"
#include "sparse/bucket.h"
#include "sparse/coalesce_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SENTINEL 0x5a
#define GUARD    64

/* HOST, KERNEL: the one that is chosen. */
enum route { HOST, BUCKETS, BITMAP, SORT, KERNEL, KERNEL_SORT, N_ROUTES };
static const char *const route_names[] = { "host", "buckets", "bitmap", "sort", "kernel", "kernel sort" };
static const struct coalesce_way *const ways[N_ROUTES] = {
	[BUCKETS] = &coalesce_way_buckets,
	[BITMAP] = &coalesce_way_bitmap,
	[SORT] = &coalesce_way_sort,
};

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

#define CROWD_BITS 8  /* the lowest of so many parts has */
#define CROWD_OF   16 /* all but one of so many */

/* The i-th index, of which those before are known. */
static int64_t draw(const struct coalesce_shape *shape, const int64_t *before, size_t i, uint64_t *seed)
{
	uint64_t random = reference_next(seed);

	if (shape->order == ALL_EQUAL)
		return (int64_t)(shape->base + shape->range / 2);
	if (shape->order == CROWDED && i % 3 == 2)
		return before[random % i];
	if (shape->order == CROWDED && i % CROWD_OF != 0)
		return (int64_t)(shape->base + random % (shape->range >> CROWD_BITS));
	return (int64_t)(shape->base + random % shape->range);
}

void coalesce_case_make(const struct coalesce_shape *shape, choir_dtype dtype, bool specials, uint64_t seed,
                        struct reference_pairs *out)
{
	out->count = shape->n;
	out->ind = malloc((shape->n + 1) * sizeof *out->ind);
	out->val = malloc((shape->n * shape->width + 1) * choir_dtype_bytes(dtype));
	for (size_t i = 0; i < shape->n; i++)
		out->ind[i] = draw(shape, out->ind, i, &seed);
	if (shape->order == SORTED || shape->order == REVERSED)
		qsort(out->ind, shape->n, sizeof *out->ind, ascending);
	for (size_t i = 0; shape->order == REVERSED && i < shape->n / 2; i++) {
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
static void deal(const struct coalesce_shape *shape, const struct reference_pairs *in, size_t row, bool raw,
                 struct reference_pairs *out, size_t *counts)
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

void coalesce_case_run(struct coalesce *job, void *ind, struct index_form form, void *val)
{
	bool done = false;

	for (; !done; look_again(done))
		assert_int_equal(coalesce_count(job, &done), CHOIR_SUCCESS);
	for (done = false; !done; look_again(done))
		assert_int_equal(coalesce_fill(job, ind, form, val, &done), CHOIR_SUCCESS);
}

static void check_guard(const unsigned char *p)
{
	for (int i = 0; i < GUARD; i++)
		assert_int_equal(p[i], SENTINEL);
}

/* One route on one input, dealt to lists, written with sentinels behind both outputs. */
static void one_route(choir_device *device, const struct coalesce_shape *shape, choir_dtype dtype, choir_op op,
                      bool raw, const struct reference_pairs *in, const size_t *counts, uint32_t ind_bytes,
                      enum route route)
{
	struct coalesce_source *src = calloc(shape->n_src, sizeof *src);
	size_t row = shape->width * choir_dtype_bytes(dtype), at = 0, bad = 0;
	struct index_form in_form = { .bytes = ind_bytes }, out_form;
	unsigned char *stored = malloc(in->count * 8 + 8), *ind, *val;
	struct reference_pairs want;
	struct coalesce job;
	struct coalesce_call call = { .dtype = dtype,
		                      .op = op,
		                      .width = shape->width,
		                      .raw = raw,
		                      .final = !raw,
		                      .n_ranks = 3,
		                      .src = src,
		                      .n_src = shape->n_src };

	call.range =
	    (struct index_range){ .lo = (int64_t)shape->base, .hi = (int64_t)(shape->base + shape->range - 1) };
	if (ind_bytes == 4 && call.range.hi > INT32_MAX)
		in_form = index_form_of(call.range);
	out_form = index_form_of(call.range);
	if (shape->n % 2 == 0)
		call.form = out_form;
	index_convert(stored, in_form, in->ind, (struct index_form){ .bytes = 8 }, in->count);
	for (uint32_t s = 0; s < shape->n_src; s++) {
		src[s].pairs = (struct pairs){ .ind = stored + at * in_form.bytes,
			                       .rows = in->val + at * row,
			                       .count = counts[s],
			                       .form = in_form };
		at += counts[s];
	}
	reference_coalesce(in, shape->width, dtype, op, raw, !raw, 3, &want);
	ind = malloc(want.count * out_form.bytes + GUARD);
	val = malloc(want.count * row + GUARD);
	memset(ind, SENTINEL, want.count * out_form.bytes + GUARD);
	memset(val, SENTINEL, want.count * row + GUARD);
	assert_int_equal(coalesce_init(&job, &call, route >= KERNEL ? device : NULL), CHOIR_SUCCESS);
	if (ways[route] != NULL)
		job.way = ways[route];
	else if (route == KERNEL_SORT && job.on_device != NULL)
		job.on_device->route = &coalesce_route_sort;
	coalesce_case_run(&job, ind, out_form, val);
	if (job.count != want.count)
		fail_msg("%s %s %s %s: %zu distinct, not %zu", shape->name, route_names[route], choir_dtype_name(dtype),
		         choir_op_name(op), (size_t)job.count, want.count);
	for (size_t i = 0; i < want.count; i++)
		assert_int_equal(index_at(ind, out_form, i), want.ind[i]);
	if (!reference_same(dtype, val, want.val, want.count * shape->width, &bad))
		fail_msg("%s %s %s %s raw %d: element %zu differs", shape->name, route_names[route],
		         choir_dtype_name(dtype), choir_op_name(op), raw, bad);
	check_guard(ind + want.count * out_form.bytes);
	check_guard(val + want.count * row);
	coalesce_fini(&job);
	reference_free(&want);
	free(ind);
	free(val);
	free(stored);
	free(src);
}

/* Partial results of logical operators are 1 or 0. */
static void make_truths(struct reference_pairs *pairs, size_t width, size_t bytes)
{
	for (size_t i = 0; i < pairs->count * width; i++) {
		unsigned char truth = pairs->val[i * bytes] & 1;

		memset(pairs->val + i * bytes, 0, bytes);
		pairs->val[i * bytes] = truth;
	}
}

/* Is the route one for such pairs?  Of several that fit the library takes the first. */
static bool fits(choir_device *device, const struct coalesce_shape *shape, choir_dtype dtype, choir_op op, bool raw,
                 enum route route)
{
	struct index_range range = { .lo = (int64_t)shape->base, .hi = (int64_t)(shape->base + shape->range - 1) };

	if (route >= KERNEL)
		return reduce_kernel_supported(device, dtype, op) == CHOIR_SUCCESS;
	if (route == BITMAP)
		return shape->range <= 1u << 24;
	return route != BUCKETS || (shape->width == 1 && shape->n_src == 1 && (raw || !reduce_has_final(op)) &&
	                            bucket_fits(range, shape->n));
}

void coalesce_case_check(choir_device *device, const struct coalesce_shape *shape, choir_dtype dtype, choir_op op,
                         uint32_t ind_bytes, bool specials)
{
	enum route n_routes = device == NULL ? KERNEL : N_ROUTES;
	struct reference_pairs in, dealt;
	size_t counts[8];

	coalesce_case_make(shape, dtype, specials, 88172645463325252u + shape->n, &in);
	for (int raw = 0; raw < 2; raw++) {
		if (!raw && shape->n > 5000)
			continue; /* they are coalesced by insertion */
		deal(shape, &in, shape->width * choir_dtype_bytes(dtype), raw, &dealt, counts);
		if (!raw && (op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR))
			make_truths(&dealt, shape->width, choir_dtype_bytes(dtype));
		for (enum route route = HOST; route < n_routes; route++)
			if (fits(device, shape, dtype, op, raw, route))
				one_route(device, shape, dtype, op, raw, &dealt, counts, ind_bytes, route);
		reference_free(&dealt);
	}
	reference_free(&in);
}
