/* SPDX-License-Identifier: MIT */
/* sparse_allreduce --vs bound: what bare loops over shared memory need for unsorted i32 + f32 scalars, whatever of them
 * are duplicates.  The range is cut into equal regions, one a rank; each rank deals its pairs to the regions, then
 * finds the places of the distinct ones of its region by a bitmap and its popcounts, adds all ranks' pairs there, and
 * in the end everyone copies all regions.  No library, one set of buffers, nothing allocated. */
#include "sparse_job.h"

#include "bench/ways/bound_flags.h"
#include "bench/ranks/world.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 2147483648.0

/* What the others see of a rank; the arrays follow one another in the mapping. */
struct share {
	size_t *counts;    /* [n] pairs for each region, then its own distinct ones */
	int32_t *part_ind; /* [n][room] */
	float *part_val;
	int32_t *owned_ind; /* [region_room] */
	float *owned_val;
};

struct sparse_bound {
	struct contender base;
	const struct sparse_job *sparse;
	struct bound_flags flags;
	void *shared;
	size_t shared_bytes, room, region_room;
	struct share *share; /* [n] */
	int32_t region;      /* indices in each */
	uint64_t *bitmap;    /* of mine */
	uint32_t *before;
	int32_t *in_ind, *out_ind;
	float *in_val, *out_val;
	size_t rows_out;
};

/* Two regions without a branch and without a division. */
static void deal_to_two(const struct sparse_bound *bound, const struct share *mine)
{
	size_t low = 0, high = 0, room = bound->room;

	for (size_t i = 0; i < bound->sparse->mine.rows; i++) {
		int32_t index = bound->in_ind[i];
		size_t upper = index >= bound->region;

		mine->part_ind[low] = index;
		mine->part_val[low] = bound->in_val[i];
		mine->part_ind[room + high] = index - bound->region;
		mine->part_val[room + high] = bound->in_val[i];
		low += !upper;
		high += upper;
	}
	mine->counts[0] = low;
	mine->counts[1] = high;
}

static void deal(const struct sparse_bound *bound, const struct share *mine)
{
	memset(mine->counts, 0, (size_t)bound->flags.n * sizeof *mine->counts);
	for (size_t i = 0; i < bound->sparse->mine.rows; i++) {
		int32_t index = bound->in_ind[i], owner = index / bound->region;
		size_t to = (size_t)owner * bound->room + mine->counts[owner]++;

		mine->part_ind[to] = index - owner * bound->region;
		mine->part_val[to] = bound->in_val[i];
	}
}

static void mark(const struct sparse_bound *bound, const struct share *from)
{
	size_t me = (size_t)bound->flags.rank;
	const int32_t *ind = from->part_ind + me * bound->room;

	for (size_t i = 0; i < from->counts[me]; i++)
		bound->bitmap[ind[i] >> 6] |= UINT64_C(1) << (ind[i] & 63);
}

/* The distinct indices of my region, ascending, and how many stand before each word of the bitmap. */
static void number(const struct sparse_bound *bound, const struct share *mine)
{
	uint32_t n = 0;

	for (size_t w = 0; w < (size_t)bound->region / 64; w++) {
		bound->before[w] = n;
		for (uint64_t bits = bound->bitmap[w]; bits != 0; bits &= bits - 1)
			mine->owned_ind[n++] = (int32_t)(w * 64 + (size_t)__builtin_ctzll(bits));
	}
	mine->counts[bound->flags.n] = n;
	memset(mine->owned_val, 0, n * sizeof *mine->owned_val);
}

static void add(const struct sparse_bound *bound, const struct share *mine, const struct share *from)
{
	size_t me = (size_t)bound->flags.rank;
	const int32_t *ind = from->part_ind + me * bound->room;
	const float *val = from->part_val + me * bound->room;

	for (size_t i = 0; i < from->counts[me]; i++) {
		uint64_t lower = (UINT64_C(1) << (ind[i] & 63)) - 1;

		mine->owned_val[bound->before[ind[i] >> 6] +
		                (uint32_t)__builtin_popcountll(bound->bitmap[ind[i] >> 6] & lower)] += val[i];
	}
}

static void gather(struct sparse_bound *bound)
{
	size_t at = 0;

	for (int r = 0; r < bound->flags.n; r++) {
		const struct share *from = &bound->share[r];
		size_t n = from->counts[bound->flags.n];

		for (size_t i = 0; i < n; i++)
			bound->out_ind[at + i] = from->owned_ind[i] + r * bound->region;
		memcpy(bound->out_val + at, from->owned_val, n * sizeof *from->owned_val);
		at += n;
	}
	bound->rows_out = at;
}

static int once(struct contender *self)
{
	struct sparse_bound *bound = (struct sparse_bound *)self;
	const struct share *mine = &bound->share[bound->flags.rank];

	bound_flags_meet(&bound->flags);
	if (bound->flags.n == 2)
		deal_to_two(bound, mine);
	else
		deal(bound, mine);
	bound_flags_meet(&bound->flags);
	memset(bound->bitmap, 0, (size_t)bound->region / 8);
	for (int r = 0; r < bound->flags.n; r++)
		mark(bound, &bound->share[r]);
	number(bound, mine);
	for (int r = 0; r < bound->flags.n; r++)
		add(bound, mine, &bound->share[r]);
	bound_flags_meet(&bound->flags);
	gather(bound);
	bound_flags_meet(&bound->flags);
	return EXIT_FINE;
}

