/* SPDX-License-Identifier: MIT */
/* The host twins against the plain reference: every dtype x op.  (test_host_levels.c: on every CPU level.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inputs.h"
#include "kern/host_twin.h"
#include "reference.h"

#define DTYPE BF16 /* for the conversions, which are the same for all */
#define OP    SUM
#include "ops.h"
#undef DTYPE
#undef OP

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SRC      17
#define NOT_IN_PLACE MAX_SRC
#define SENTINELS    64
#define SENTINEL     0xa5

static void *take(size_t bytes)
{
	void *p = malloc(bytes > 0 ? bytes : 1);

	assert_non_null(p);
	return p;
}

/* The sources are exact allocations, so that a sanitizer sees a read past their end; dst has sentinels behind it. */
static void check(const struct reduce_call *call, unsigned in_place)
{
	size_t bytes = choir_dtype_bytes(call->dtype), size = call->count * bytes;
	unsigned char *want = take(size), *out = take(size + SENTINELS), *src[MAX_SRC];
	const void *args[MAX_SRC];

	for (uint32_t k = 0; k < call->n_src; k++) {
		src[k] = take(size);
		inputs_fill(call->dtype, src[k], call->count, k + 1);
		args[k] = src[k];
	}
	reference_reduce(call, want, args);
	memset(out, SENTINEL, size + SENTINELS);
	if (in_place < MAX_SRC) {
		memcpy(out, src[in_place], size);
		args[in_place] = out;
	}
	reduce_host(call, (void *[]){ out }, args);
	reference_assert(call, out, want, in_place < MAX_SRC ? "in place" : "out of place");
	for (size_t i = 0; i < SENTINELS; i++)
		assert_int_equal(out[size + i], SENTINEL);
	for (uint32_t k = 0; k < call->n_src; k++)
		free(src[k]);
	free(out);
	free(want);
}

static void check_pair(choir_dtype dtype, choir_op op)
{
	unsigned v = 0;

	for (const uint32_t *n_src = inputs_sources(); *n_src != 0; n_src++)
		for (const size_t *count = inputs_counts(); *count != SIZE_MAX; count++) {
			struct reduce_call call = inputs_call(dtype, op, *n_src, *count, v++);

			check(&call, NOT_IN_PLACE);
			check(&call, v % *n_src);
		}
}

static void test_every_pair(void **state)
{
	(void)state;
	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
		for (choir_op op = 0; op < N_OPS; op++)
			if (reduce_supported(dtype, op) == CHOIR_SUCCESS)
				check_pair(dtype, op);
}

/* Which pairs there are: written down, so that a row lost from the table is seen. */
static void test_supported(void **state)
{
	(void)state;
	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
		for (choir_op op = 0; op < N_OPS; op++) {
			bool bits = (op >= CHOIR_OP_LOGICAL_AND && op <= CHOIR_OP_BXOR) || op == CHOIR_OP_LOGICAL_XOR;
			bool real = op == CHOIR_OP_PREMUL_SUM;
			bool located = op == CHOIR_OP_MINLOC || op == CHOIR_OP_MAXLOC;
			bool wanted = reference_is_pair(dtype) ? located || op == CHOIR_OP_LOCAL
			              : located                ? false
			              : bits                   ? !reference_is_float(dtype)
			              : real                   ? reference_is_float(dtype)
			                                       : true;
			choir_status st = reduce_supported(dtype, op);

			assert_int_equal(st, wanted ? CHOIR_SUCCESS : CHOIR_UNSUPPORTED);
			if (!wanted)
				assert_non_null(strstr(choir_last_error(), choir_op_name(op)));
		}
	assert_int_equal(reduce_supported(-1, CHOIR_OP_SUM), CHOIR_ARGUMENT);
	assert_int_equal(reduce_supported(N_DTYPES, CHOIR_OP_SUM), CHOIR_ARGUMENT);
	assert_int_equal(reduce_supported(CHOIR_F32, -1), CHOIR_ARGUMENT);
	assert_int_equal(reduce_supported(CHOIR_F32, N_OPS), CHOIR_ARGUMENT);
	assert_true(reduce_has_final(CHOIR_OP_MEAN));
	assert_false(reduce_has_final(CHOIR_OP_SUM));
	assert_true(reduce_has_raw(CHOIR_OP_LOGICAL_AND));
	assert_false(reduce_has_raw(CHOIR_OP_BAND));
}

