/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include "quick.h"
#include "reference.h"
#include "seeded.h"

#include <stdlib.h>
#include <string.h>

/* Zeros, ones, infinities, NaNs, the largest, the smallest normal, subnormals, halves of the last bit: as bits of each
 * width. */
static const uint64_t specials_2[] = { 0,      0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x7bff, 0xfbff, 0x0400,
	                               0x0001, 0x83ff, 0x3c00, 0xbc00, 0x3c01, 0x7f80, 0xff80, 0x7fc0, 0x7f81,
	                               0x7f7f, 0x0080, 0x007f, 0x3f80, 0xbf80, 0x3f81, 0xffff, 0x7fff, 0x4000 };
static const uint64_t specials_4[] = { 0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
	                               0x7f7fffff, 0xff7fffff, 0x00800000, 0x00000001, 0x807fffff, 0x3f800000,
	                               0xbf800000, 0x3f800001, 0x33800000, 0xffffffff, 0x7fffffff, 0x40000000 };
static const uint64_t specials_8[] = { 0,
	                               0x8000000000000000u,
	                               0x7ff0000000000000u,
	                               0xfff0000000000000u,
	                               0x7ff8000000000000u,
	                               0x7ff0000000000001u,
	                               0x7fefffffffffffffu,
	                               0xffefffffffffffffu,
	                               0x0010000000000000u,
	                               1,
	                               0x800fffffffffffffu,
	                               0x3ff0000000000000u,
	                               0xbff0000000000000u,
	                               0x3ff0000000000001u,
	                               0xffffffffffffffffu,
	                               0x7fffffffffffffffu };
static const uint64_t specials_1[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, 3 };

static uint64_t special(size_t bytes, uint64_t random)
{
#define PICK(list) list[random % (sizeof(list) / sizeof *(list))]
	switch (bytes) {
	case 1:
		return PICK(specials_1);
	case 2:
		return PICK(specials_2);
	case 4:
		return PICK(specials_4);
	default: /* a pair's value, too */
		return PICK(specials_8);
	}
#undef PICK
}

/* The bits of a small number of the type: sums and products of these stay finite and do not always fit the last bit. */
static uint64_t small_number(choir_dtype dtype, uint64_t random)
{
	float f = (float)((int)(random % 4001) - 2000) / 256.0f;
	double d = (double)((int)(random % 4001) - 2000) / 256.0 + 1e-14;
	uint64_t bits = 0;

	if (dtype == CHOIR_F32)
		memcpy(&bits, &f, 4);
	else if (dtype == CHOIR_F64)
		memcpy(&bits, &d, 8);
	else if (dtype == CHOIR_F16)
		bits = 0x3000 + random % 0x1800 + (random >> 20 & 0x8000);
	else if (dtype == CHOIR_F8E4M3)
		bits = 0x28 + random % 0x18 + (random >> 20 & 0x80);
	else if (dtype == CHOIR_F8E5M2)
		bits = 0x34 + random % 0x0c + (random >> 20 & 0x80);
	else if (dtype == CHOIR_BF16)
		bits = 0x3e00 + random % 0x300 + (random >> 20 & 0x8000);
	else
		bits = (uint64_t)((int64_t)(random % 41) - 20);
	return bits;
}

/* Pairs: values of few kinds, so that many are equal, and few indices. */
static void fill_pair(choir_dtype dtype, unsigned char *out, uint64_t random)
{
	static const choir_dtype values[] = { CHOIR_F32, CHOIR_F64, CHOIR_I32, CHOIR_I64 };
	choir_dtype value_dtype = values[dtype - CHOIR_F32_I32];
	size_t bytes = choir_dtype_bytes(dtype), value_bytes = choir_dtype_bytes(value_dtype);
	int32_t index = (int32_t)(random >> 40 & 3) - 1;
	uint64_t bits = random >> 56 < 128 ? special(value_bytes, random % 5) : small_number(value_dtype, random % 9);

	memset(out, 0, bytes);
	memcpy(out, &bits, value_bytes);
	memcpy(out + bytes / 2, &index, sizeof index);
}

void inputs_fill(choir_dtype dtype, void *out, size_t count, uint64_t seed)
{
	size_t bytes = choir_dtype_bytes(dtype);
	uint64_t state = seed * 1000003 + (uint64_t)dtype;

	for (size_t i = 0; i < count; i++) {
		uint64_t random = random_next(&state), kind = random >> 56, bits;

		if (reference_is_pair(dtype)) {
			fill_pair(dtype, (unsigned char *)out + i * bytes, random);
			continue;
		}
		if (kind < 40)
			bits = special(bytes, random);
		else if (kind < 100)
			bits = random;
		else
			bits = small_number(dtype, random);
		memcpy((unsigned char *)out + i * bytes, &bits, bytes);
	}
}

const size_t *inputs_counts(void)
{
	static const size_t all[] = { 0, 1, 2, 3, 7, 63, 64, 65, 255, 256, 257, 1000, 1024, 1025, 4099, SIZE_MAX };
	static const size_t few[] = { 0, 1, 7, 259, SIZE_MAX };

	return quick_wanted() ? few : all;
}

const uint32_t *inputs_sources(void)
{
	static const uint32_t all[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 0 };
	static const uint32_t few[] = { 1, 2, 3, 9, 0 };

	return quick_wanted() ? few : all;
}

struct reduce_call inputs_call(choir_dtype dtype, choir_op op, uint32_t n_src, size_t count, unsigned v)
{
	struct reduce_call call = {
		.dtype = dtype, .op = op, .n_src = n_src, .n_dst = 1, .nt_from = 1, .count = count
	};

	call.raw_from = v % 3 == 0 ? 0 : v % 3 == 1 ? n_src : n_src / 2;
	call.final = v % 4 != 3;
	call.n_ranks = v % 5 == 0 ? 3 : (int)n_src;
	call.factor = v % 2 == 0 ? 1.0 / 3.0 : -2.5;
	return call;
}
