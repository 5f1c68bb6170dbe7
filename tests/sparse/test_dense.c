/* SPDX-License-Identifier: MIT */
/* Scatter, gather, zero and bitmaps: the host functions against plain loops, the kernels against those, byte for
 * byte. */
#include "sparse/dense.h"
#include "sparse/on_device.h"
#include "sparse/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD  64
#define OFFSET 3 /* elements before the data of lists and rows */

/* Downloads, compares, releases. */
static void expect(cl_mem mem, const void *want, size_t bytes)
{
	unsigned char *got = malloc(bytes);

	assert_int_equal(clEnqueueReadBuffer(dev_queue(device), mem, CL_TRUE, 0, bytes, got, 0, NULL, NULL),
	                 CL_SUCCESS);
	assert_memory_equal(got, want, bytes);
	clReleaseMemObject(mem);
	free(got);
}

/* n distinct indices of [lo, lo + range), in no order. */
struct list {
	int64_t *plain;
	unsigned char *stored; /* OFFSET more at the front */
	struct index_form form;
	size_t n, range;
	int64_t lo;
};

static struct list make_list(size_t n, size_t range, int64_t lo, uint32_t bytes, uint64_t *seed)
{
	struct list list = { .plain = malloc((range + 1) * 8),
		             .stored = blank((n + OFFSET) * bytes),
		             .n = n,
		             .range = range,
		             .lo = lo,
		             .form = { .bytes = bytes, .base = bytes == 4 ? lo - 7 : 0 } };

	for (size_t i = 0; i < range; i++)
		list.plain[i] = lo + (int64_t)i;
	for (size_t i = 0; i < n; i++) {
		size_t j = i + reference_next(seed) % (range - i);
		int64_t swap = list.plain[i];

		list.plain[i] = list.plain[j];
		list.plain[j] = swap;
	}
	index_convert(list.stored + OFFSET * bytes, list.form, list.plain, (struct index_form){ .bytes = 8 }, n);
	return list;
}

static void free_list(struct list *list)
{
	free(list->plain);
	free(list->stored);
}

