/* SPDX-License-Identifier: MIT */
/* Every table of host loops that this CPU has, and every way to write the result (several destinations, nt stores,
 * onto a source), against the plain reference: every dtype x op, odd counts, operands that are aligned to their
 * elements only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inputs.h"
#include "kern/host_twin.h"
#include "reference.h"

#include <string.h>

enum { MAX_SRC = 9, MAX_DST = 3, MAX_COUNT = 2091, MARGIN = 192, ROOM = MAX_COUNT * 16 + 2 * MARGIN, SENTINEL = 0xa5 };

static _Alignas(64) unsigned char sources[MAX_SRC][ROOM], results[MAX_DST][ROOM], wanted[MAX_COUNT * 16];

/* Another distance from the line for every operand, a multiple of the element. */
static size_t shift(choir_dtype dtype, uint32_t which)
{
	return MARGIN / 2 + choir_dtype_bytes(dtype) * (which * 5 % 8);
}

/* Or the same for destinations, which go in lines together then. */
static size_t shift_of_dst(choir_dtype dtype, uint32_t which, bool together)
{
	return shift(dtype, together ? 4 : which + 3);
}

static void assert_result(const struct reduce_call *call, const char *level, const unsigned char *got, uint32_t k)
{
	size_t bytes = choir_dtype_bytes(call->dtype);

	for (size_t i = 0; i < call->count; i++)
		if (!reference_same(call->dtype, got + i * bytes, wanted + i * bytes))
			fail_msg("%s: %s %s, %u sources, destination %u of %u, streamed from %u on: element %zu of %zu",
			         level, choir_dtype_name(call->dtype), choir_op_name(call->op), call->n_src, k,
			         call->n_dst, call->nt_from, i, (size_t)call->count);
}

/* onto: that source is also the last destination; MAX_SRC = none.  together: destinations begin at the same place in a
 * line. */
static void check(const struct host_level *level, const struct reduce_call *call, uint32_t onto, bool together)
{
	size_t size = call->count * choir_dtype_bytes(call->dtype);
	static unsigned char kept[ROOM];
	const void *src[MAX_SRC];
	void *dst[MAX_DST];

	memset(results, SENTINEL, sizeof results);
	for (uint32_t k = 0; k < call->n_src; k++)
		src[k] = sources[k] + shift(call->dtype, k);
	for (uint32_t k = 0; k < call->n_dst; k++)
		dst[k] = results[k] + shift_of_dst(call->dtype, k, together);
	if (onto < call->n_src) {
		dst[call->n_dst - 1] = sources[onto] + shift(call->dtype, onto);
		memcpy(kept, sources[onto], ROOM);
	}
	reference_reduce(call, wanted, src);
	host_use(level);
	reduce_host(call, dst, src);
	for (uint32_t k = 0; k < call->n_dst; k++) {
		const unsigned char *end = (unsigned char *)dst[k] + size,
				    *before = (unsigned char *)dst[k] - MARGIN / 2;
		bool is_source = onto < call->n_src && k == call->n_dst - 1;

		assert_result(call, level->name, dst[k], k);
		for (size_t i = 0; i < MARGIN / 2 && !is_source; i++)
			assert_true(end[i] == SENTINEL && before[i] == SENTINEL);
	}
	if (onto < call->n_src) {
		size_t at = shift(call->dtype, onto);

		assert_memory_equal(sources[onto], kept, at);
		assert_memory_equal(sources[onto] + at + size, kept + at + size, ROOM - at - size);
		memcpy(sources[onto], kept, ROOM);
	}
}

static void check_pair(const struct host_level *level, choir_dtype dtype, choir_op op)
{
	static const size_t counts[] = { 1, 13, 17, 65, 1031, MAX_COUNT };
	unsigned v = 0;

	for (uint32_t n_src = 1; n_src <= MAX_SRC; n_src++)
		for (uint32_t n_dst = 1; n_dst <= MAX_DST; n_dst++)
			for (uint32_t nt_from = 0; nt_from <= n_dst; nt_from++) {
				struct reduce_call call = inputs_call(dtype, op, n_src, counts[v % 6], v);

				call.n_dst = n_dst;
				call.nt_from = nt_from;
				check(level, &call, v % 4 == 1 ? v / 4 % n_src : MAX_SRC, false);
				v++;
			}
}

/* Two sources: with and without a head, whole lines and a tail. */
static void check_lines(const struct host_level *level, choir_dtype dtype, choir_op op)
{
	static const size_t counts[] = { 3, 13, 65, 128, 1031 };

	for (unsigned v = 0; v < 30; v++)
		for (uint32_t n_dst = 1; n_dst <= 2; n_dst++) {
			struct reduce_call call = inputs_call(dtype, op, 2, counts[v % 5], v);

			call.n_dst = n_dst;
			call.nt_from = v % 3 % (n_dst + 1);
			check(level, &call, v % 4 < 2 ? v % 4 : MAX_SRC, v % 7 != 0);
		}
}

