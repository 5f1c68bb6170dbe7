/* SPDX-License-Identifier: MIT */
/* The host loops of one (DTYPE, OP), made from cl/ops.h; included once for each by host_dtype.h.
 *
 * dst may be exactly one of the sources: every element is read from all sources before it is written, and HOST_INDEPENDENT tells the compiler that elements
 * do not depend on each other, else its overlap check would send that case, the usual one, to scalar code. */
#include "ops.h"

static void OPS(two)(void *dst_v, const void *a_v, const void *b_v, size_t count, size_t raw_from, int n_final)
{
	ELEM *dst = dst_v;
	const ELEM *a = a_v, *b = b_v;
	const bool a_raw = raw_from < 1, b_raw = raw_from < 2;

	HOST_INDEPENDENT
	for (size_t i = 0; i < count; i++) {
		ACC x = OPS(load)(a, i);
		ACC y = OPS(load)(b, i);

		x = a_raw ? OPS(raw)(x) : x;
		y = b_raw ? OPS(raw)(y) : y;
		x = OPS(fold)(x, y);
		x = n_final != 0 ? OPS(final)(x, n_final) : x;
		OPS(store)(dst, i, x);
	}
}

static void OPS(take)(ACC *acc, const ELEM *src, size_t count, bool raw)
{
	HOST_INDEPENDENT
	for (size_t i = 0; i < count; i++) {
		ACC x = OPS(load)(src, i);

		acc[i] = raw ? OPS(raw)(x) : x;
	}
}

static void OPS(add)(ACC *acc, const ELEM *src, size_t count, bool raw)
{
	HOST_INDEPENDENT
	for (size_t i = 0; i < count; i++) {
		ACC x = OPS(load)(src, i);

		acc[i] = OPS(fold)(acc[i], raw ? OPS(raw)(x) : x);
	}
}

static void OPS(give)(ELEM *dst, const ACC *acc, size_t count, int n_final)
{
	HOST_INDEPENDENT
	for (size_t i = 0; i < count; i++)
		OPS(store)(dst, i, n_final != 0 ? OPS(final)(acc[i], n_final) : acc[i]);
}

/* In blocks that stay in the first cache, with all partial results of a block kept in ACC's precision. */
static void OPS(many)(void *dst, const void *const *src, size_t n_src, size_t count, size_t raw_from, int n_final)
{
	ACC acc[HOST_BLOCK];

	for (size_t start = 0; start < count; start += HOST_BLOCK) {
		size_t n = count - start < HOST_BLOCK ? count - start : HOST_BLOCK;

		OPS(take)(acc, (const ELEM *)src[0] + start, n, raw_from < 1);
		for (size_t k = 1; k < n_src; k++)
			OPS(add)(acc, (const ELEM *)src[k] + start, n, k >= raw_from);
		OPS(give)((ELEM *)dst + start, acc, n, n_final);
	}
}

static void OPS(write_identity)(void *out)
{
	OPS(store)((ELEM *)out, 0, OPS(identity)());
}
