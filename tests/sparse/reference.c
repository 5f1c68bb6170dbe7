/* SPDX-License-Identifier: MIT */
#include "sparse/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value out of memory: exactly one member counts, by dtype. */
struct value {
	float f;   /* f32 and what is narrower */
	double d;  /* f64 */
	int64_t i; /* integers, sign- or zero-extended; bool */
};

static bool is_narrow(choir_dtype t)
{
	return t == CHOIR_F16 || t == CHOIR_BF16 || t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2;
}

static bool is_float(choir_dtype t)
{
	return t == CHOIR_F32 || is_narrow(t);
}

static bool is_unsigned(choir_dtype t)
{
	return t == CHOIR_U8 || t == CHOIR_U16 || t == CHOIR_U32 || t == CHOIR_U64;
}

static float from_half(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	float v = e == 31  ? (m != 0 ? NAN : INFINITY)
	          : e == 0 ? ldexpf((float)m, -24)
	                   : ldexpf((float)(m + 1024), e - 25);

	return (h & 0x8000) != 0 ? -v : v;
}

static uint16_t to_half(float v)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	double a = fabs((double)v);
	int e;

	if (isnan(v))
		return 0x7e00;
	if (a >= 65520.0)
		return sign | 0x7c00;
	if (a < ldexp(1, -14))
		return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(a, 24)));
	(void)frexp(a, &e);
	/* a = m * 2^(e - 11) with m in [1024, 2048]; a carry moves into the exponent by itself */
	return (uint16_t)(sign | (((uint16_t)(e + 13) << 10) + (uint16_t)nearbyint(ldexp(a, 11 - e))));
}

static float from_bf16(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float v;

	memcpy(&v, &bits, 4);
	return v;
}

static uint16_t to_bf16(float v)
{
	uint32_t bits, low;

	memcpy(&bits, &v, 4);
	if (isnan(v))
		return 0x7fc0;
	low = bits & 0xffff;
	bits >>= 16;
	if (low > 0x8000 || (low == 0x8000 && (bits & 1) != 0))
		bits++;
	return (uint16_t)bits;
}

/* OCP's f8e4m3 and f8e5m2: `bits` of fraction; e4m3 has one NaN and no infinity. */
static float from_8(choir_dtype t, uint8_t b)
{
	int bits = t == CHOIR_F8E4M3 ? 3 : 2, bias = t == CHOIR_F8E4M3 ? 7 : 15, e = (b & 0x7f) >> bits,
	    m = b & ((1 << bits) - 1);
	float v = e == 0 ? ldexpf((float)m, 1 - bias - bits) : ldexpf((float)(m + (1 << bits)), e - bias - bits);

	if (t == CHOIR_F8E4M3 ? (b & 0x7f) == 0x7f : e == 31 && m != 0)
		v = NAN;
	else if (t == CHOIR_F8E5M2 && e == 31)
		v = INFINITY;
	return (b & 0x80) != 0 ? -v : v;
}

/* The code below and the one above it are neighbours: the nearer, or the even one. */
static uint8_t to_8(choir_dtype t, float v)
{
	uint8_t sign = signbit(v) ? 0x80 : 0, most = t == CHOIR_F8E4M3 ? 0x7e : 0x7b, low = 0;
	double a = fabs((double)v), from, to;

	if (isnan(v))
		return 0x7f;
	if (t == CHOIR_F8E5M2 && a >= 61440)
		return sign | 0x7c;
	while (low < most && (double)from_8(t, low + 1) <= a)
		low++;
	if (low == most)
		return sign | most;
	from = a - (double)from_8(t, low);
	to = (double)from_8(t, low + 1) - a;
	return sign | (uint8_t)(from < to || (from == to && low % 2 == 0) ? low : low + 1);
}

/* An integer cut to its type. */
static int64_t cut(choir_dtype t, int64_t i)
{
	switch (choir_dtype_bytes(t)) {
	case 1: return t == CHOIR_I8 ? (int8_t)i : (uint8_t)i;
	case 2: return t == CHOIR_I16 ? (int16_t)i : (uint16_t)i;
	case 4: return t == CHOIR_I32 ? (int64_t)(int32_t)i : (int64_t)(uint32_t)i;
	default: return i;
	}
}

static struct value load(choir_dtype t, const unsigned char *p)
{
	struct value v = { 0 };
	uint16_t half;

