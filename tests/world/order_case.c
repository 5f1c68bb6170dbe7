/* SPDX-License-Identifier: MIT */
#include "world/order_case.h"

#include "algo/fit.h"
#include "base/dtype.h"
#include "kern/reduce.h"
#include "seeded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t below(uint64_t *random, size_t n)
{
	return (size_t)(random_next(random) % n);
}

enum collective order_case_collective(const struct order_case *c)
{
	switch (c->kind) {
	case ORDER_REDUCE:
	case ORDER_REDUCE_LIST:
		return COLLECTIVE_REDUCE;
	case ORDER_REDUCE_SCATTER:
	case ORDER_SCATTER_LIST:
	case ORDER_PADDED:
		return COLLECTIVE_REDUCE_SCATTER;
	case ORDER_REDUCE_SCATTERV:
		return COLLECTIVE_REDUCE_SCATTERV;
	case ORDER_SCAN:
		return COLLECTIVE_SCAN;
	case ORDER_EXSCAN:
		return COLLECTIVE_EXSCAN;
	default:
		return COLLECTIVE_ALLREDUCE;
	}
}

/* The algorithms that keep the order and run between these nodes; if they must fit, those that fit every call. */
static bool qualifies(const struct algorithm *algorithm, const struct order_case *c, int nodes)
{
	enum plan_order least = dtype_is_narrow(c->dtype) ? PLAN_ORDER_ONCE : PLAN_ORDER_RANKS;

	if (algorithm->collective != order_case_collective(c) || algorithm->fold_order < least ||
	    algorithm->on_device || algorithm->unfit == fit_single)
		return false;
	return algorithm->unfit == fit_network || (nodes == 1 && !c->must_fit);
}

static const char *draw_algorithm(uint64_t *random, const struct order_case *c, int nodes)
{
	size_t n = 0, pick;

	for (size_t i = 0; i < n_algorithms; i++)
		n += qualifies(&algorithms[i], c, nodes);
	pick = below(random, n);
	for (size_t i = 0; i < n_algorithms; i++)
		if (qualifies(&algorithms[i], c, nodes) && pick-- == 0)
			return algorithms[i].name;
	return NULL;
}

static const char *draw_sparse(uint64_t *random)
{
	static const char *const names[] = { "allgather", "split", "split_bitmap", "split_dense", "mask", "dense" };

	return below(random, 2) == 0 ? NULL : names[below(random, sizeof names / sizeof *names)];
}

static void draw_options(uint64_t *random, struct order_case *c, int nodes)
{
	bool sparse = c->kind == ORDER_SPARSE;
	const char *name = sparse ? draw_sparse(random) : c->names ? draw_algorithm(random, c, nodes) : NULL;
	bool chunks = below(random, 3) == 0 && !sparse;

	snprintf(c->options, sizeof c->options, "order=ranks%s%s%s", chunks ? ", chunk_bytes=4096" : "",
	         name != NULL ? ", algorithm=" : "", name != NULL ? name : "");
}

static void draw_lengths(uint64_t *random, struct order_case *c)
{
	size_t most = below(random, 4) ? 600 : ORDER_MOST_COUNT, left;

	c->count = left = ORDER_RANKS + below(random, most - ORDER_RANKS);
	for (int r = 0; r < ORDER_RANKS; r++)
		left -= c->counts[r] = r == ORDER_RANKS - 1 ? left : below(random, left + 1) / (ORDER_RANKS / 2);
	if (c->kind == ORDER_REDUCE_SCATTER || c->kind == ORDER_SCATTER_LIST)
		c->count -= c->count % ORDER_RANKS;
	c->n_cuts = 1 + (int)below(random, ORDER_MOST_CUTS);
	for (int i = 1; i < c->n_cuts; i++)
		c->cuts[i] = c->cuts[i - 1] + below(random, c->count - c->cuts[i - 1]);
	c->cuts[c->n_cuts] = c->count;
}

/* Kinds come in turn.  Of the dense cases every second one names an algorithm, every fourth one that must fit: 4 and
 * ORDER_KINDS have no common divisor, so each kind has its share of them. */