static int fill(struct contender *self)
{
	struct sparse_bound *bound = (struct sparse_bound *)self;
	const struct sparse_rows *mine = &bound->sparse->mine;

	if (mine->rows > 0) {
		memcpy(bound->in_ind, mine->ind, mine->rows * sizeof *bound->in_ind);
		memcpy(bound->in_val, mine->val, mine->rows * sizeof *bound->in_val);
	}
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct sparse_bound *bound = (struct sparse_bound *)self;
	const struct sparse_rows *expected = &bound->sparse->expected;

	*wrong_p = bound->rows_out != expected->rows;
	if (*wrong_p == 0 && expected->rows > 0)
		*wrong_p = memcmp(bound->out_ind, expected->ind, expected->rows * sizeof *bound->out_ind) != 0 ||
		           memcmp(bound->out_val, expected->val, expected->rows * sizeof *bound->out_val) != 0;
	return EXIT_FINE;
}

static void close_bound(struct contender *self)
{
	struct sparse_bound *bound = (struct sparse_bound *)self;
	void *all[] = { bound->share,  bound->bitmap,  bound->before, bound->in_ind,
		        bound->in_val, bound->out_ind, bound->out_val };

	world_unshare(bound->sparse->job->world, bound->shared, bound->shared_bytes);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
	free(bound);
}

static size_t lines(size_t bytes)
{
	return (bytes + BOUND_LINE - 1) / BOUND_LINE * BOUND_LINE;
}

static size_t share_bytes(const struct sparse_bound *bound)
{
	size_t n = (size_t)bound->flags.n;

	return lines((n + 1) * sizeof(size_t)) + 2 * lines(n * bound->room * 4) + 2 * lines(bound->region_room * 4);
}

/* Sizes, which are the same on all ranks. */
static void measure_out(struct sparse_bound *bound)
{
	const struct sparse_job *sparse = bound->sparse;
	size_t n = (size_t)sparse->job->n;
	double most = (double)sparse->mine.rows;

	world_max(sparse->job->world, &most, 1);
	bound->flags = (struct bound_flags){ .rank = sparse->job->rank, .n = sparse->job->n };
	bound->room = (size_t)most + 16;
	bound->region = (int32_t)((sparse->shape.args.range / n + 64) / 64 * 64);
	bound->region_room = sparse->all_rows < (size_t)bound->region ? sparse->all_rows + 16 : (size_t)bound->region;
	bound->shared_bytes = lines(n * sizeof(struct bound_flag)) + n * share_bytes(bound);
}

static void lay_out(struct sparse_bound *bound)
{
	size_t n = (size_t)bound->flags.n;
	char *at = (char *)bound->shared + lines(n * sizeof(struct bound_flag));

	bound->flags.flag = bound->shared;
	for (size_t r = 0; r < n; r++) {
		struct share *share = &bound->share[r];

		share->counts = (size_t *)at;
		at += lines((n + 1) * sizeof(size_t));
		share->part_ind = (int32_t *)at;
		share->part_val = (float *)(at + lines(n * bound->room * 4));
		at += 2 * lines(n * bound->room * 4);
		share->owned_ind = (int32_t *)at;
		share->owned_val = (float *)(at + lines(bound->region_room * 4));
		at += 2 * lines(bound->region_room * 4);
	}
}

const char *sparse_bound_unfit(const struct sparse_job *sparse)
{
	const struct sparse_shape *shape = &sparse->shape;

	if (!sparse->job->world->one_node)
		return "the ranks are on several nodes";
	if (shape->args.width != 1 || shape->dtype != CHOIR_F32 || shape->op != CHOIR_OP_SUM ||
	    shape->args.index_dtype != CHOIR_I32)
		return "the bare loops are for sums of f32 scalars with i32 indices";
	return (double)sparse->all_rows * 16 * sparse->job->n > MOST_BYTES ? "it would take more than 2 GiB" : NULL;
}

struct contender *sparse_bound_open(const struct sparse_job *sparse)
{
	struct sparse_bound *bound = calloc(1, sizeof *bound);
	size_t mine = sparse->mine.rows * 4 + 64, out = sparse->expected.rows * 4 + 64;

	if (bound == NULL)
		world_fail(sparse->job->world, EXIT_WRONG);
	bound->base = (struct contender){
		.name = "bound", .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_bound
	};
	bound->sparse = sparse;
	measure_out(bound);
	bound->share = calloc((size_t)bound->flags.n, sizeof *bound->share);
	bound->bitmap = memory_host((size_t)bound->region / 8);
	bound->before = memory_host((size_t)bound->region / 16);
	bound->in_ind = memory_host(mine);
	bound->in_val = memory_host(mine);
	bound->out_ind = memory_host(out);
	bound->out_val = memory_host(out);
	if (bound->share == NULL || bound->bitmap == NULL || bound->before == NULL || bound->in_ind == NULL ||
	    bound->in_val == NULL || bound->out_ind == NULL || bound->out_val == NULL)
		world_fail(sparse->job->world, EXIT_WRONG);
	bound->shared = world_share(sparse->job->world, bound->shared_bytes);
	if (bound->shared == NULL) {
		close_bound(&bound->base);
		return NULL;
	}
	lay_out(bound);
	fill(&bound->base);
	return &bound->base;
}