	if (t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2) {
		v.f = from_8(t, *p);
	} else if (t == CHOIR_F16 || t == CHOIR_BF16) {
		memcpy(&half, p, 2);
		v.f = t == CHOIR_F16 ? from_half(half) : from_bf16(half);
	} else if (t == CHOIR_F32) {
		memcpy(&v.f, p, 4);
	} else if (t == CHOIR_F64) {
		memcpy(&v.d, p, 8);
	} else {
		memcpy(&v.i, p, choir_dtype_bytes(t));
		v.i = t == CHOIR_BOOL ? v.i != 0 : cut(t, v.i);
	}
	return v;
}

static void store(choir_dtype t, unsigned char *p, struct value v)
{
	uint16_t half;

	if (t == CHOIR_F8E4M3 || t == CHOIR_F8E5M2) {
		*p = to_8(t, v.f);
	} else if (t == CHOIR_F16 || t == CHOIR_BF16) {
		half = t == CHOIR_F16 ? to_half(v.f) : to_bf16(v.f);
		memcpy(p, &half, 2);
	} else if (t == CHOIR_F32) {
		memcpy(p, &v.f, 4);
	} else if (t == CHOIR_F64) {
		memcpy(p, &v.d, 8);
	} else {
		memcpy(p, &v.i, choir_dtype_bytes(t));
	}
}

static double float_op(choir_op op, double a, double b, bool narrow)
{
	float x = (float)a, y = (float)b;

	switch (op) {
	case CHOIR_OP_PROD: return narrow ? (double)(x * y) : a * b;
	case CHOIR_OP_MIN: return isnan(a) || a <= b ? a : b;
	case CHOIR_OP_MAX: return isnan(a) || a >= b ? a : b;
	default: return narrow ? (double)(x + y) : a + b;
	}
}

static int64_t integer_op(choir_dtype t, choir_op op, int64_t a, int64_t b)
{
	bool less = is_unsigned(t) ? (uint64_t)b < (uint64_t)a : b < a;

	if (t == CHOIR_BOOL && (op == CHOIR_OP_SUM || op == CHOIR_OP_SQUARE_ADD))
		return a | b;
	if (t == CHOIR_BOOL && op == CHOIR_OP_MEAN)
		return a & b;
	switch (op) {
	case CHOIR_OP_PROD: return cut(t, (int64_t)((uint64_t)a * (uint64_t)b));
	case CHOIR_OP_MIN: return less ? b : a;
	case CHOIR_OP_MAX: return less ? a : b;
	case CHOIR_OP_LOGICAL_AND:
	case CHOIR_OP_BAND: return a & b;
	case CHOIR_OP_LOGICAL_OR:
	case CHOIR_OP_BOR: return a | b;
	case CHOIR_OP_LOGICAL_XOR:
	case CHOIR_OP_BXOR: return a ^ b;
	default: return cut(t, (int64_t)((uint64_t)a + (uint64_t)b));
	}
}

static struct value combine(choir_dtype t, choir_op op, struct value a, struct value b)
{
	if (is_float(t))
		a.f = (float)float_op(op, a.f, b.f, true);
	else if (t == CHOIR_F64)
		a.d = float_op(op, a.d, b.d, false);
	else
		a.i = integer_op(t, op, a.i, b.i);
	return a;
}

static bool is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

static struct value square(choir_dtype t, struct value v)
{
	v.f = v.f * v.f;
	v.d = v.d * v.d;
	if (t != CHOIR_BOOL)
		v.i = cut(t, (int64_t)((uint64_t)v.i * (uint64_t)v.i));
	return v;
}

static struct value divide(choir_dtype t, struct value v, int n)
{
	v.f = v.f / (float)n;
	v.d = v.d / n;
	if (is_unsigned(t))
		v.i = (int64_t)((uint64_t)v.i / (uint64_t)n);
	else if (t != CHOIR_BOOL)
		v.i = v.i / n;
	return v;
}

/* Entries in order of (index, position). */
struct entry {
	int64_t index;
	size_t at;
};