static void rows_case(size_t n, size_t range, int64_t lo, uint32_t ind_bytes, size_t elem, size_t width, uint64_t seed)
{
	struct list list = make_list(n, range, lo, ind_bytes, &seed);
	size_t row = elem * width, dense_bytes = range * row + GUARD, rows_bytes = (n * width + OFFSET) * elem + GUARD;
	unsigned char *rows = malloc(rows_bytes), *dense = blank(dense_bytes), *want = blank(dense_bytes),
		      *back = blank(rows_bytes);
	const unsigned char *ind = list.stored + OFFSET * ind_bytes;
	struct pairs pairs = { .ind = ind, .rows = rows + OFFSET * elem, .count = n, .form = list.form };
	cl_mem ind_mem = upload(list.stored, (n + OFFSET) * ind_bytes), rows_mem, dense_mem, back_mem;
	struct dense_list on_device = { .ind = ind_mem, .off = OFFSET * ind_bytes, .form = list.form, .n = n };
	struct dense_rows rows_at, dense_at, back_at;

	for (size_t i = 0; i < rows_bytes; i++)
		rows[i] = (unsigned char)reference_next(&seed);
	rows_mem = upload(rows, rows_bytes);
	dense_mem = upload(dense, dense_bytes);
	back_mem = upload(back, rows_bytes);
	rows_at = (struct dense_rows){ rows_mem, OFFSET * elem, elem, width };
	dense_at = (struct dense_rows){ dense_mem, 0, elem, width };
	back_at = (struct dense_rows){ back_mem, OFFSET * elem, elem, width };
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < row; b++)
			want[(size_t)(list.plain[i] - lo) * row + b] = rows[OFFSET * elem + i * row + b];
	dense_scatter(&pairs, row, lo, dense);
	assert_memory_equal(dense, want, dense_bytes);
	dense_gather(ind, list.form, n, row, lo, dense, back + OFFSET * elem);
	assert_memory_equal(back + OFFSET * elem, rows + OFFSET * elem, n * row);
	assert_int_equal(dense_kernel_scatter(device, &on_device, &rows_at, lo, &dense_at, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_gather(device, &on_device, &dense_at, lo, &back_at, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_zero(device, &on_device, lo, &dense_at, NULL), CHOIR_SUCCESS);
	for (size_t i = 0; i < n; i++)
		memset(want + (size_t)(list.plain[i] - lo) * row, 0, row);
	dense_zero(ind, list.form, n, row, lo, dense);
	assert_memory_equal(dense, want, dense_bytes);
	expect(dense_mem, want, dense_bytes);
	expect(back_mem, back, rows_bytes);
	clReleaseMemObject(ind_mem);
	clReleaseMemObject(rows_mem);
	free(rows);
	free(dense);
	free(want);
	free(back);
	free_list(&list);
}

static void scatter_and_gather(void **state)
{
	(void)state;
	for (size_t elem = 1; elem <= 8; elem *= 2)
		for (uint32_t ind_bytes = 4; ind_bytes <= 8; ind_bytes *= 2) {
			rows_case(1, 1, 0, ind_bytes, elem, 1, elem);
			rows_case(65, 200, 1000, ind_bytes, elem, 3, elem);
			rows_case(small ? 90 : 5000, small ? 100 : 70000, INT64_C(1) << 40, ind_bytes, elem, 1, elem);
		}
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Half of the list is marked; all of it is looked up. */
static void bitmap_case(size_t n, size_t range, int64_t lo, uint32_t ind_bytes, uint64_t seed)
{
	struct list list = make_list(n, range, lo, ind_bytes, &seed);
	size_t marked = (n + 1) / 2, words = (range + 63) / 64, bad = 0;
	uint64_t *bitmap = calloc(words + 1, 8);
	unsigned char *found = blank(n + GUARD), *want_found = blank(n + GUARD),
		      *want_ind = blank(marked * ind_bytes + GUARD);
	cl_mem mem = NULL, ind_mem = upload(list.stored, (n + OFFSET) * ind_bytes);
	cl_mem found_mem = upload(found, n + GUARD), before = upload(bitmap, words * 8 + 8), total = upload(bitmap, 4);
	cl_mem out = upload(want_ind, marked * ind_bytes + GUARD), scratch = NULL;
	struct dense_list half = { .ind = ind_mem, .off = OFFSET * ind_bytes, .form = list.form, .n = marked },
			  all = half;
	struct dense_bitmap on_device = { .mem = mem, .words = words * 2, .lo = lo };
	cl_uint count = (cl_uint)marked;

	all.n = n;
	memset(bitmap, SENTINEL, words * 8);
	mem = on_device.mem = upload(bitmap, words * 8 + 8);
	memset(bitmap, 0, words * 8);
	for (size_t i = 0; i < marked; i++)
		bitmap[(list.plain[i] - lo) / 64] |= UINT64_C(1) << (list.plain[i] - lo) % 64;
	for (size_t i = 0; i < n; i++)
		want_found[i] = i < marked;
	dense_contains(list.stored + OFFSET * ind_bytes, list.form, n, lo, bitmap, words, found);
	assert_memory_equal(found, want_found, n + GUARD);
	dense_contains(&(int64_t){ lo - 1 }, (struct index_form){ .bytes = 8 }, 1, lo, bitmap, words, found);
	bad += found[0];
	dense_contains(&(int64_t){ lo + (int64_t)words * 64 }, (struct index_form){ .bytes = 8 }, 1, lo, bitmap, words,
	               found);
	assert_int_equal(bad + found[0], 0);
	assert_int_equal(dev_buffer_create(device, dense_kernel_spans(device, on_device.words) * 4, &scratch),
	                 CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_clear(device, &on_device, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_mark(device, &half, &on_device, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_number(device, &on_device, scratch, before, total, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_indices(device, &on_device, before, out, list.form, NULL), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_contains(device, &all, &on_device, found_mem, NULL), CHOIR_SUCCESS);
	qsort(list.plain, marked, 8, ascending);
	index_convert(want_ind, list.form, list.plain, (struct index_form){ .bytes = 8 }, marked);
	expect(mem, bitmap, words * 8 + 8);
	expect(found_mem, want_found, n + GUARD);
	expect(total, &count, 4);
	expect(out, want_ind, marked * ind_bytes + GUARD);
	clReleaseMemObject(before);
	clReleaseMemObject(ind_mem);
	dev_buffer_free(scratch);
	free(bitmap);
	free(found);
	free(want_found);
	free(want_ind);
	free_list(&list);
}

static void bitmaps(void **state)
{
	(void)state;
	for (uint32_t ind_bytes = 4; ind_bytes <= 8; ind_bytes *= 2) {
		bitmap_case(1, 1, 5, ind_bytes, 1);
		bitmap_case(64, 64, 0, ind_bytes, 2);
		bitmap_case(33, 65, 1000, ind_bytes, 3);
		bitmap_case(small ? 100 : 30000, small ? 300 : 1000000, INT64_C(1) << 41, ind_bytes, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(scatter_and_gather), cmocka_unit_test(bitmaps) };

	return cmocka_run_group_tests(tests, open_device, close_device);
}
