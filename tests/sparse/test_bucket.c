/* SPDX-License-Identifier: MIT */
/* Buckets: grouping, dealing out and folding; scalars: picking and folding; for every (dtype, op), against the plain
 * reference, bit for bit. */
#include "sparse/defined.h"
#include "sparse/bits.h"
#include "sparse/bucket.h"
#include "sparse/reference.h"
#include "sparse/region.h"
#include "sparse/scalars.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_LISTS 5
#define SENTINEL   0x5a
#define GUARD      64

struct shape {
	size_t pairs[MOST_LISTS]; /* of each list */
	int n_lists;
	uint64_t lo, range;
	bool skewed; /* most of them in the first hundredth */
};

static const struct shape shapes[] = {
	{ { 1, 1 }, 2, 0, 1, false },
	{ { 0, 7, 0 }, 3, 5, 64, false },
	{ { 40, 0, 300, 41, 200 }, 5, 0, 65, false },
	{ { 500, 700 }, 2, 1000, 5000, true },
	{ { 3000, 100, 2000 }, 3, UINT64_C(1) << 40, 300000, false },
	{ { 2000, 3000 }, 2, 0, 1 << 21, true },
};

static void make(const struct shape *shape, int s, choir_dtype dtype, uint64_t *seed, struct reference_pairs *out)
{
	out->count = shape->pairs[s];
	out->ind = malloc((out->count + 1) * sizeof *out->ind);
	out->val = malloc((out->count + 1) * choir_dtype_bytes(dtype));
	for (size_t i = 0; i < out->count; i++) {
		uint64_t range = shape->skewed && i % 8 != 0 ? shape->range / 100 + 1 : shape->range;

		out->ind[i] = (int64_t)(shape->lo + reference_next(seed) % range);
	}
	reference_random(seed, dtype, false, out->val, out->count);
}

/* One list grouped, from indices of that many bytes. */
static void *group(const struct bucket_shape *shape, const struct reference_pairs *in, uint64_t elem_bytes,
                   uint32_t ind_bytes, struct bucket_list *out)
{
	struct index_form form = { .bytes = ind_bytes, .base = ind_bytes == 4 ? shape->lo : 0 };
	void *block = malloc(bucket_list_bytes(shape, in->count, elem_bytes)), *stored = malloc((in->count + 1) * 8);
	struct pairs pairs = { .ind = stored, .rows = in->val, .count = in->count, .form = form };

	index_convert(stored, form, in->ind, (struct index_form){ .bytes = 8 }, in->count);
	assert_int_equal(bucket_split(shape, &pairs, elem_bytes, block), CHOIR_SUCCESS);
	*out = bucket_list_at(shape, block, in->count, true);
	free(stored);
	return block;
}

