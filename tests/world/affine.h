/* SPDX-License-Identifier: MIT */
/* An operator of the caller's own that is associative and not commutative: x -> m x + c modulo 2^32, packed in a u64 as
 * m << 32 | c; b after a. */
#ifndef TESTS_AFFINE_H
#define TESTS_AFFINE_H

#include <choir/choir.h>
#include <stdio.h>
#include <stdlib.h>

enum affine_form { AFFINE_FUNCTIONS, AFFINE_TEXT, AFFINE_BOTH, N_AFFINE_FORMS };

static inline uint64_t affine_compose(uint64_t a, uint64_t b)
{
	uint32_t m = (uint32_t)(a >> 32) * (uint32_t)(b >> 32);
	uint32_t c = (uint32_t)(b >> 32) * (uint32_t)a + (uint32_t)b;

	return (uint64_t)m << 32 | c;
}

static inline void affine_fold(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	uint64_t *to = acc;
	const uint64_t *from = src;

	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		to[i] = affine_compose(to[i], from[i]);
}

#define AFFINE_SOURCE                                                                                                  \
	"ulong compose(ulong a, ulong b)\n{\n\tuint m = (uint)(a >> 32) * (uint)(b >> 32);\n"                          \
	"\tuint c = (uint)(b >> 32) * (uint)a + (uint)b;\n\treturn (ulong)m << 32 | c;\n}\n"

/* The operator, to be destroyed by the caller. */
static inline choir_op affine_create(enum affine_form form)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op = -1;

	config.name = "affine";
	config.commutative = 0;
	config.dtypes = 1u << CHOIR_U64;
	if (form != AFFINE_TEXT)
		config.fold = affine_fold;
	if (form != AFFINE_FUNCTIONS) {
		config.source = AFFINE_SOURCE;
		config.fold_text = "compose(a, b)";
	}
	if (choir_op_create(&config, &op) != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		exit(1);
	}
	return op;
}

/* What a rank gives as element i, and what the ranks before `end` make of it; of no rank 0. */
static inline uint64_t affine_given(int rank, size_t i)
{
	return (uint64_t)(rank * 2 + 3) << 32 | (uint32_t)(i * 7919 + (size_t)rank);
}

static inline uint64_t affine_wanted(int end, size_t i)
{
	uint64_t value = end > 0 ? affine_given(0, i) : 0;

	for (int r = 1; r < end; r++)
		value = affine_compose(value, affine_given(r, i));
	return value;
}

#endif
