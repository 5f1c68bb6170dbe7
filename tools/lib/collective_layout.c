/* SPDX-License-Identifier: MIT */
/* Sizes of the buffers, and what must come out. */
#include "collective.h"

#include <string.h>

/* Rank r's share of count is proportional to r + 1; the last one takes what is left over. */
static size_t share_of(const struct collective_shape *s, int r)
{
	size_t n = (size_t)s->n, part = s->count / (n * (n + 1) / 2);

	return r + 1 < s->n ? part * ((size_t)r + 1) : s->count - part * (n * (n - 1) / 2);
}

static size_t padded_block(const struct collective_shape *s)
{
	return (s->count + (size_t)s->n - 1) / (size_t)s->n;
}

/* What of a padded block is not padding. */
static size_t filled_of(const struct collective_shape *s, size_t r)
{
	size_t block = padded_block(s), from = block * r, left = from < s->count ? s->count - from : 0;

	return left < block ? left : block;
}

/* The block that goes from one rank to the other. */
static size_t block_of(const struct collective_shape *s, int from, int to)
{
	size_t a = (size_t)from, b = (size_t)to, r = s->what->kind == SPREAD_GATHER ? a : b;

	if (s->what->padded)
		return filled_of(s, r);
	if (!s->what->uneven)
		return s->count;
	if (s->what->kind == SPREAD_EXCHANGE)
		return s->gaps ? (s->count + 3 * a + 5 * b) % (s->count + 2)
		               : s->count * ((2 * a + b) % (size_t)s->n + 1);
	return s->gaps ? (s->count + 3 * r) % (2 * s->count + 1) : share_of(s, (int)r);
}

/* A buffer of blocks: what a rank sends to all, or receives from all. */
struct blocks {
	const struct collective_shape *s;
	int rank;
	bool receives;
};

static size_t count_at(const struct blocks *b, int peer)
{
	return b->receives ? block_of(b->s, peer, b->rank) : block_of(b->s, b->rank, peer);
}

static size_t gap_before(const struct blocks *b, int peer)
{
	if (!b->s->gaps || !b->s->what->uneven || (b->s->what->kind == SPREAD_SCATTER && !b->s->what->rooted))
		return 0;
	return b->s->what->kind == SPREAD_GATHER ? (size_t)peer : b->receives ? (size_t)b->rank + 1 : 2;
}

static bool is_backwards(const struct blocks *b)
{
	return b->s->gaps && b->s->what->uneven && b->s->what->kind == SPREAD_EXCHANGE;
}

static size_t offset_at(const struct blocks *b, int peer)
{
	size_t off = gap_before(b, peer);

	for (int r = 0; r < b->s->n; r++)
		if (is_backwards(b) ? r > peer : r < peer)
			off += gap_before(b, r) + count_at(b, r);
	return off;
}

static size_t total_of(const struct blocks *b)
{
	int last = is_backwards(b) ? 0 : b->s->n - 1;

	return offset_at(b, last) + count_at(b, last);
}

static void list_blocks(const struct blocks *b, size_t *counts, size_t *offs)
{
	for (int r = 0; r < b->s->n; r++) {
		counts[r] = count_at(b, r);
		offs[r] = offset_at(b, r);
	}
}