static int by_index(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

void reference_coalesce(const struct reference_pairs *in, size_t width, choir_dtype t, choir_op op, bool raw,
                        bool final, int n_ranks, struct reference_pairs *out)
{
	size_t bytes = choir_dtype_bytes(t), n = 0;
	struct entry *entries = malloc((in->count + 1) * sizeof *entries);

	out->ind = malloc((in->count + 1) * sizeof *out->ind);
	out->val = malloc((in->count + 1) * (width + 1) * bytes);
	for (size_t i = 0; i < in->count; i++)
		entries[i] = (struct entry){ in->ind[i], i };
	qsort(entries, in->count, sizeof *entries, by_index);
	for (size_t i = 0, end; i < in->count; i = end, n++) {
		for (end = i; end < in->count && entries[end].index == entries[i].index;)
			end++;
		out->ind[n] = entries[i].index;
		for (size_t c = 0; c < width; c++) {
			struct value acc = { 0 };

			for (size_t k = i; k < end; k++) {
				struct value v = load(t, in->val + (entries[k].at * width + c) * bytes);

				if (raw && is_logical(op))
					v.i = v.i != 0;
				if (raw && op == CHOIR_OP_SQUARE_ADD)
					v = square(t, v);
				acc = k == i ? v : combine(t, op, acc, v);
			}
			if (final && op == CHOIR_OP_MEAN)
				acc = divide(t, acc, n_ranks);
			store(t, out->val + (n * width + c) * bytes, acc);
		}
	}
	out->count = n;
	free(entries);
}

void reference_allreduce(const struct reference_pairs *ranks, int n_ranks, size_t width, choir_dtype t, choir_op op,
                         struct reference_pairs *out)
{
	size_t row = width * choir_dtype_bytes(t);
	struct reference_pairs all = { 0 }, one;

	for (int r = 0; r < n_ranks; r++) {
		reference_coalesce(&ranks[r], width, t, op, true, false, n_ranks, &one);
		all.ind = realloc(all.ind, (all.count + one.count + 1) * sizeof *all.ind);
		all.val = realloc(all.val, (all.count + one.count + 1) * (row + 1));
		memcpy(all.ind + all.count, one.ind, one.count * sizeof *all.ind);
		memcpy(all.val + all.count * row, one.val, one.count * row);
		all.count += one.count;
		reference_free(&one);
	}
	reference_coalesce(&all, width, t, op, false, true, n_ranks, out);
	reference_free(&all);
}

/* b's pairs after a's, which grows. */
static void append(struct reference_pairs *a, const struct reference_pairs *b, size_t row)
{
	a->ind = realloc(a->ind, (a->count + b->count + 1) * sizeof *a->ind);
	a->val = realloc(a->val, (a->count + b->count + 1) * (row + 1));
	if (b->count == 0)
		return;
	memcpy(a->ind + a->count, b->ind, b->count * sizeof *b->ind);
	memcpy(a->val + a->count * row, b->val, b->count * row);
	a->count += b->count;
}

/* The pairs with their values in another dtype. */
static struct reference_pairs in_dtype(const struct reference_pairs *in, size_t width, choir_dtype from, choir_dtype to)
{
	size_t n = in->count * width, from_bytes = choir_dtype_bytes(from), to_bytes = choir_dtype_bytes(to);
	struct reference_pairs out = { malloc((in->count + 1) * sizeof *out.ind), malloc(n * to_bytes + 1), in->count };

	memcpy(out.ind, in->ind, in->count * sizeof *out.ind);
	for (size_t i = 0; i < n; i++)
		store(to, out.val + i * to_bytes, load(from, in->val + i * from_bytes));
	return out;
}

/* The lists of n ranks, each coalesced, to one: all at once, or neighbours first, as partners of a hypercube meet. */
static void merge_lists(const struct reference_call *call, choir_dtype dtype, struct reference_pairs *lists,
                        struct reference_pairs *out)
{
	size_t row = call->width * choir_dtype_bytes(dtype);
	int n = call->n_ranks, core = 1, at = 0;

	while (core * 2 <= n)
		core *= 2;
	for (int id = 0, r = 0; call->pairwise && id < core; id++, at++) {
		int some = id < n - core ? 2 : 1;
		struct reference_pairs both = { 0 }, one;

		for (int k = 0; k < some; k++, r++) {
			append(&both, &lists[r], row);
			reference_free(&lists[r]);
		}
		reference_coalesce(&both, call->width, dtype, call->op, false, false, n, &one);
		reference_free(&both);
		lists[at] = one;
	}
	for (int left = core; call->pairwise && left > 2; left /= 2)
		for (int i = 0; i < left / 2; i++) {
			struct reference_pairs both = lists[2 * i], one;

			append(&both, &lists[2 * i + 1], row);
			reference_free(&lists[2 * i + 1]);
			reference_coalesce(&both, call->width, dtype, call->op, false, false, n, &one);
			reference_free(&both);
			lists[2 * i] = (struct reference_pairs){ 0 };
			lists[i] = one;
		}
	for (int r = 1; r < n; r++)
		append(&lists[0], &lists[r], row);
	reference_coalesce(&lists[0], call->width, dtype, call->op, false, true, n, out);
}

/* Each rank's rows times its own factor, rounded. */
static void scale(struct reference_pairs *pairs, size_t width, choir_dtype dtype, double factor)
{
	size_t bytes = choir_dtype_bytes(dtype);

	for (size_t i = 0; i < pairs->count * width; i++) {
		struct value v = load(dtype, pairs->val + i * bytes);

		v.f = v.f * (float)factor;
		v.d = v.d * factor;
		store(dtype, pairs->val + i * bytes, v);
	}
}

void reference_call(const struct reference_call *call, struct reference_pairs *out)
{
	bool wide = call->mode == 2 && is_narrow(call->dtype);
	choir_dtype local = wide ? CHOIR_F32 : call->dtype, wire = call->wire == 1   ? CHOIR_F16
	                                                           : call->wire == 2 ? CHOIR_BF16
	                                                                             : local;
	struct reference_pairs lists[64] = { 0 }, sum = { 0 };

	for (int r = 0; r < call->n_ranks; r++) {
		struct reference_pairs mine = in_dtype(&call->ranks[r], call->width, call->dtype, local), one = mine;

		if (call->op == CHOIR_OP_PREMUL_SUM && call->mode != 1)
			scale(&mine, call->width, local, call->factors[r]);
		if (call->mode != 1) {
			reference_coalesce(&mine, call->width, local, call->op, true, false, call->n_ranks, &one);
			reference_free(&mine);
		}
		lists[r] = in_dtype(&one, call->width, local, wire);
		reference_free(&one);
	}
	if (call->mode == 1)
		for (int r = 0; r < call->n_ranks; r++)
			append(&sum, &lists[r], call->width * choir_dtype_bytes(wire));
	else
		merge_lists(call, wire, lists, &sum);
	*out = in_dtype(&sum, call->width, wire, call->dtype);
	reference_free(&sum);
	for (int r = 0; r < call->n_ranks; r++)
		reference_free(&lists[r]);
}

void reference_free(struct reference_pairs *pairs)
{
	free(pairs->ind);
	free(pairs->val);
	memset(pairs, 0, sizeof *pairs);
}

uint64_t reference_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * UINT64_C(0x2545f4914f6cdd1d);
}

