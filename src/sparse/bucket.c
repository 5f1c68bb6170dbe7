/* SPDX-License-Identifier: MIT */
#include "sparse/bucket.h"

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "sparse/prefetch.h"
#include "sparse/bits.h"
#include "sparse/pool.h"

#define LINE_BYTES 64

/* A cell for each index of a bucket, and bits about each cell; the next bucket uses the same cells.  The bits fit the
 * first cache, the parts the second; totals are used only for indices that several lists have. */
struct bucket_cells {
	void *part;       /* [1 << shift] the values of the last list that has the index, reduced */
	void *total;      /* [1 << shift] the values of the lists before that one, reduced */
	uint64_t *now;    /* bits: the list that is being folded has the index */
	uint64_t *before; /* bits: a list before it has the index */
	uint64_t *summed; /* bits: total is in use */
	uint16_t *at;     /* positions of the set bits */
};

/* Pairs of one list in one bucket. */
struct bucket_run {
	const uint16_t *key;
	const void *val;
	size_t n;
	bool raw;
};

#define LOOPS "sparse/bucket_op.inc"
#include "kern/each_dtype.inc"

struct bucket_loops {
	void (*fold)(const struct bucket_cells *cells, const struct bucket_run *run);
	void (*take)(const struct bucket_cells *cells, size_t n, int n_ranks, void *to);
};

#define CELL(dtype, op) [CHOIR_OP_##op] = { op_##dtype##_##op##_bucket_fold, op_##dtype##_##op##_bucket_take }

static const struct bucket_loops loops[N_DTYPES][N_OPS] = {
#include "kern/each_cell.inc"
};

/* Note [buckets].  Grouping writes keys and values of each bucket one after the other.  While the lines that are being
 * written fit the first cache, up to 256 buckets, a pair costs half of what it costs with more.  Longer buckets cost
 * less than that when they are reduced: the fewer buckets the better. */
#define CELLS_A_PAIR   512
#define MOST_BUCKETS   8192
#define GOOD_BUCKETS   256 /* Note [buckets] */
#define USUAL_SHIFT    12
#define LEAST_SHIFT    6
#define BUCKETS_A_RANK 32 /* so that they can be dealt out evenly */

bool bucket_fits(struct index_range range, uint64_t pairs)
{
	uint64_t span = (uint64_t)(range.hi - range.lo);

	return span >> BUCKET_MOST_SHIFT < MOST_BUCKETS && span / CELLS_A_PAIR <= pairs;
}

struct bucket_shape bucket_shape_of(struct index_range range, int n_ranks)
{
	uint64_t span = (uint64_t)(range.hi - range.lo);
	unsigned shift = USUAL_SHIFT;

	while (shift < BUCKET_MOST_SHIFT && span >> shift >= GOOD_BUCKETS)
		shift++;
	while (shift > LEAST_SHIFT && span >> shift < (uint64_t)n_ranks * BUCKETS_A_RANK)
		shift--;
	return (struct bucket_shape){ .lo = range.lo, .shift = shift, .n = (uint32_t)(span >> shift) + 1 };
}

static uint64_t keys_off(const struct bucket_shape *shape)
{
	return round_up((shape->n + UINT64_C(1)) * sizeof(uint32_t), LINE_BYTES);
}

static uint64_t values_off(const struct bucket_shape *shape, uint64_t n)
{
	return keys_off(shape) + round_up(n * sizeof(uint16_t), LINE_BYTES);
}

uint64_t bucket_list_bytes(const struct bucket_shape *shape, uint64_t n, uint64_t elem_bytes)
{
	return values_off(shape, n) + n * elem_bytes;
}

struct bucket_list bucket_list_at(const struct bucket_shape *shape, const void *block, uint64_t n, bool raw)
{
	const unsigned char *bytes = block;

	return (struct bucket_list){ .start = block,
		                     .key = (const uint16_t *)(const void *)(bytes + keys_off(shape)),
		                     .val = bytes + values_off(shape, n),
		                     .raw = raw };
}