void collective_lay_out(const struct collective_shape *s, int rank, struct collective_layout *l)
{
	struct blocks sent = { s, rank, false }, received = { s, rank, true };
	bool elsewhere = s->what->rooted && rank != s->root;

	l->count = s->what->kind == SPREAD_NOTHING ? 0 : s->count;
	l->send_count = l->recv_count = l->count;
	l->send_at = l->recv_at = 0;
	if ((elsewhere && s->what->reduces) || (s->what->exclusive && rank == 0))
		l->recv_count = 0;
	else if (elsewhere)
		l->send_count = 0;
	if (s->what->kind == SPREAD_WHOLE || s->what->kind == SPREAD_NOTHING)
		return;
	list_blocks(&sent, l->send_counts, l->send_offs);
	list_blocks(&received, l->recv_counts, l->recv_offs);
	l->send_count = total_of(&sent);
	l->recv_count = total_of(&received);
	if (s->what->kind == SPREAD_GATHER) {
		l->count = l->send_count = l->recv_counts[rank];
		l->send_at = l->recv_offs[rank];
	} else if (s->what->kind == SPREAD_SCATTER) {
		l->count = l->recv_count = l->send_counts[rank];
		l->recv_at = l->send_offs[rank];
		memcpy(l->recv_counts, l->send_counts, sizeof l->recv_counts);
	}
	if (s->what->padded) {
		*(s->what->kind == SPREAD_GATHER ? &l->send_count : &l->recv_count) = padded_block(s);
		l->count = s->count;
	}
	if (elsewhere) { /* the buffer of blocks is the root's alone */
		*(s->what->kind == SPREAD_GATHER ? &l->recv_count : &l->send_count) = 0;
		l->send_at = l->recv_at = 0;
	}
}

struct collective_args collective_args_of(const struct collective_shape *s, const struct collective_layout *l,
                                          choir_comm *comm, int rank)
{
	return (struct collective_args){ .comm = comm,
		                         .count = l->count,
		                         .send_counts = l->send_counts,
		                         .send_offs = s->gaps ? l->send_offs : NULL,
		                         .recv_counts = l->recv_counts,
		                         .recv_offs = s->gaps ? l->recv_offs : NULL,
		                         .root = s->root,
		                         .next = (rank + 1) % s->n,
		                         .previous = (rank + s->n - 1) % s->n };
}

static bool block_span(const struct collective_shape *s, int rank, int k, struct span *out)
{
	struct blocks received = { s, rank, true }, sent = { s, k, false };

	if (k >= s->n)
		return false;
	*out = (struct span){ .at = offset_at(&received, k), .count = count_at(&received, k), .rank = k };
	if (s->what->kind == SPREAD_EXCHANGE)
		out->from = offset_at(&sent, rank);
	return true;
}

static int ranks_folded(const struct collective_shape *s, int rank)
{
	if (!s->what->prefix)
		return s->n;
	return s->what->exclusive ? rank : rank + 1;
}

/* Behind a padded block of a reduction. */
static bool padding_span(const struct collective_shape *s, int rank, struct span *out)
{
	size_t filled = filled_of(s, (size_t)rank);

	*out = (struct span){ .at = filled, .count = padded_block(s) - filled, .rank = SPAN_ZEROS };
	return out->count > 0;
}

bool collective_span(const struct collective_shape *s, int rank, int k, struct span *out)
{
	const struct collective_row *what = s->what;
	struct blocks all = { s, rank, false };

	if (what->kind == SPREAD_GATHER && what->rooted && rank != s->root)
		return false;
	if (what->kind == SPREAD_GATHER || what->kind == SPREAD_EXCHANGE)
		return block_span(s, rank, k, out);
	if (what->padded && k == 1)
		return padding_span(s, rank, out);
	*out = (struct span){ .count = s->count, .rank = SPAN_REDUCED, .ranks = ranks_folded(s, rank) };
	if (what->kind == SPREAD_SCATTER) {
		out->count = count_at(&all, rank);
		out->from = offset_at(&all, rank);
	}
	if (!what->reduces)
		out->rank = what->rooted ? s->root : (rank + s->n - 1) % s->n;
	else if (out->ranks == 0)
		return false;
	return k == 0 && what->kind != SPREAD_NOTHING && (!what->reduces || !what->rooted || rank == s->root);
}

bool collective_has_output(const struct collective_shape *s, int rank)
{
	struct span span;

	return collective_span(s, rank, 0, &span);
}

bool collective_same_output(const struct collective_row *what)
{
	return what->kind == SPREAD_GATHER ||
	       (what->kind == SPREAD_WHOLE && !what->prefix && (what->reduces || what->rooted));
}
