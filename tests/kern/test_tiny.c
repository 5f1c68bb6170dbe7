/* SPDX-License-Identifier: MIT */
/* f8e4m3 and f8e5m2: every pair of codes, by the host loops of every CPU level and by the kernel, against arithmetic in
 * double that is rounded once.  Sums and products of two are exact in double, and f32 has bits enough that the second
 * rounding changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dev/device_impl.h"
#include "kern/host_twin.h"
#include "reference.h"

#define DTYPE F8E4M3 /* for the conversions, which are the same for all */
#define OP    SUM
#include "ops.h"
#undef DTYPE
#undef OP

enum { CODES = 256, PAIRS = CODES * CODES };

static const choir_dtype dtypes[] = { CHOIR_F8E4M3, CHOIR_F8E5M2 };
static uint8_t left[PAIRS], right[PAIRS], want[PAIRS], got[PAIRS];

static double combined(choir_op op, double a, double b)
{
	switch (op) {
	case CHOIR_OP_PROD:
		return a * b;
	case CHOIR_OP_MEAN:
		return (a + b) / 2;
	case CHOIR_OP_MIN:
		return isnan(a) || isnan(b) ? NAN : b < a ? b : a;
	case CHOIR_OP_MAX:
		return isnan(a) || isnan(b) ? NAN : b > a ? b : a;
	default:
		return a + b;
	}
}

static void make_table(choir_dtype dtype, choir_op op)
{
	for (int i = 0; i < PAIRS; i++) {
		left[i] = (uint8_t)(i / CODES);
		right[i] = (uint8_t)(i % CODES);
		want[i] = reference_to_f8(
		    dtype, combined(op, reference_from_f8(dtype, left[i]), reference_from_f8(dtype, right[i])));
	}
}

static struct reduce_call call_of(choir_dtype dtype, choir_op op)
{
	return (struct reduce_call){ .dtype = dtype,
		                     .op = op,
		                     .n_src = 2,
		                     .final = true,
		                     .n_ranks = 2,
		                     .n_dst = 1,
		                     .nt_from = 1,
		                     .count = PAIRS };
}

static void on_the_device(choir_device *device, const struct reduce_call *call)
{
	struct dev_access access[3];
	struct reduce_operand operands[3];
	cl_event event;
	cl_mem mem[3];

	for (int k = 0; k < 3; k++) {
		assert_int_equal(dev_buffer_create(device, PAIRS, &mem[k]), CHOIR_SUCCESS);
		access[k] = dev_buffer_access(mem[k], 0, PAIRS);
		operands[k] = (struct reduce_operand){ mem[k], 0 };
	}
	for (int k = 0; k < 2; k++) {
		assert_int_equal(dev_write(device, &access[k], 0, k == 0 ? left : right, PAIRS, &event), CHOIR_SUCCESS);
		assert_int_equal(dev_wait(&event), CHOIR_SUCCESS);
	}
	assert_int_equal(reduce_kernel_start(device, call, operands[2], operands, &event), CHOIR_SUCCESS);
	assert_int_equal(dev_wait(&event), CHOIR_SUCCESS);
	assert_int_equal(dev_read(device, &access[2], 0, got, PAIRS, &event), CHOIR_SUCCESS);
	assert_int_equal(dev_wait(&event), CHOIR_SUCCESS);
	for (int k = 0; k < 3; k++)
		dev_buffer_free(mem[k]);
}

static void test_every_pair(void **state)
{
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_PROD, CHOIR_OP_MEAN, CHOIR_OP_MIN, CHOIR_OP_MAX };
	choir_device *device = *state;
	const void *src[] = { left, right };

	for (size_t d = 0; d < 2; d++)
		for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
			struct reduce_call call = call_of(dtypes[d], ops[o]);

			make_table(dtypes[d], ops[o]);
			for (const struct host_level *level = host_levels; level->name != NULL; level++) {
				if (!level->fits())
					continue;
				host_use(level);
				reduce_host(&call, (void *[]){ got }, src);
				reference_assert(&call, got, want, level->name);
			}
			host_use(NULL);
			if (reduce_kernel_supported(device, dtypes[d], ops[o]) == CHOIR_SUCCESS) {
				on_the_device(device, &call);
				reference_assert(&call, got, want, "kernel");
			}
		}
}

/* Floats of every size, the neighbours of the middles between two codes, and NaNs. */
static void check_rounding(float value)
{
	uint8_t e4m3 = ops_to_f8e4m3(value), e5m2 = ops_to_f8e5m2(value);
	uint8_t e4m3_want = reference_to_f8(CHOIR_F8E4M3, value), e5m2_want = reference_to_f8(CHOIR_F8E5M2, value);

	if (!reference_same(CHOIR_F8E4M3, &e4m3, &e4m3_want) || !reference_same(CHOIR_F8E5M2, &e5m2, &e5m2_want))
		fail_msg("%a rounds to f8e4m3 0x%02x (wanted 0x%02x), f8e5m2 0x%02x (wanted 0x%02x)", (double)value,
		         e4m3, e4m3_want, e5m2, e5m2_want);
}

static void test_rounding(void **state)
{
	(void)state;
	for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521)
		check_rounding(as_float((uint32_t)bits));
	for (size_t d = 0; d < 2; d++)
		for (int code = 0; code < 0x7f; code++) {
			double low = reference_from_f8(dtypes[d], (uint8_t)code),
			       high = reference_from_f8(dtypes[d], (uint8_t)(code + 1));
			float middle = (float)((low + high) / 2);

			if (!isfinite(middle))
				continue;
			check_rounding(middle);
			check_rounding(-nextafterf(middle, INFINITY));
			check_rounding(nextafterf(middle, 0));
		}
}

/* By hand, so that a mistake shared by the reference and ops.h is seen: the ends of both ranges. */
static void test_by_hand(void **state)
{
	(void)state;
	assert_true(ops_from_f8e4m3(0x7e) == 448.0f && ops_from_f8e4m3(0x01) == 0x1p-9f);
	assert_true(ops_from_f8e4m3(0xb8) == -1.0f && ops_from_f8e5m2(0xfc) < -1e9f);
	assert_true(isnan(ops_from_f8e4m3(0x7f)) && isnan(ops_from_f8e4m3(0xff)));
	assert_true(ops_from_f8e5m2(0x7b) == 57344.0f && ops_from_f8e5m2(0x01) == 0x1p-16f);
	assert_int_equal(ops_to_f8e4m3(464.0f), 0x7e); /* the middle of 448 and 480, which is none */
	assert_int_equal(ops_to_f8e4m3(-1e9f), 0xfe);
	assert_int_equal(ops_to_f8e4m3(INFINITY), 0x7e);
	assert_int_equal(ops_to_f8e4m3(NAN) & 0x7f, 0x7f);
	assert_int_equal(ops_to_f8e5m2(61439.0f), 0x7b);
	assert_int_equal(ops_to_f8e5m2(61440.0f), 0x7c);
	assert_int_equal(ops_to_f8e4m3(0x1p-10f), 0x00); /* a tie */
	assert_int_equal(ops_to_f8e4m3(0x1.8p-9f), 0x02);
}

static int open_device(void **state)
{
	return choir_device_create_default(0, (choir_device **)state) == CHOIR_SUCCESS ? 0 : -1;
}

static int close_device(void **state)
{
	choir_device_destroy(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_every_pair),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
