/* SPDX-License-Identifier: MIT */
#include "sparse/reference.h"

#include "sparse/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
				struct value v = value_load(t, in->val + (entries[k].at * width + c) * bytes);

				if (raw && value_is_logical(op))
					v.i = v.i != 0;
				if (raw && op == CHOIR_OP_SQUARE_ADD)
					v = value_square(t, v);
				acc = k == i ? v : value_combine(t, op, acc, v);
			}
			if (final && op == CHOIR_OP_MEAN)
				acc = value_divide(t, acc, n_ranks);
			value_store(t, out->val + (n * width + c) * bytes, acc);
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
		value_store(to, out.val + i * to_bytes, value_load(from, in->val + i * from_bytes));
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
		struct value v = value_load(dtype, pairs->val + i * bytes);

		v.f = v.f * (float)factor;
		v.d = v.d * factor;
		value_store(dtype, pairs->val + i * bytes, v);
	}
}

void reference_call(const struct reference_call *call, struct reference_pairs *out)
{
	bool wide = call->mode == 2 && value_is_narrow(call->dtype);
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
		struct value v = { .i = t == CHOIR_BOOL ? (int64_t)(bits & 1) : value_cut(t, (int64_t)bits) };

		if (specials && bits % 5 == 0)
			x = odd[bits / 5 % 7];
		v.f = (float)x;
		v.d = x;
		value_store(t, (unsigned char *)to + i * bytes, v);
	}
}

bool reference_same(choir_dtype t, const void *a, const void *b, size_t n, size_t *at)
{
	size_t bytes = choir_dtype_bytes(t);

	for (size_t i = 0; i < n; i++) {
		const unsigned char *x = (const unsigned char *)a + i * bytes,
				    *y = (const unsigned char *)b + i * bytes;
		struct value u = value_load(t, x), v = value_load(t, y);

		if (memcmp(x, y, bytes) == 0 || (value_is_float(t) && isnan(u.f) && isnan(v.f)) ||
		    (t == CHOIR_F64 && isnan(u.d) && isnan(v.d)))
			continue;
		*at = i;
		return false;
	}
	return true;
}
