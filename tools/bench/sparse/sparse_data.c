/* SPDX-License-Identifier: MIT */
/* Values are small integers that stay exact however the rows of one index are grouped: in 16-bit types only the first
 * eight occurrences of an index on a rank count, the rest are zero, as a hot index occurs thousands of times.  For mean
 * all values are multiples of the number of ranks. */
#include "sparse_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_BITS = 31, DIGIT_BITS = 11 };

struct row {
	int64_t index;
	uint32_t rank, at; /* whose, and its place in what that rank sends */
};

/* The rows of ranks first .. first+n-1, one rank after another. */
static void draw_rows(const struct sparse_shape *shape, int first, int n, struct row *rows)
{
	for (int rank = first; rank < first + n; rank++) {
		size_t before = sparse_ids_before(&shape->args, rank, shape->n_ranks),
		       mine = sparse_ids_rows(&shape->args, rank, shape->n_ranks);

		for (size_t i = 0; i < mine; i++)
			*rows++ = (struct row){ .index = sparse_ids_at(&shape->args, shape->text, before, i),
				                .rank = (uint32_t)rank,
				                .at = (uint32_t)i };
	}
}

/* By index; rows of one index stay in their order, rank by rank.  other: room for as many.  Returns where they are
 * then. */
static struct row *sort_rows(struct row *rows, struct row *other, size_t n)
{
	for (int shift = 0; shift < INDEX_BITS; shift += DIGIT_BITS) {
		size_t at[1 << DIGIT_BITS] = { 0 }, sum = 0;
		struct row *swap = rows;

		for (size_t i = 0; i < n; i++)
			at[rows[i].index >> shift & ((1 << DIGIT_BITS) - 1)]++;
		for (size_t d = 0; d < 1 << DIGIT_BITS; d++) {
			size_t count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			other[at[rows[i].index >> shift & ((1 << DIGIT_BITS) - 1)]++] = rows[i];
		rows = other;
		other = swap;
	}
	return rows;
}

static bool is_16_bit(choir_dtype dtype)
{
	return choir_dtype_bytes(dtype) == 2;
}

const char *sparse_data_why_not(choir_dtype dtype, choir_op op)
{
	if (dtype != CHOIR_F32 && dtype != CHOIR_F64 && !is_16_bit(dtype))
		return "the bench has no sparse check data for this type";
	if (dtype == CHOIR_I16 || dtype == CHOIR_U16)
		return "the bench has no sparse check data for this type";
	return op <= CHOIR_OP_MEAN ? NULL : "the bench has no sparse check data for this operator";
}

/* Column c of the row of that index, the k-th occurrence of it on its rank. */
static double value_of(const struct sparse_shape *shape, const struct row *row, size_t k, size_t c)
{
	uint32_t h = ((uint32_t)row->index * 0x9e3779b1u) ^ (uint32_t)(c * 0x85ebca77u) ^ (row->rank * 0xc2b2ae3du) ^
	             (row->at * 0x27d4eb2fu);

	h = (h ^ h >> 15) * 0x2c1b3c6du;
	h ^= h >> 13;
	if (shape->op == CHOIR_OP_PROD)
		return 1 + (h & (k < 2 && row->rank < 4));
	if (is_16_bit(shape->dtype) && k >= (shape->dtype == CHOIR_BF16 ? 2 : 8)) /* sums of 64 ranks are exact */
		return 0;
	return ((double)(h & 3) - 2) * (shape->op == CHOIR_OP_MEAN ? shape->n_ranks : 1);
}

/* x is an integer that the type holds exactly, or too large for it. */
static void encode(choir_dtype dtype, double x, unsigned char *out)
{
	float single = (float)x;
	uint32_t bits;
	uint16_t half;

	memcpy(&bits, &single, 4);
	half = (uint16_t)(bits >> 16);
	if (dtype == CHOIR_F16 && fabs(x) >= 65536)
		half = (uint16_t)((half & 0x8000u) | 0x7c00u);
	else if (dtype == CHOIR_F16 && x != 0)
		half = (uint16_t)((half & 0x8000u) | ((bits >> 23 & 255u) - 112) << 10 | (bits >> 13 & 1023u));
	if (dtype == CHOIR_F64)
		memcpy(out, &x, 8);
	else if (dtype == CHOIR_F32)
		memcpy(out, &single, 4);
	else
		memcpy(out, &half, 2);
}

static void encode_index(choir_dtype dtype, int64_t index, void *ind, size_t i)
{
	if (dtype == CHOIR_I64)
		((int64_t *)ind)[i] = index;
	else
		((int32_t *)ind)[i] = (int32_t)index;
}

static bool make_room(const struct sparse_shape *shape, size_t rows, struct sparse_rows *out)
{
	*out = (struct sparse_rows){ .rows = rows };
	if (rows == 0)
		return true;
	out->ind = malloc(rows * choir_dtype_bytes(shape->args.index_dtype));
	out->val = malloc(rows * shape->args.width * choir_dtype_bytes(shape->dtype));
	if (out->ind != NULL && out->val != NULL)
		return true;
	sparse_data_fini(out);
	return false;
}

void sparse_data_fini(struct sparse_rows *rows)
{
	free(rows->ind);
	free(rows->val);
	*rows = (struct sparse_rows){ 0 };
}

/* How often this row's index came before it on its rank; rows are sorted. */
static size_t occurrence(const struct row *rows, size_t i, size_t before)
{
	return i > 0 && rows[i - 1].index == rows[i].index && rows[i - 1].rank == rows[i].rank ? before + 1 : 0;
}

/* What does not depend on how often an index came before needs no order. */
static bool counts_occurrences(const struct sparse_shape *shape)
{
	return shape->op == CHOIR_OP_PROD || is_16_bit(shape->dtype);
}

bool sparse_data_make(const struct sparse_shape *shape, int rank, struct sparse_rows *out)
{
	size_t n = sparse_ids_rows(&shape->args, rank, shape->n_ranks), width = shape->args.width,
	       elem = choir_dtype_bytes(shape->dtype), k = 0;
	struct row *room = malloc((2 * n + 1) * sizeof *room), *rows = room;

	if (room == NULL || !make_room(shape, n, out)) {
		free(room);
		return false;
	}
	draw_rows(shape, rank, 1, rows);
	if (counts_occurrences(shape))
		rows = sort_rows(room, room + n, n);
	for (size_t i = 0; i < n; i++) {
		unsigned char *val = (unsigned char *)out->val + rows[i].at * width * elem;

		k = occurrence(rows, i, k);
		encode_index(shape->args.index_dtype, rows[i].index, out->ind, rows[i].at);
		for (size_t c = 0; c < width; c++)
			encode(shape->dtype, value_of(shape, &rows[i], k, c), val + c * elem);
	}
	free(room);
	return true;
}

static double fold(choir_op op, double a, double b)
{
	switch (op) {
	case CHOIR_OP_PROD:
		return a * b;
	case CHOIR_OP_MIN:
		return a < b ? a : b;
	case CHOIR_OP_MAX:
		return a > b ? a : b;
	default:
		return a + b;
	}
}

/* Rows begin .. end-1 have one index: their reduction goes to row `to` of out. */
static void reduce_index(const struct sparse_shape *shape, const struct row *rows, size_t begin, size_t end,
                         bool divides, size_t to, struct sparse_rows *out)
{
	size_t width = shape->args.width, elem = choir_dtype_bytes(shape->dtype);

	encode_index(shape->args.index_dtype, rows[begin].index, out->ind, to);
	for (size_t c = 0; c < width; c++) {
		size_t k = 0;
		double sum = value_of(shape, &rows[begin], 0, c);

		for (size_t i = begin + 1; i < end; i++) {
			k = occurrence(rows, i, k);
			sum = fold(shape->op, sum, value_of(shape, &rows[i], k, c));
		}
		if (divides)
			sum /= shape->n_ranks;
		encode(shape->dtype, sum, (unsigned char *)out->val + (to * width + c) * elem);
	}
}

/* The rows of ranks first .. first+count-1, coalesced. */
static bool coalesce(const struct sparse_shape *shape, int first, int count, bool divides, struct sparse_rows *out)
{
	size_t n = sparse_ids_before(&shape->args, first + count, shape->n_ranks) -
	           sparse_ids_before(&shape->args, first, shape->n_ranks),
	       distinct = 0;
	struct row *room = malloc((2 * n + 1) * sizeof *room), *rows;

	if (room == NULL)
		return false;
	draw_rows(shape, first, count, room);
	rows = sort_rows(room, room + n, n);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || rows[i].index != rows[i - 1].index;
	if (!make_room(shape, distinct, out)) {
		free(room);
		return false;
	}
	for (size_t begin = 0, end, to = 0; begin < n; begin = end, to++) {
		for (end = begin + 1; end < n && rows[end].index == rows[begin].index; end++)
			;
		reduce_index(shape, rows, begin, end, divides, to, out);
	}
	free(room);
	return true;
}

bool sparse_data_expect(const struct sparse_shape *shape, struct sparse_rows *out)
{
	return coalesce(shape, 0, shape->n_ranks, shape->op == CHOIR_OP_MEAN, out);
}

bool sparse_data_list(const struct sparse_shape *shape, int rank, struct sparse_rows *out)
{
	return coalesce(shape, rank, 1, false, out);
}
