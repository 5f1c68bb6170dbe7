/* SPDX-License-Identifier: MIT */
/* The kernels' check: right results pass, and each way of being wrong is counted.  On the host twins, which need no
 * device. */
#include "bench/data/check.h"
#include "bench/kernel/kernel.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static const struct kernel *const kernels[] = {
	&kernel_coalesce,    &kernel_merge,         &kernel_select, &kernel_topk,
	&kernel_mean_std,    &kernel_scatter,       &kernel_gather, &kernel_intersect,
	&kernel_bitmap_pack, &kernel_bitmap_unpack, &kernel_reduce,
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static struct args args;

static struct kernel_shape shape_of(choir_dtype dtype, choir_op op, choir_dtype index, size_t width)
{
	struct kernel_shape shape = { .args = &args, .dtype = dtype, .op = op };

	shape.sparse = (struct args_sparse){
		.rows = 999, .width = width, .range = 5001, .ids = IDS_ZIPF, .zipf = 1, .lists = 3, .index_dtype = index
	};
	shape.elem_bytes = choir_dtype_bytes(dtype);
	shape.ind_bytes = choir_dtype_bytes(index);
	shape.row_bytes = width * shape.elem_bytes;
	return shape;
}

static uint64_t wrong_of(struct kernel_work *work)
{
	uint64_t wrong = 12345;

	assert_int_equal(work->base.verify(&work->base, &wrong), 0);
	return wrong;
}

static struct kernel_work *ran(const struct kernel *kernel, const struct kernel_shape *shape)
{
	struct kernel_work *work = kernel_open(kernel, shape, NULL);

	assert_non_null(work);
	assert_int_equal(work->base.fill(&work->base), 0);
	assert_int_equal(work->base.once(&work->base), 0);
	return work;
}

static void twins_give_what_is_expected(void **state)
{
	const choir_dtype dtypes[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F32, CHOIR_F64 };

	(void)state;
	for (int k = 0; k < N_KERNELS; k++)
		for (int t = 0; t < 4; t++)
			for (int o = 0; o < 3; o++) {
				struct kernel_shape shape =
				    shape_of(dtypes[t], (choir_op[]){ CHOIR_OP_SUM, CHOIR_OP_MAX, CHOIR_OP_MEAN }[o],
				             t % 2 ? CHOIR_I64 : CHOIR_I32, 1 + (size_t)o);
				struct kernel_work *work;
				uint64_t wrong;

				shape.sparse.heavy_tailed = t == 2;
				assert_null(kernels[k]->unfit(&shape, NULL));
				work = ran(kernels[k], &shape);
				wrong = wrong_of(work);
				if (wrong != 0)
					fail_msg("%s %s: %llu wrong", kernels[k]->name, choir_dtype_name(dtypes[t]),
					         (unsigned long long)wrong);
				assert_true(work->moved_bytes > 0 && work->items > 0 && work->items_out > 0);
				work->base.close(&work->base);
			}
}

/* Without a run nothing is right; each element changed, in whichever buffer, and each guard is one more. */
static void every_fault_is_counted(void **state)
{
	(void)state;
	for (int k = 0; k < N_KERNELS; k++) {
		struct kernel_shape shape = shape_of(CHOIR_F32, CHOIR_OP_SUM, CHOIR_I32, 2);
		struct kernel_work *work = ran(kernels[k], &shape);
		uint64_t expected = 0;

		assert_int_equal(wrong_of(work), 0);
		assert_int_equal(work->base.once(&work->base), 0);
		for (int i = 0; i < work->n_buffers; i++) {
			unsigned char *bytes = kernel_host(work, i);

			bytes[work->buffer[i].bytes - 1] ^= 1;
			bytes[work->buffer[i].bytes + CHECK_GUARD_BYTES - 1] ^= 1;
			expected += 2;
			assert_int_equal(wrong_of(work), expected);
		}
		/* A result of other inputs. */
		assert_int_equal(work->base.fill(&work->base), 0);
		((unsigned char *)kernel_host(work, kernels[k] == &kernel_gather))[7] ^= 0x40;
		if (kernels[k] == &kernel_mean_std || kernels[k] == &kernel_gather || kernels[k] == &kernel_topk ||
		    kernels[k] == &kernel_reduce) {
			assert_int_equal(work->base.once(&work->base), 0);
			if (wrong_of(work) < 2)
				fail_msg("%s", work->kernel->name);
		}
		assert_int_equal(work->base.fill(&work->base), 0);
		assert_true(wrong_of(work) > 0);
		work->base.close(&work->base);
	}
}

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static void the_reference_selects(void **state)
{
	enum { N = 3001 };
	uint64_t sorted[N], key;

	(void)state;
	for (int heavy = 0; heavy < 2; heavy++)
		for (choir_dtype dtype = CHOIR_F16; dtype <= CHOIR_F64; dtype++) {
			size_t elem = choir_dtype_bytes(dtype);
			void *val = select_data_make(dtype, N, heavy);

			assert_non_null(val);
			for (size_t i = 0; i < N; i++)
				sorted[i] = select_data_key(elem, val, i);
			qsort(sorted, N, sizeof *sorted, descending);
			for (size_t k = 1; k <= N; k += 250) {
				assert_true(select_data_kth(elem, val, N, k, &key));
				assert_int_equal(key, sorted[k - 1]);
			}
			assert_true(sorted[0] > sorted[N / 2]);
			free(val);
		}
}

static void what_cannot_be_is_said(void **state)
{
	struct kernel_shape shape = shape_of(CHOIR_I32, CHOIR_OP_SUM, CHOIR_I32, 1);

	(void)state;
	assert_non_null(kernel_coalesce.unfit(&shape, NULL));
	assert_non_null(kernel_topk.unfit(&shape, NULL));
	assert_null(kernel_reduce.unfit(&shape, NULL));
	shape = shape_of(CHOIR_F32, CHOIR_OP_BAND, CHOIR_I32, 1);
	assert_non_null(kernel_reduce.unfit(&shape, NULL));
	shape = shape_of(CHOIR_F32, CHOIR_OP_SUM, CHOIR_I32, 1);
	shape.sparse.rows = 5002;
	assert_non_null(kernel_select.unfit(&shape, NULL));
	shape.sparse.rows = 0;
	assert_non_null(kernel_merge.unfit(&shape, NULL));
	args.algorithm = "quick";
	assert_non_null(kernel_coalesce.unfit(&shape, NULL));
	args.algorithm = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_give_what_is_expected),
		cmocka_unit_test(every_fault_is_counted),
		cmocka_unit_test(the_reference_selects),
		cmocka_unit_test(what_cannot_be_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