static void draw_mix(uint64_t number, struct order_case *c)
{
	c->kind = (enum order_kind)(number % ORDER_KINDS);
	if (dtype_kind(c->dtype) == KIND_PAIR && c->kind == ORDER_SPARSE)
		c->kind = ORDER_REDUCE;
	if (c->kind == ORDER_REDUCE_SCATTER &&
	    number / ORDER_KINDS / 4 % 2 == 1) /* of four in a row, so of every mix */
		c->kind = ORDER_PADDED;
	if (c->kind == ORDER_PADDED)
		c->in_place = false;
	c->names = c->kind != ORDER_SPARSE && number % 2 == 1;
	c->must_fit = c->names && number % 4 == 1;
}

struct order_case order_case_draw(uint64_t number, int nodes)
{
	static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F64,    CHOIR_F16,     CHOIR_BF16,
		                              CHOIR_F32, CHOIR_F8E4M3, CHOIR_F8E5M2,  CHOIR_F32_I32,
		                              CHOIR_F64, CHOIR_BF16,   CHOIR_F64_I32, CHOIR_F16 };
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_PROD, CHOIR_OP_MEAN,      CHOIR_OP_SQUARE_ADD,
		                        CHOIR_OP_MIN, CHOIR_OP_MAX,  CHOIR_OP_PREMUL_SUM };
	uint64_t random = random_mix(number);
	struct order_case c = { .dtype = dtypes[below(&random, sizeof dtypes / sizeof *dtypes)],
		                .op = ops[below(&random, sizeof ops / sizeof *ops)],
		                .root = (int)below(&random, ORDER_RANKS),
		                .in_place = below(&random, 2) };

	draw_mix(number, &c);
	for (int r = 0; r < ORDER_RANKS; r++)
		c.device[r] = below(&random, 3) == 0;
	if (c.kind == ORDER_SPARSE && c.op == CHOIR_OP_SQUARE_ADD)
		c.op = CHOIR_OP_SUM; /* there each rank rounds its squares to the data type */
	if ((c.kind == ORDER_SCAN || c.kind == ORDER_EXSCAN) && c.op == CHOIR_OP_MEAN)
		c.op = CHOIR_OP_SUM; /* a prefix has no mean */
	if (dtype_kind(c.dtype) == KIND_PAIR)
		c.op = c.op % 2 ? CHOIR_OP_MINLOC : CHOIR_OP_MAXLOC;
	draw_lengths(&random, &c);
	draw_options(&random, &c, nodes);
	return c;
}

bool order_case_blocks(const struct order_case *c)
{
	return c->kind == ORDER_REDUCE_SCATTER || c->kind == ORDER_REDUCE_SCATTERV || c->kind == ORDER_SCATTER_LIST ||
	       c->kind == ORDER_PADDED;
}

/* Equal blocks of `count` elements from `first` on, the last ones cut off. */
static struct order_span block_of(size_t first, size_t count, int rank)
{
	size_t block = (count + ORDER_RANKS - 1) / ORDER_RANKS, from = block * (size_t)rank;

	from = from < count ? from : count;
	return (struct order_span){ first + from, block < count - from ? block : count - from };
}

int order_case_spans(const struct order_case *c, int rank, struct order_span *spans)
{
	bool to_root = c->kind == ORDER_REDUCE || c->kind == ORDER_REDUCE_LIST;
	size_t third = c->count / ORDER_RANKS / 3 * ORDER_RANKS;

	switch (c->kind) {
	case ORDER_SCATTER_LIST:
		spans[0] = block_of(0, third, rank);
		spans[1] = block_of(third, c->count - third, rank);
		return 2;
	case ORDER_REDUCE_SCATTER:
	case ORDER_PADDED:
		spans[0] = block_of(0, c->count, rank);
		return 1;
	case ORDER_REDUCE_SCATTERV:
		spans[0] = (struct order_span){ 0, c->counts[rank] };
		for (int r = 0; r < rank; r++)
			spans[0].from += c->counts[r];
		return 1;
	default:
		spans[0] = (struct order_span){ 0, c->count };
		return (to_root && rank != c->root) || (c->kind == ORDER_EXSCAN && rank == 0) ? 0 : 1;
	}
}

/* Zeros of both signs and infinities too: of equal values with one index the first rank's is kept. */
static void put_pair(uint64_t bits, choir_dtype dtype, unsigned char *to)
{
	static const double values[] = { 0, -0.0, 1, -1, INFINITY, -INFINITY, 2, 2 };
	choir_f64_i32 wide = { .value = values[bits >> 8 & 7], .index = (int32_t)(bits & 3) };
	choir_f32_i32 narrow = { .value = (float)wide.value, .index = wide.index };

	if (dtype == CHOIR_F64_I32)
		memcpy(to, &wide, sizeof wide);
	else
		memcpy(to, &narrow, sizeof narrow);
}