/* All 65536 halves: read and written back; and all floats between two neighbouring halves' middles round as the
 * definition says. */
static void test_half_conversions(void **state)
{
	(void)state;
	struct reduce_call keep = {
		.dtype = CHOIR_F16, .op = CHOIR_OP_LOCAL, .n_src = 1, .n_dst = 1, .nt_from = 1, .count = 1
	};

	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		uint16_t in = (uint16_t)bits, out;
		const void *src[] = { &in };

		reduce_host(&keep, (void *[]){ &out }, src);
		assert_true(reference_same(CHOIR_F16, &out, &in));
	}
	/* A half times 1 + 2^-10 has more bits than a half: the product, exact in f32, is rounded once. */
	struct reduce_call times = {
		.dtype = CHOIR_F16, .op = CHOIR_OP_PROD, .n_src = 2, .n_dst = 1, .nt_from = 1, .count = 1
	};
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		uint16_t in[2] = { (uint16_t)bits, (uint16_t)(0x3801 + bits % 7 * 0x333) }, out, want;
		const void *src[] = { &in[0], &in[1] };

		reduce_host(&times, (void *[]){ &out }, src);
		want = reference_to_f16(reference_from_f16(in[0]) * reference_from_f16(in[1]));
		assert_true(reference_same(CHOIR_F16, &out, &want));
	}
}

/* Floats of every size: every 4099th, and the NaNs whose rounding would carry into infinity or zero. */
static void test_rounding(void **state)
{
	static const uint32_t nans[] = { 0x7f800001, 0x7fffffff, 0xff800001, 0xffffffff, 0x7f80ffff, 0x7fc00000 };

	(void)state;
	for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4099) {
		float value = as_float((uint32_t)bits);
		uint16_t half = ops_to_half(value), brain = ops_to_bf16(value);
		uint16_t half_want = reference_to_f16(value), brain_want = reference_to_bf16(value);

		if (!reference_same(CHOIR_F16, &half, &half_want) || !reference_same(CHOIR_BF16, &brain, &brain_want))
			fail_msg("0x%08x rounds to f16 0x%04x (wanted 0x%04x), bf16 0x%04x (wanted 0x%04x)",
			         (unsigned)bits, half, half_want, brain, brain_want);
	}
	for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
		uint16_t half = ops_to_half(as_float(nans[i])), brain = ops_to_bf16(as_float(nans[i])), nan = 0x7fff;

		assert_true(reference_same(CHOIR_F16, &half, &nan));
		assert_true(reference_same(CHOIR_BF16, &brain, &nan));
	}
}

/* 2048 + 1 + 1 is 2050 when rounded once, 2048 when every step rounds; in bf16 256 + 1 + 1. */
static void test_rounds_once(void **state)
{
	uint16_t halves[] = { 0x6800, 0x3c00, 0x3c00 }, brains[] = { 0x4380, 0x3f80, 0x3f80 }, out;
	const void *half_src[] = { &halves[0], &halves[1], &halves[2] },
		   *brain_src[] = { &brains[0], &brains[1], &brains[2] };
	struct reduce_call call = {
		.dtype = CHOIR_F16, .op = CHOIR_OP_SUM, .n_src = 3, .n_dst = 1, .nt_from = 1, .count = 1
	};

	(void)state;
	reduce_host(&call, (void *[]){ &out }, half_src);
	assert_int_equal(out, 0x6801);
	call.dtype = CHOIR_BF16;
	reduce_host(&call, (void *[]){ &out }, brain_src);
	assert_int_equal(out, 0x4381);
}

/* identity op x = x, for whatever x (a square_add folds partial results). */
static void test_identity(void **state)
{
	enum { COUNT = 257 };
	unsigned char in[COUNT * 16], start[COUNT * 16], out[COUNT * 16];

	(void)state;
	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
		for (choir_op op = 0; op < N_OPS; op++) {
			struct reduce_call call = { .dtype = dtype,
				                    .op = op,
				                    .n_src = 2,
				                    .raw_from = 2,
				                    .n_dst = 1,
				                    .nt_from = 1,
				                    .count = COUNT };
			const void *src[] = { start, in };

			if (reduce_supported(dtype, op) != CHOIR_SUCCESS || op == CHOIR_OP_LOCAL)
				continue;
			inputs_fill(dtype, in, COUNT, 9);
			for (size_t i = 0; i < COUNT; i++) {
				size_t bytes = choir_dtype_bytes(dtype);

				if (dtype == CHOIR_BOOL)
					in[i] = in[i] != 0;
				if (op == CHOIR_OP_LOGICAL_AND) { /* partial results are 1 or 0 */
					memset(in + i * bytes, 0, bytes);
					in[i * bytes] = i % 3 == 0;
				}
				/* 0 + -0 is 0 */
				if (reference_is_float(dtype) && in[i * bytes + bytes - 1] == 0x80)
					in[i * bytes + bytes - 1] = 0x40;
				reduce_identity(dtype, op, start + i * bytes);
			}
			reduce_host(&call, (void *[]){ out }, src);
			reference_assert(&call, out, in, "identity");
		}
}

