/* SPDX-License-Identifier: MIT */
/* Indices are drawn from Zipf's law by inverting its continuous form, so that index 0 is the most frequent (ids in the order of a sorted
 * vocabulary), or uniformly.  Values are small integers that stay exact however the rows of one index are grouped: in 16-bit types only the first
 * eight occurrences of an index on a rank count, the rest are zero, as a hot index occurs thousands of times.  For mean all values are
 * multiples of the number of ranks. */
#include "sparse_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
	int64_t index;
	uint32_t rank, at; /* whose, and its place in what that rank sends */
};

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static int64_t draw(const struct args_sparse *args, double u)
{
	double range = (double)args->range, x;

	if (args->zipf == 0)
		x = u * range;
	else if (fabs(args->zipf - 1) < 1e-9)
		x = exp(u * log(range + 1)) - 1;
	else
		x = pow(u * (pow(range + 1, 1 - args->zipf) - 1) + 1, 1 / (1 - args->zipf)) - 1;
	return x < range ? (int64_t)x : (int64_t)args->range - 1;
}

static void draw_rows(const struct sparse_shape *shape, int rank, struct row *rows)
{
	uint64_t state = 0x5eed + (uint64_t)rank * 0x1000003u;

	for (size_t i = 0; i < shape->args.rows; i++) {
		double u = (double)(next_random(&state) >> 11) * 0x1p-53;

		rows[i] = (struct row){ .index = draw(&shape->args, u), .rank = (uint32_t)rank, .at = (uint32_t)i };
	}
}

static int by_index(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
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
	uint32_t h = ((uint32_t)row->index * 0x9e3779b1u) ^ (uint32_t)(c * 0x85ebca77u) ^ (row->rank * 0xc2b2ae3du) ^ (row->at * 0x27d4eb2fu);

	h = (h ^ h >> 15) * 0x2c1b3c6du;
	h ^= h >> 13;
	if (shape->op == CHOIR_OP_PROD)
		return 1 + (h & (k < 2 && row->rank < 4));
	if (is_16_bit(shape->dtype) && k >= 8)
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

bool sparse_data_make(const struct sparse_shape *shape, int rank, struct sparse_rows *out)
{
	size_t n = shape->args.rows, width = shape->args.width, elem = choir_dtype_bytes(shape->dtype), k = 0;
	struct row *rows = malloc((n + 1) * sizeof *rows);

	if (rows == NULL || !make_room(shape, n, out)) {
		free(rows);
		return false;
	}
	draw_rows(shape, rank, rows);
	qsort(rows, n, sizeof *rows, by_index);
	for (size_t i = 0; i < n; i++) {
		unsigned char *val = (unsigned char *)out->val + rows[i].at * width * elem;

		k = occurrence(rows, i, k);
		encode_index(shape->args.index_dtype, rows[i].index, out->ind, rows[i].at);
		for (size_t c = 0; c < width; c++)
			encode(shape->dtype, value_of(shape, &rows[i], k, c), val + c * elem);
	}
	free(rows);
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
static void reduce_index(const struct sparse_shape *shape, const struct row *rows, size_t begin, size_t end, size_t to, struct sparse_rows *out)
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
		if (shape->op == CHOIR_OP_MEAN)
			sum /= shape->n_ranks;
		encode(shape->dtype, sum, (unsigned char *)out->val + (to * width + c) * elem);
	}
}

bool sparse_data_expect(const struct sparse_shape *shape, struct sparse_rows *out)
{
	size_t n = shape->args.rows * (size_t)shape->n_ranks, distinct = 0;
	struct row *rows = malloc((n + 1) * sizeof *rows);

	if (rows == NULL)
		return false;
	for (int r = 0; r < shape->n_ranks; r++)
		draw_rows(shape, r, rows + (size_t)r * shape->args.rows);
	qsort(rows, n, sizeof *rows, by_index);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || rows[i].index != rows[i - 1].index;
	if (!make_room(shape, distinct, out)) {
		free(rows);
		return false;
	}
	for (size_t begin = 0, end, to = 0; begin < n; begin = end, to++) {
		for (end = begin + 1; end < n && rows[end].index == rows[begin].index; end++)
			;
		reduce_index(shape, rows, begin, end, to, out);
	}
	free(rows);
	return true;
}
