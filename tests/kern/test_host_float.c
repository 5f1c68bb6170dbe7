/* SPDX-License-Identifier: MIT */
/* Host reductions give the same bits whatever the thread's floating-point control word, and leave the word as it
 * was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "float_words.h"
#include "inputs.h"
#include "kern/host_twin.h"

#include <string.h>

enum { N_SRC = 3, COUNT = 257 };

static unsigned char sources[N_SRC][COUNT * 8], wanted[2][COUNT * 8], got[2][COUNT * 8];

/* n_dst 2: by lines for two sources, in blocks for three. */
static void reduce_under(uint64_t word, const struct reduce_call *call, unsigned char (*to)[COUNT * 8])
{
	uint64_t before = float_control_read();

	float_control_write(word);
	reduce_host(call, (void *[]){ to[0], to[1] }, (const void *[]){ sources[0], sources[1], sources[2] });
	assert_true(((float_control_read() ^ word) & FLOAT_CONTROL_BITS) == 0);
	float_control_write(before);
}

static void check(choir_dtype dtype, choir_op op, uint32_t n_src, uint32_t n_dst)
{
	struct reduce_call call = { .dtype = dtype,
		                    .op = op,
		                    .n_src = n_src,
		                    .final = true,
		                    .n_ranks = 3,
		                    .factor = 0.1,
		                    .n_dst = n_dst,
		                    .nt_from = n_dst,
		                    .count = COUNT };

	reduce_under(FLOAT_CONTROL_DEFAULT, &call, wanted);
	for (size_t w = 0; w < FLOAT_WORDS; w++) {
		reduce_under(float_words[w], &call, got);
		for (uint32_t d = 0; d < n_dst; d++)
			if (memcmp(got[d], wanted[d], COUNT * choir_dtype_bytes(dtype)) != 0)
				fail_msg("%s %s, %u sources: control word %#llx gives other bits",
				         choir_dtype_name(dtype), choir_op_name(op), n_src,
				         (unsigned long long)float_words[w]);
	}
}

/* Subnormal numbers in even elements, thirds and the like in odd ones. */
static void fill_sources(choir_dtype dtype)
{
	for (uint32_t k = 0; k < N_SRC; k++)
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t mantissa = (i * 2654435761u + k * 40503u) & 0x7fffff;
			uint32_t single = i % 2 == 0 ? mantissa : 0x3e000000 + (i % 5 << 23) + mantissa;
			uint64_t wide = i % 2 == 0
			                    ? mantissa
			                    : UINT64_C(0x3fd0000000000000) + ((uint64_t)mantissa << 29) + k * 12345 + 1;
			uint16_t half = (uint16_t)(i % 2 == 0 ? mantissa & 0x3ff : 0x3000 + (mantissa & 0x7ff));

			if (dtype == CHOIR_F64)
				memcpy(sources[k] + i * 8, &wide, 8);
			else if (dtype == CHOIR_F32)
				memcpy(sources[k] + i * 4, &single, 4);
			else
				memcpy(sources[k] + i * 2, &half, 2);
		}
}

static void test_every_word(void **state)
{
	static const choir_dtype dtypes[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F32, CHOIR_F64, CHOIR_F8E4M3, CHOIR_F8E5M2 };

	(void)state;
	for (const struct host_level *level = host_levels; level->name != NULL; level++)
		for (int d = 0; d < 6 && level->fits(); d++) {
			fill_sources(dtypes[d]);
			host_use(level);
			for (choir_op op = 0; op < N_OPS; op++)
				for (uint32_t v = 0; v < 6 && reduce_supported(dtypes[d], op) == CHOIR_SUCCESS; v++)
					check(dtypes[d], op, 1 + v % 3, 1 + v / 3);
		}
	host_use(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_word) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