/* Spot checks by hand, so that a mistake shared by the reference and ops.h is seen. */
static void test_by_hand(void **state)
{
	int8_t signed8[] = { 100, 100 }, signed8_out;
	int32_t signed32[] = { -7, 0, INT32_MIN, INT32_MAX }, signed32_out;
	uint16_t unsigned16[] = { 65535, 65535 }, unsigned16_out;
	float real[] = { NAN, 1.0f, 3.0f, 4.0f }, real_out;
	uint8_t b[] = { 7, 0, 255 }, b_out;

	(void)state;
#define REDUCE(out, type, o, n, last, a0, a1)                                                                          \
	reduce_host(&(struct reduce_call){ .dtype = type,                                                              \
	                                   .op = o,                                                                    \
	                                   .n_src = 2,                                                                 \
	                                   .final = last,                                                              \
	                                   .n_ranks = n,                                                               \
	                                   .n_dst = 1,                                                                 \
	                                   .nt_from = 1,                                                               \
	                                   .count = 1 },                                                               \
	            (void *[]){ &out }, (const void *[]){ &a0, &a1 })
	REDUCE(signed8_out, CHOIR_I8, CHOIR_OP_SUM, 2, false, signed8[0], signed8[1]);
	assert_int_equal(signed8_out, -56);
	REDUCE(signed32_out, CHOIR_I32, CHOIR_OP_MEAN, 2, true, signed32[0], signed32[1]);
	assert_int_equal(signed32_out, -3);
	REDUCE(signed32_out, CHOIR_I32, CHOIR_OP_MIN, 2, true, signed32[3], signed32[2]);
	assert_int_equal(signed32_out, INT32_MIN);
	REDUCE(signed32_out, CHOIR_I32, CHOIR_OP_PROD, 2, true, signed32[2], signed32[3]);
	assert_int_equal(signed32_out, INT32_MIN);
	REDUCE(unsigned16_out, CHOIR_U16, CHOIR_OP_PROD, 2, true, unsigned16[0], unsigned16[1]);
	assert_int_equal(unsigned16_out, 1);
	REDUCE(real_out, CHOIR_F32, CHOIR_OP_MIN, 2, false, real[0], real[1]);
	assert_true(real_out != real_out);
	REDUCE(real_out, CHOIR_F32, CHOIR_OP_MAX, 2, false, real[1], real[0]);
	assert_true(real_out != real_out);
	REDUCE(real_out, CHOIR_F32, CHOIR_OP_SQUARE_ADD, 2, false, real[2], real[3]);
	assert_true(real_out == 25.0f);
	struct reduce_call half = { .dtype = CHOIR_F32,
		                    .op = CHOIR_OP_PREMUL_SUM,
		                    .n_src = 2,
		                    .raw_from = 1,
		                    .factor = 0.5,
		                    .n_dst = 1,
		                    .nt_from = 1,
		                    .count = 1 };
	reduce_host(&half, (void *[]){ &real_out }, (const void *[]){ &real[2], &real[3] });
	assert_true(real_out == 5.0f);
	REDUCE(b_out, CHOIR_BOOL, CHOIR_OP_SUM, 2, false, b[0], b[2]);
	assert_int_equal(b_out, 1);
	REDUCE(b_out, CHOIR_BOOL, CHOIR_OP_MEAN, 2, true, b[0], b[1]);
	assert_int_equal(b_out, 0);
	REDUCE(b_out, CHOIR_BOOL, CHOIR_OP_LOCAL, 2, true, b[0], b[1]);
	assert_int_equal(b_out, 1);
#undef REDUCE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_supported),        cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_every_pair),       cmocka_unit_test(test_rounds_once),
		cmocka_unit_test(test_half_conversions), cmocka_unit_test(test_identity),
		cmocka_unit_test(test_rounding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