void reference_random(uint64_t *seed, choir_dtype t, bool specials, void *to, size_t n)
{
	static const double odd[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-7, 65504.0 };
	size_t bytes = choir_dtype_bytes(t);

	for (size_t i = 0; i < n; i++) {
		uint64_t bits = reference_next(seed);
		double x = ((double)(bits >> 11) * 0x1p-53 - 0.5) * 8;
		struct value v = { .i = t == CHOIR_BOOL ? (int64_t)(bits & 1) : cut(t, (int64_t)bits) };

		if (specials && bits % 5 == 0)
			x = odd[bits / 5 % 7];
		v.f = (float)x;
		v.d = x;
		store(t, (unsigned char *)to + i * bytes, v);
	}
}

bool reference_same(choir_dtype t, const void *a, const void *b, size_t n, size_t *at)
{
	size_t bytes = choir_dtype_bytes(t);

	for (size_t i = 0; i < n; i++) {
		const unsigned char *x = (const unsigned char *)a + i * bytes,
				    *y = (const unsigned char *)b + i * bytes;
		struct value u = load(t, x), v = load(t, y);

		if (memcmp(x, y, bytes) == 0 || (is_float(t) && isnan(u.f) && isnan(v.f)) ||
		    (t == CHOIR_F64 && isnan(u.d) && isnan(v.d)))
			continue;
		*at = i;
		return false;
	}
	return true;
}