#define INDEX   int32_t
#define VALUE   uint8_t
#define NAME(x) x##_4_1
#include "sparse/bucket_split.inc"
#define INDEX   int32_t
#define VALUE   uint16_t
#define NAME(x) x##_4_2
#include "sparse/bucket_split.inc"
#define INDEX   int32_t
#define VALUE   uint32_t
#define NAME(x) x##_4_4
#define COUNTS  1
#include "sparse/bucket_split.inc"
#define INDEX   int32_t
#define VALUE   uint64_t
#define NAME(x) x##_4_8
#include "sparse/bucket_split.inc"
#define INDEX   int64_t
#define VALUE   uint8_t
#define NAME(x) x##_8_1
#include "sparse/bucket_split.inc"
#define INDEX   int64_t
#define VALUE   uint16_t
#define NAME(x) x##_8_2
#include "sparse/bucket_split.inc"
#define INDEX   int64_t
#define VALUE   uint32_t
#define NAME(x) x##_8_4
#include "sparse/bucket_split.inc"
#define INDEX   int64_t
#define VALUE   uint64_t
#define NAME(x) x##_8_8
#define COUNTS  1
#include "sparse/bucket_split.inc"

/* By the logarithms of the bytes of index / 4 and value. */
static void (*const split_loops[2][4])(const struct bucket_shape *, const struct pairs *, uint32_t *, uint16_t *,
                                       void *) = {
	{ split_4_1, split_4_2, split_4_4, split_4_8 },
	{ split_8_1, split_8_2, split_8_4, split_8_8 },
};

/* Two counts a bucket, taken in turns: a count that has just been written cannot be read again at once. */
static void count_pairs(const struct bucket_shape *shape, const struct pairs *pairs, uint32_t *count)
{
	(pairs->form.bytes == 4 ? count_4_4 : count_8_8)(shape, pairs, count, count + shape->n);
	for (uint32_t b = 0; b < shape->n; b++)
		count[b] += count[shape->n + b];
}

choir_status bucket_split(const struct bucket_shape *shape, const struct pairs *pairs, uint64_t elem_bytes, void *block)
{
	struct pool_block counts;
	uint32_t *start = block, *next, sum = 0;
	unsigned char *bytes = block;

	TRY(pool_take(&counts, 2 * shape->n * sizeof *next, "the sizes of buckets"));
	next = counts.ptr;
	memset(next, 0, 2 * shape->n * sizeof *next);
	count_pairs(shape, pairs, next);
	for (uint32_t b = 0; b < shape->n; b++) {
		start[b] = sum;
		sum += next[b];
		next[b] = start[b];
	}
	start[shape->n] = sum;
	split_loops[pairs->form.bytes == 8][__builtin_ctzll(elem_bytes)](
	    shape, pairs, next, (uint16_t *)(void *)(bytes + keys_off(shape)), bytes + values_off(shape, pairs->count));
	pool_give(&counts);
	return CHOIR_SUCCESS;
}

uint64_t bucket_pairs(const struct bucket_reduction *todo, uint32_t from, uint32_t end)
{
	uint64_t pairs = 0;

	for (int s = 0; s < todo->n_lists; s++)
		pairs += todo->lists[s].start[end] - todo->lists[s].start[from];
	return pairs;
}

/* The work of the buckets before b: pairs, and the cells that are looked at whether touched or not. */
static uint64_t work_before(const struct bucket_reduction *todo, uint32_t b)
{
	uint64_t words = ((uint64_t)b << todo->shape.shift) / 64;

	return bucket_pairs(todo, 0, b) * 8 + words;
}

/* The first bucket before which r n-ths of the work are done. */
static uint32_t bound(const struct bucket_reduction *todo, int r, int n)
{
	uint64_t whole = work_before(todo, todo->shape.n), part = whole / (uint64_t)n * (uint64_t)r;
	uint32_t lo = 0, hi = todo->shape.n;

	if (r == n)
		return todo->shape.n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (work_before(todo, mid) < part)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Of the two that are nearest, the nearer. */
	if (lo > 0 && part - work_before(todo, lo - 1) < work_before(todo, lo) - part)
		lo--;
	return lo;
}

void bucket_bounds(const struct bucket_reduction *todo, int r, int n, uint32_t *from_p, uint32_t *end_p)
{
	*from_p = bound(todo, r, n);
	*end_p = bound(todo, r + 1, n);
}

