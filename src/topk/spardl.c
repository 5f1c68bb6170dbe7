/* SPDX-License-Identifier: MIT */
/* spardl: a chunk of the index range and k/P entries of it for each rank.  In each round a rank sends the chunks of the
 * further half of those it still holds to the rank at that distance, adds what comes to its own and keeps k/P of each;
 * what it drops, sums of several ranks by then, goes into its own residual.  In the end each has its own chunk, and
 * these are gathered.  4 k (P-1)/P words received in 2 ceil(log2 P) messages of fixed size; at most k entries; any P.
 * Zhao et al. 2023, arXiv:2304.00737. */
#include "topk/algorithm.h"

#include "sparse/block.h"

#include <stdlib.h>
#include <string.h>

static choir_status spardl_round(struct topk_run *run, struct script_turn *turn);
static choir_status add_chunk(struct topk_run *run, struct script_turn *turn);
static choir_status hold(struct topk_run *run, struct script_turn *turn);

/* Room of a block: the largest chunk's. */
static uint64_t room(const struct topk_run *run)
{
	uint64_t n = (uint64_t)run->env.layout->n;

	return run->k / n + (run->k % n > 0);
}

static int chunk_at(const struct topk_run *run, int offset)
{
	return (run->env.me + offset) % run->env.layout->n;
}

/* Where the pairs of a region begin among those that this rank holds. */
static uint64_t held_from(const struct topk_run *run, int c)
{
	return list_find(&run->held, &run->types, topk_region_start(run, c));
}

/* The pairs of a chunk that this rank holds. */
static struct pairs held_of(const struct topk_run *run, int c)
{
	uint64_t from = held_from(run, c), end = held_from(run, c + 1);

	return from == end ? (struct pairs){ .form = run->types.form } : list_part(&run->held, &run->types, from, end);
}

/* Before it is sent. */
static choir_status round_chunk(struct topk_run *run, int c)
{
	return topk_round_part(run, &run->held, held_from(run, c), held_from(run, c + 1));
}

/* The largest of a chunk that stays; the others go into the residual. */
static choir_status cut_chunk(struct topk_run *run, struct script_turn *turn)
{
	int c = chunk_at(run, run->chunk++);
	struct topk_list rest = { .count = 0 };
	struct select_limit limit;
	choir_status st;

	(void)turn;
	run->step = add_chunk;
	TRY(list_top(&run->sums[c], &run->types, topk_chunk_room(run, c), &limit));
	TRY(list_split(&run->sums[c], &run->types, limit, &rest));
	st = run->on->add(run, &rest);
	list_free(&rest);
	return st;
}

/* Adds the pairs that came for the next of the chunks that stay, which are the first half of the chunks that this rank
 * held, rounded up. */
static choir_status add_chunk(struct topk_run *run, struct script_turn *turn)
{
	int stay = (run->distance + 1) / 2, came = run->distance - stay, j = run->chunk;
	uint64_t bytes = topk_fixed_bytes(run, room(run));
	struct pairs both[2] = { held_of(run, chunk_at(run, j)), { .form = run->types.form } };

	if (j == stay)
		return hold(run, turn);
	if (j < came) {
		both[1] = topk_fixed_read(run, room(run), (unsigned char *)run->in.ptr + (uint64_t)j * bytes);
		run->stats.pairs_received += both[1].count;
		TRY(topk_widen(run, &both[1], 1));
	}
	return run->on->merge(run, &run->sums[chunk_at(run, j)], both, 2, cut_chunk);
}

static choir_status gathered(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = topk_fixed_bytes(run, room(run));
	int n = run->env.layout->n;

	(void)turn;
	for (int r = 0; r < n; r++) {
		run->lists[r] =
		    topk_fixed_read(run, room(run), (const unsigned char *)run->in.ptr + (uint64_t)r * bytes);
		run->stats.pairs_received += r != run->env.me ? run->lists[r].count : 0;
	}
	run->step = run->deliver;
	TRY(topk_widen(run, run->lists, n));
	return topk_join(run, &run->kept);
}

static choir_status gather(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = topk_fixed_bytes(run, room(run)), n = (uint64_t)run->env.layout->n;
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = BLOCK_ALIGN, .bytes = bytes };
	struct pairs mine = held_of(run, run->env.me);

	TRY(round_chunk(run, run->env.me));
	pool_give(&run->out);
	pool_give(&run->in);
	TRY(pool_take(&run->out, bytes, "my chunk"));
	TRY(pool_take(&run->in, bytes * n, "the chunks"));
	topk_fixed_write(run, &mine, room(run), run->out.ptr);
	return topk_plan(run, turn, &in, run->out.ptr, bytes, run->in.ptr, bytes * n, gathered);
}

static choir_status hold(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n;

	(void)turn;
	for (int c = 0; c < n; c++)
		run->lists[c] = list_pairs(&run->sums[c], &run->types);
	TRY(topk_join(run, &run->held));
	for (int c = 0; c < n; c++)
		list_free(&run->sums[c]);
	run->distance = (run->distance + 1) / 2;
	run->step = run->distance > 1 ? spardl_round : gather;
	return CHOIR_SUCCESS;
}

static choir_status round_done(struct topk_run *run, struct script_turn *turn)
{
	run->chunk = 0;
	return add_chunk(run, turn);
}

static choir_status spardl_round(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n, stay = (run->distance + 1) / 2, go = run->distance - stay;
	uint64_t bytes = topk_fixed_bytes(run, room(run));

	memset(run->matrix, 0, (size_t)n * (size_t)n * sizeof *run->matrix);
	for (int s = 0; s < n; s++)
		run->matrix[s * n + (s + stay) % n] = (uint64_t)go;
	pool_give(&run->out);
	TRY(pool_take(&run->out, (uint64_t)go * bytes, "the chunks that go"));
	for (int j = 0; j < go; j++) {
		struct pairs chunk = held_of(run, chunk_at(run, stay + j));

		TRY(round_chunk(run, chunk_at(run, stay + j)));
		topk_fixed_write(run, &chunk, room(run), (unsigned char *)run->out.ptr + (uint64_t)j * bytes);
	}
	return topk_send_fixed(run, turn, bytes, round_done);
}

choir_status topk_spardl_start(struct topk_run *run, struct script_turn *turn)
{
	struct pairs mine = list_pairs(&run->selected, &run->types);
	size_t n = (size_t)run->env.layout->n;

	(void)turn;
	run->sums = calloc(n, sizeof *run->sums);
	if (run->sums == NULL)
		return error_no_memory("the chunks of a top-k call", n * sizeof *run->sums);
	run->distance = run->env.layout->n;
	run->step = run->distance > 1 ? spardl_round : gather;
	return list_merge(&run->held, &run->types, &mine, 1);
}