/* Finite, and far apart. */
static unsigned char tiny_value(uint64_t bits, choir_dtype dtype)
{
	unsigned char size = (unsigned char)(dtype == CHOIR_F8E4M3 ? 8 + bits % 104 : 32 + bits % 64);

	return (unsigned char)((bits >> 40 & 1) << 7 | (bits >> 41 & 31 ? size : 0));
}

/* Of signs and magnitudes whose sums depend on their order; some zeros of both signs. */
static void put_value(uint64_t bits, choir_dtype dtype, choir_op op, unsigned char *to)
{
	double spread = op == CHOIR_OP_PROD ? 1 : (double)(1u << bits % 11);
	double value = (1 + (double)(bits >> 12 & 0xfffff) / 0x100000) * spread * (bits >> 40 & 1 ? 1 : -1);
	float narrow = (float)(bits >> 41 & 31 ? value : 0 * value);
	uint32_t word;
	uint16_t half;

	memcpy(&word, &narrow, sizeof word);
	switch (dtype) {
	case CHOIR_F8E4M3:
	case CHOIR_F8E5M2:
		*to = tiny_value(bits, dtype);
		return;
	case CHOIR_F32_I32:
	case CHOIR_F64_I32:
		put_pair(bits, dtype, to);
		return;
	case CHOIR_F64:
		memcpy(to, &value, sizeof value);
		return;
	case CHOIR_F32:
		memcpy(to, &narrow, sizeof narrow);
		return;
	case CHOIR_BF16:
		half = (uint16_t)(word >> 16);
		break;
	default:
		half = (uint16_t)((word >> 16 & 0x8000) | (word << 1 ? ((word >> 13) - (112u << 10)) & 0x7fff : 0));
	}
	memcpy(to, &half, sizeof half);
}

double order_case_factor(int rank)
{
	static const double factors[ORDER_RANKS] = { 0.5, -1, 1, 0.25, -0.75, 0.625, -0.5, 0.3 };

	return factors[rank];
}

/* to = the operator of those sources, on this thread. */
static void fold(const struct order_case *c, choir_op op, int n_src, double factor, const void *const *src, void *to)
{
	struct reduce_call call = { .dtype = c->dtype,
		                    .op = op,
		                    .n_src = (uint32_t)n_src,
		                    .final = true,
		                    .n_ranks = ORDER_RANKS,
		                    .factor = factor,
		                    .n_dst = 1,
		                    .nt_from = 1,
		                    .count = c->count };

	reduce_host(&call, &to, src);
}

/* The products are rounded to the data type, and then summed. */
static void fold_scaled(const struct order_case *c, int n_src, unsigned char *const *all, unsigned char *want)
{
	void *scaled[ORDER_RANKS];

	for (int r = 0; r < n_src; r++) {
		scaled[r] = calloc(c->count, ORDER_ELEM_BYTES);
		fold(c, CHOIR_OP_PREMUL_SUM, 1, order_case_factor(r), (const void *const *)&all[r], scaled[r]);
	}
	fold(c, CHOIR_OP_SUM, n_src, 1, (const void *const *)scaled, want);
	for (int r = 0; r < n_src; r++)
		free(scaled[r]);
}

void order_case_fill(const struct order_case *c, uint64_t number, int rank, unsigned char *const *all,
                     unsigned char *want)
{
	size_t bytes = choir_dtype_bytes(c->dtype);
	int n_src = c->kind == ORDER_SCAN ? rank + 1 : c->kind == ORDER_EXSCAN ? rank : ORDER_RANKS;

	for (int r = 0; r < ORDER_RANKS; r++) {
		uint64_t random = random_mix(number * ORDER_RANKS + (uint64_t)r);

		for (size_t i = 0; i < c->count; i++)
			put_value(random_next(&random), c->dtype, c->op, all[r] + i * bytes);
	}
	if (n_src > 0 && c->op == CHOIR_OP_PREMUL_SUM)
		fold_scaled(c, n_src, all, want);
	else if (n_src > 0)
		fold(c, c->op, n_src, 1, (const void *const *)all, want);
}