uint64_t bucket_most(const struct bucket_reduction *todo, uint32_t from, uint32_t end)
{
	uint64_t pairs = bucket_pairs(todo, from, end), cells = (uint64_t)(end - from) << todo->shape.shift;

	return pairs < cells ? pairs : cells;
}

static void write_indices(const uint16_t *at, size_t n, int64_t base, void *ind, uint64_t to, struct index_form form)
{
	if (form.bytes == 4) {
		int32_t *out = (int32_t *)ind + to;

		for (size_t i = 0; i < n; i++)
			out[i] = (int32_t)(base - form.base) + at[i];
	} else {
		int64_t *out = (int64_t *)ind + to;

		for (size_t i = 0; i < n; i++)
			out[i] = base - form.base + at[i];
	}
}

/* The list is over: its indices are now those of a list before. */
static void end_list(const struct bucket_cells *cells, size_t words)
{
	uint64_t *restrict now = cells->now, *restrict before = cells->before, *restrict summed = cells->summed;

	for (size_t w = 0; w < words; w++) {
		summed[w] |= before[w] & now[w];
		before[w] |= now[w];
		now[w] = 0;
	}
}

/* No list comes before the first one that has pairs, so its fold marks `before` at once. */
static void reduce_bucket(const struct bucket_reduction *todo, const struct bucket_cells *cells, size_t words,
                          uint32_t b)
{
	const struct bucket_loops *loop = &loops[todo->dtype][todo->op];
	uint64_t elem_bytes = choir_dtype_bytes(todo->dtype);
	struct bucket_cells first = *cells;
	bool is_first = true;

	first.now = cells->before;
	for (int s = 0; s < todo->n_lists; s++) {
		const struct bucket_list *list = &todo->lists[s];
		uint32_t from = list->start[b];
		struct bucket_run run = { .key = list->key + from,
			                  .val = list->val + from * elem_bytes,
			                  .n = list->start[b + 1] - from,
			                  .raw = list->raw };

		if (run.n == 0)
			continue;
		loop->fold(is_first ? &first : cells, &run);
		if (!is_first)
			end_list(cells, words);
		is_first = false;
	}
}

static choir_status take_cells(size_t words, struct pool_block *block, struct bucket_cells *out)
{
	size_t cell_bytes = 2 * sizeof(uint64_t), most = words * 64; /* of the widest accumulator */

	TRY(pool_take(block, most * cell_bytes + 3 * words * sizeof(uint64_t) + (most + BITS_SLACK) * sizeof(uint16_t),
	              "the cells of a bucket"));
	out->part = block->ptr;
	out->total = (uint64_t *)block->ptr + most;
	out->now = (uint64_t *)block->ptr + most * 2;
	out->before = out->now + words;
	out->summed = out->before + words;
	out->at = (uint16_t *)(out->summed + words);
	memset(out->now, 0, 3 * words * sizeof(uint64_t));
	return CHOIR_SUCCESS;
}

choir_status bucket_reduce(const struct bucket_reduction *todo, uint32_t from, uint32_t end, void *ind,
                           struct index_form form, void *val, uint64_t *count_p)
{
	const struct bucket_shape *shape = &todo->shape;
	uint64_t elem_bytes = choir_dtype_bytes(todo->dtype), count = 0;
	size_t words = ((size_t)1 << shape->shift) / 64;
	struct bucket_cells cells;
	struct pool_block block;

	TRY(take_cells(words, &block, &cells));
	for (uint32_t b = from; b < end; b++) {
		size_t n;

		reduce_bucket(todo, &cells, words, b);
		n = bits_take(cells.before, words, cells.at);
		write_indices(cells.at, n, shape->lo + ((int64_t)b << shape->shift), ind, count, form);
		loops[todo->dtype][todo->op].take(&cells, n, todo->n_ranks, (unsigned char *)val + count * elem_bytes);
		memset(cells.summed, 0, words * sizeof *cells.summed);
		count += n;
	}
	pool_give(&block);
	*count_p = count;
	return CHOIR_SUCCESS;
}