static void reduce(const struct bucket_reduction *todo, struct index_form form, const struct reference_pairs *want)
{
	size_t elem_bytes = choir_dtype_bytes(todo->dtype), at, n_parts = (size_t)todo->n_lists;
	unsigned char *ind = malloc(want->count * 8 + GUARD), *val = malloc(want->count * elem_bytes + GUARD);
	uint64_t count = 0;
	uint32_t before = 0;

	memset(ind, SENTINEL, want->count * 8 + GUARD);
	memset(val, SENTINEL, want->count * elem_bytes + GUARD);
	for (size_t p = 0; p < n_parts; p++) {
		uint32_t from, end;
		uint64_t n;

		bucket_bounds(todo, (int)p, (int)n_parts, &from, &end);
		assert_int_equal(from, before);
		assert_true(end >= from && end <= todo->shape.n);
		before = end;
		assert_int_equal(
		    bucket_reduce(todo, from, end, ind + count * form.bytes, form, val + count * elem_bytes, &n),
		    CHOIR_SUCCESS);
		assert_true(n <= bucket_most(todo, from, end));
		count += n;
		assert_true(count <= want->count);
	}
	assert_int_equal(before, todo->shape.n);
	assert_int_equal(count, want->count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(index_at(ind, form, i), want->ind[i]);
	if (!reference_same(todo->dtype, val, want->val, count, &at))
		fail_msg("%s %s: value %zu of %zu differs", choir_dtype_name(todo->dtype), choir_op_name(todo->op), at,
		         (size_t)count);
	for (size_t i = 0; i < GUARD; i++)
		assert_true(ind[count * form.bytes + i] == SENTINEL && val[count * elem_bytes + i] == SENTINEL);
	free(ind);
	free(val);
}

/* One list with indices of 4 bytes, as it came. */
static struct scalars_list lay_out(const struct reference_pairs *in, int64_t base)
{
	struct index_form form = { .bytes = 4, .base = base };
	int32_t *ind = malloc((in->count + 1) * sizeof *ind);

	index_convert(ind, form, in->ind, (struct index_form){ .bytes = 8 }, in->count);
	return (struct scalars_list){ .pairs = { .ind = ind, .rows = in->val, .count = in->count, .form = form },
		                      .raw = true };
}

/* Part p of as many as there are lists, to ind and val, which have room for what is wanted only. */
static uint64_t reduce_part(struct scalars_call *call, struct index_range range, int p, int32_t *ind, int64_t base,
                            unsigned char *val)
{
	struct scalars job;
	int32_t *packed;
	uint64_t count, most;

	call->range = region_of(range, p, call->n_lists);
	assert_int_equal(scalars_pick(&job, call), CHOIR_SUCCESS);
	most = scalars_picked(&job);
	packed = malloc((most + COMPACT_SLACK) * sizeof *packed);
	assert_int_equal(scalars_reduce(&job, packed, base, val, &count), CHOIR_SUCCESS);
	assert_true(count <= most);
	memcpy(ind, packed, count * sizeof *packed);
	scalars_fini(&job);
	free(packed);
	return count;
}

static void one_case_of_scalars(const struct shape *shape, struct index_range range, const struct reference_pairs *ins,
                                choir_dtype dtype, choir_op op, const struct reference_pairs *want)
{
	size_t elem_bytes = choir_dtype_bytes(dtype), at;
	struct scalars_list lists[SCALARS_LISTS];
	struct scalars_call call = {
		.dtype = dtype, .op = op, .n_ranks = shape->n_lists, .lists = lists, .n_lists = shape->n_lists
	};
	int32_t *ind = malloc((want->count + 1) * sizeof *ind);
	unsigned char *val = malloc(want->count * elem_bytes + GUARD);
	uint64_t count = 0;

	memset(val, SENTINEL, want->count * elem_bytes + GUARD);
	for (int s = 0; s < shape->n_lists; s++)
		lists[s] = lay_out(&ins[s], range.lo - s);
	for (int p = 0; p < shape->n_lists; p++)
		count += reduce_part(&call, range, p, ind + count, range.lo - 7, val + count * elem_bytes);
	assert_int_equal(count, want->count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(ind[i] + range.lo - 7, want->ind[i]);
	if (!reference_same(dtype, val, want->val, count, &at))
		fail_msg("scalars, %s %s: value %zu of %zu differs", choir_dtype_name(dtype), choir_op_name(op), at,
		         (size_t)count);
	for (size_t i = 0; i < GUARD; i++)
		assert_int_equal(val[count * elem_bytes + i], SENTINEL);
	for (int s = 0; s < shape->n_lists; s++)
		free((void *)lists[s].pairs.ind);
	free(ind);
	free(val);
}

static void one_case(const struct shape *shape, choir_dtype dtype, choir_op op, uint64_t seed)
{
	struct index_range range = { .lo = (int64_t)shape->lo, .hi = (int64_t)(shape->lo + shape->range - 1) };
	struct bucket_list lists[MOST_LISTS];
	struct reference_pairs ins[MOST_LISTS], want;
	void *blocks[MOST_LISTS];
	struct bucket_reduction todo = { .shape = bucket_shape_of(range, shape->n_lists),
		                         .dtype = dtype,
		                         .op = op,
		                         .n_ranks = shape->n_lists,
		                         .lists = lists,
		                         .n_lists = shape->n_lists };

	for (int s = 0; s < shape->n_lists; s++) {
		make(shape, s, dtype, &seed, &ins[s]);
		blocks[s] = group(&todo.shape, &ins[s], choir_dtype_bytes(dtype), s % 2 == 0 ? 4 : 8, &lists[s]);
	}
	reference_allreduce(ins, shape->n_lists, 1, dtype, op, &want);
	reduce(&todo,
	       seed % 2 == 0 ? (struct index_form){ .bytes = 8 } : (struct index_form){ .bytes = 4, .base = range.lo },
	       &want);
	if (shape->n_lists <= SCALARS_LISTS)
		one_case_of_scalars(shape, range, ins, dtype, op, &want);
	for (int s = 0; s < shape->n_lists; s++) {
		free(blocks[s]);
		reference_free(&ins[s]);
	}
	reference_free(&want);
}

static void every_dtype_and_op(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int dtype = 0; dtype < N_DTYPES; dtype++)
			for (int op = 0; op < N_OPS; op++)
				if (reference_defined(dtype, op))
					one_case(&shapes[i], dtype, op, 100 * i + (size_t)dtype);
}

/* Half of the pairs in one bucket: its owner gets little else. */
static void dealt_out_by_work(void **state)
{
	struct bucket_shape shape = bucket_shape_of((struct index_range){ 0, 99999 }, 4);
	uint32_t start[2][4096] = { { 0 } }, from, end;
	struct bucket_list lists[2] = { { .start = start[0] }, { .start = start[1] } };
	struct bucket_reduction todo = { .shape = shape, .n_ranks = 4, .lists = lists, .n_lists = 2 };

	(void)state;
	assert_true(shape.n < 4096 && shape.n >= 128);
	for (uint32_t b = 0; b < shape.n; b++)
		for (int s = 0; s < 2; s++)
			start[s][b + 1] = start[s][b] + (b == 3 ? 100 * shape.n : 100);
	bucket_bounds(&todo, 0, 4, &from, &end);
	assert_int_equal(from, 0);
	assert_int_equal(end, 3);
	bucket_bounds(&todo, 3, 4, &from, &end);
	assert_true(end == shape.n && end - from > shape.n * 4 / 10 && end - from < shape.n * 6 / 10);
}

static void positions_of_bits(void **state)
{
	static uint64_t bitmap[1024], words[1024];
	static uint16_t at[65536 + BITS_SLACK];
	uint64_t seed = 9;

	(void)state;
	for (int density = 0; density <= 64; density += 8) {
		size_t n, k = 0;

		for (int w = 0; w < 1024; w++) {
			for (int bit = 0; bit < 64; bit++)
				bitmap[w] |= (uint64_t)(reference_next(&seed) % 64 < (unsigned)density) << bit;
			words[w] = bitmap[w];
		}
		n = bits_take(bitmap, 1024, at);
		for (size_t x = 0; x < 65536; x++)
			if (words[x / 64] >> (x % 64) & 1)
				assert_int_equal(at[k++], x);
		assert_int_equal(n, k);
		for (int w = 0; w < 1024; w++)
			assert_true(bitmap[w] == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_dtype_and_op),
		cmocka_unit_test(dealt_out_by_work),
		cmocka_unit_test(positions_of_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
