/* SPDX-License-Identifier: MIT */
/* Zipf's law is inverted in its continuous form: index 0 is the most frequent, as ids of a vocabulary in the order of
 * frequency are. */
#include "sparse_ids.h"

#include <math.h>

enum { RUN = 64, HOT = 10, OWN_STREAM = 0x5eed, COMMON_STREAM = 0xc0, SHARE_STREAM = 0x5a };

uint64_t sparse_ids_random(uint64_t stream, uint64_t i)
{
	uint64_t x = stream * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static size_t weight(const struct args_sparse *args, int rank, int n_ranks)
{
	if (args->empty && n_ranks > 1 && rank == n_ranks - 1)
		return 0;
	return args->hot && rank == 0 ? HOT : 1;
}

size_t sparse_ids_before(const struct args_sparse *args, int rank, int n_ranks)
{
	size_t below = 0, all = 0;

	for (int r = 0; r < n_ranks; r++) {
		below += r < rank ? weight(args, r, n_ranks) : 0;
		all += weight(args, r, n_ranks);
	}
	return (size_t)((double)args->rows * n_ranks / (double)all * (double)below + 0.5);
}

size_t sparse_ids_rows(const struct args_sparse *args, int rank, int n_ranks)
{
	return sparse_ids_before(args, rank + 1, n_ranks) - sparse_ids_before(args, rank, n_ranks);
}

static double uniform(uint64_t stream, uint64_t i)
{
	return (double)(sparse_ids_random(stream, i) >> 11) * 0x1p-53;
}

static double zipf(const struct args_sparse *args, double u)
{
	double range = (double)args->range;

	if (fabs(args->zipf - 1) < 1e-9)
		return exp(u * log(range + 1)) - 1;
	return pow(u * (pow(range + 1, 1 - args->zipf) - 1) + 1, 1 / (1 - args->zipf)) - 1;
}

static int64_t below(const struct args_sparse *args, double x)
{
	return x < (double)args->range ? (int64_t)x : (int64_t)args->range - 1;
}

/* Runs begin at multiples of their length. */
static int64_t clustered(const struct args_sparse *args, uint64_t stream, uint64_t i)
{
	size_t runs = (args->range + RUN - 1) / RUN;
	double x = floor(uniform(stream, i / RUN) * (double)runs) * RUN + (double)(i % RUN);

	return below(args, x);
}

static int64_t draw(const struct args_sparse *args, uint64_t stream, uint64_t i)
{
	if (args->ids == IDS_CLUSTERED)
		return clustered(args, stream, i);
	if (args->ids == IDS_UNIFORM)
		return below(args, uniform(stream, i) * (double)args->range);
	return below(args, zipf(args, uniform(stream, i)));
}

/* A prime above every range: times it modulo the range is a permutation. */
static int64_t permute(const struct args_sparse *args, int64_t index)
{
	return (int64_t)((uint64_t)index * 2654435761u % args->range);
}

int64_t sparse_ids_at(const struct args_sparse *args, const struct sparse_text *text, size_t first, size_t at)
{
	/* Whole runs are common or are not. */
	bool is_common =
	    args->overlap > 0 && uniform(SHARE_STREAM, args->ids == IDS_CLUSTERED ? at / RUN : at) < args->overlap;
	int64_t index;

	if (args->ids == IDS_TEXT)
		index = text->word[(first + at) % text->n];
	else
		index = is_common ? draw(args, COMMON_STREAM, at) : draw(args, OWN_STREAM, first + at);
	return args->permuted ? permute(args, index) : index;
}