/* As two ranks do that reduce in place: each source is a destination. */
static void check_both_in_place(const struct host_level *level, choir_dtype dtype, choir_op op)
{
	enum { COUNT = 333 };
	static _Alignas(64) unsigned char both[2][COUNT * 16 + 64], kept[2][COUNT * 16 + 64];
	size_t bytes = choir_dtype_bytes(dtype), at = 3 * bytes;

	for (uint32_t nt_from = 0; nt_from <= 2; nt_from++) {
		struct reduce_call call = inputs_call(dtype, op, 2, COUNT, nt_from);
		void *dst[] = { both[0] + at, both[1] + at };

		call.n_dst = 2;
		call.nt_from = nt_from;
		for (int k = 0; k < 2; k++) {
			memset(both[k], SENTINEL, sizeof both[k]);
			inputs_fill(dtype, dst[k], COUNT, (uint64_t)k + 1);
		}
		memcpy(kept, both, sizeof kept);
		reference_reduce(&call, wanted, (const void *[]){ dst[0], dst[1] });
		host_use(level);
		reduce_host(&call, dst, (const void *[]){ dst[0], dst[1] });
		for (int k = 0; k < 2; k++) {
			assert_result(&call, level->name, dst[k], (uint32_t)k);
			assert_memory_equal(both[k], kept[k], at);
			assert_memory_equal(both[k] + at + COUNT * bytes, kept[k] + at + COUNT * bytes,
			                    sizeof both[k] - at - COUNT * bytes);
		}
	}
}

static void test_every_level(void **state)
{
	int levels = 0;

	(void)state;
	for (const struct host_level *level = host_levels; level->name != NULL; level++) {
		if (!level->fits())
			continue;
		levels++;
		for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++) {
			for (uint32_t k = 0; k < MAX_SRC; k++)
				inputs_fill(dtype, sources[k], ROOM / choir_dtype_bytes(dtype), k + 1);
			for (choir_op op = 0; op < N_OPS; op++)
				if (reduce_supported(dtype, op) == CHOIR_SUCCESS) {
					check_pair(level, dtype, op);
					check_lines(level, dtype, op);
					check_both_in_place(level, dtype, op);
				}
		}
	}
	host_use(NULL);
	assert_true(levels >= 1);
	print_message("%d tables of host loops\n", levels);
}

/* The tables hold the same rows. */
static void test_same_rows(void **state)
{
	(void)state;
	for (const struct host_level *level = host_levels; level->name != NULL; level++)
		for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
			for (choir_op op = 0; op < N_OPS; op++) {
				assert_int_equal(level->twins[dtype][op].reduce == NULL,
				                 host_base_twins[dtype][op].reduce == NULL);
				assert_int_equal(level->twins[dtype][op].reduce_lines == NULL,
				                 host_base_twins[dtype][op].reduce == NULL);
				assert_int_equal(level->twins[dtype][op].identity == NULL,
				                 host_base_twins[dtype][op].reduce == NULL);
			}
}

/* All halves and bfloats, as they are and times a number, at each level: conversions in vectors are other code than
 * ops.h's. */
static void test_every_value(void **state)
{
	enum { EACH = 65536 };
	static uint16_t in[2][EACH], out[EACH], want[EACH];
	const void *src[] = { in[0], in[1] };

	(void)state;
	for (const struct host_level *level = host_levels; level->name != NULL; level++)
		for (int v = 0; v < 6 && level->fits(); v++) {
			struct reduce_call call = { .dtype = v < 3 ? CHOIR_F16 : CHOIR_BF16,
				                    .op = v % 3 == 0 ? CHOIR_OP_LOCAL : CHOIR_OP_PROD,
				                    .n_src = 2,
				                    .n_dst = 1,
				                    .nt_from = 1,
				                    .count = EACH };

			for (uint32_t i = 0; i < EACH; i++) {
				in[0][i] = (uint16_t)i;
				in[1][i] = (uint16_t)(v % 3 == 1 ? 0x3801 + i % 7 * 0x333 : i * 40503u >> 3);
			}
			reference_reduce(&call, want, src);
			host_use(level);
			reduce_host(&call, (void *[]){ out }, src);
			for (uint32_t i = 0; i < EACH; i++)
				if (!reference_same(call.dtype, &out[i], &want[i]))
					fail_msg("%s, %s %s: 0x%04x and 0x%04x give 0x%04x, wanted 0x%04x", level->name,
					         choir_dtype_name(call.dtype), choir_op_name(call.op), in[0][i],
					         in[1][i], out[i], want[i]);
		}
	host_use(NULL);
}

/* A NaN with every bit set stays one: rounding would carry it to zero.  Only a factor can bring it: what comes from 16
 * bits ends in zeros. */
static void test_nan_factor(void **state)
{
	const uint64_t ones = UINT64_C(0x7fffffffffffffff);
	uint16_t in[17] = { 0 }, out[17];

	(void)state;
	for (const struct host_level *level = host_levels; level->name != NULL; level++)
		for (int v = 0; v < 2 && level->fits(); v++) {
			struct reduce_call call = { .dtype = v == 0 ? CHOIR_F16 : CHOIR_BF16,
				                    .op = CHOIR_OP_PREMUL_SUM,
				                    .n_src = 1,
				                    .n_dst = 1,
				                    .nt_from = 1,
				                    .count = 17 };

			memcpy(&call.factor, &ones, sizeof ones);
			host_use(level);
			reduce_host(&call, (void *[]){ out }, (const void *[]){ in });
			for (int i = 0; i < 17; i++)
				assert_true((out[i] & 0x7fff) > (v == 0 ? 0x7c00 : 0x7f80));
		}
	host_use(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_rows),
		cmocka_unit_test(test_every_value),
		cmocka_unit_test(test_nan_factor),
		cmocka_unit_test(test_every_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
