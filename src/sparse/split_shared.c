/* SPDX-License-Identifier: MIT */
/* split where all ranks share memory: no list is sent, each is read where its rank wrote it.
 * 1. Coalesced rows: a rank owns a region of the range (region_cut: as many pairs in each) and merges the parts of all
 *    lists that lie there.
 *    Raw scalars of few ranks, close together: the same, but the rank picks the pairs of its region out of raw lists
 *    (scalars.h).
 *    Other raw scalars: each rank groups its pairs into buckets of the range and reduces the buckets that it owns out
 *    of all ranks' groups (bucket.h).  A rank owns buckets of about the same work, however pairs are spread.
 * 2. Each rank copies the reduced regions of all ranks, one after the other, into the result.
 * Two gathered notes of some bytes, three with buckets.  Each rank groups k pairs or looks at k P, reduces (k P) / P
 * and copies K. */
#include "base/copy.h"
#include "sparse/block.h"
#include "sparse/bucket.h"
#include "sparse/region.h"
#include "sparse/scalars.h"
#include "sparse/state.h"

static choir_status fold_buckets(struct sparse *sparse, struct script_turn *turn);
static choir_status merge_region(struct sparse *sparse, struct script_turn *turn);
static choir_status fold_scalars(struct sparse *sparse, struct script_turn *turn);
static choir_status regions_told(struct sparse *sparse, struct script_turn *turn);

struct work split_cost_shared(const struct cost *cost)
{
	double pair = cost->index + cost->row, each = cost->pairs / cost->n;

	/* Beside the headers, a note of some bytes: a fraction of the time of a message. */
	return (struct work){ .messages = 1 + 0.1 * cost->n,
		              .received = (3 * each + 2 * cost->distinct) * pair,
		              .merged = each };
}

static const struct share_address *note_at(const struct sparse *sparse, int r)
{
	return &sparse->notes[r].at;
}

/* Tells all ranks about the block that this rank has written. */
static choir_status tell(struct sparse *sparse, struct script_turn *turn, struct sparse_shared *shared,
                         sparse_step then)
{
	share_offer(shared->block, sparse->env.layout->n - 1, &sparse->note.at);
	return script_gather_notes(sparse, turn, then);
}

static struct bucket_shape shape_of(const struct sparse *sparse)
{
	return bucket_shape_of(sparse->facts.range, sparse->env.layout->n);
}

/* The bytes that a rank goes over in a phase: its own pairs, or its part of all; in place it looks at all of them. */
static uint64_t my_bytes(const struct sparse *sparse)
{
	uint64_t part = sparse->in_place ? sparse->facts.pairs : sparse->facts.pairs / (unsigned)sparse->env.layout->n;

	return script_pair_bytes(sparse, sparse->header.pairs > part ? sparse->header.pairs : part);
}

choir_status split_start_shared(struct sparse *sparse, struct script_turn *turn)
{
	struct bucket_shape shape = shape_of(sparse);
	struct pairs mine = sparse_own_pairs(sparse);
	uint64_t bytes = bucket_list_bytes(&shape, mine.count, sparse->elem_bytes);

	if (script_defers(sparse, turn, my_bytes(sparse)))
		return CHOIR_SUCCESS;
	if (!sparse->facts.raw)
		return merge_region(sparse, turn);
	if (sparse->in_place)
		return fold_scalars(sparse, turn);
	TRY(staged_write_take(sparse, bytes, &sparse->list_shared.block));
	TRY(bucket_split(&shape, &mine, sparse->elem_bytes, share_ptr(sparse->list_shared.block)));
	pool_give(&sparse->ind_copy);
	pool_give(&sparse->val_copy);
	sparse->note.count = mine.count;
	return tell(sparse, turn, &sparse->list_shared, fold_buckets);
}

/* Takes shared memory for the reduced region, of at most so many pairs; its indices begin it. */
static choir_status take_region(struct sparse *sparse, uint64_t most)
{
	struct index_form form = sparse_form(sparse);

	TRY(staged_write_take(sparse, block_bytes(form, most, sparse->row_bytes), &sparse->region_shared.block));
	sparse->note.rows_off = block_rows_off(form, most);
	return CHOIR_SUCCESS;
}

static void *region_ptr(const struct sparse *sparse)
{
	return share_ptr(sparse->region_shared.block);
}

static unsigned char *region_rows(const struct sparse *sparse)
{
	return (unsigned char *)region_ptr(sparse) + sparse->note.rows_off;
}

static choir_status tell_region(struct sparse *sparse, struct script_turn *turn)
{
	sparse_close(sparse, sparse->views);
	return tell(sparse, turn, &sparse->region_shared, regions_told);
}

static choir_status fold_buckets(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = sparse_form(sparse);
	int n = sparse->env.layout->n, me = sparse->env.me;
	struct bucket_reduction todo = { .shape = shape_of(sparse),
		                         .dtype = sparse->wire_dtype,
		                         .op = sparse->call.op,
		                         .n_ranks = n,
		                         .lists = sparse->buckets,
		                         .n_lists = n };
	uint32_t from, end;

	if (script_defers(sparse, turn, my_bytes(sparse)))
		return CHOIR_SUCCESS;
	sparse->list_shared.used = true;
	TRY(sparse_open(sparse, sparse->views, note_at));
	for (int r = 0; r < n; r++) {
		const void *block = r == me ? share_ptr(sparse->list_shared.block) : share_view_ptr(sparse->views[r]);

		sparse->buckets[r] = bucket_list_at(&todo.shape, block, sparse->notes[r].count, sparse->headers[r].raw);
	}
	bucket_bounds(&todo, me, n, &from, &end);
	sparse->note.work = bucket_pairs(&todo, from, end);
	TRY(take_region(sparse, bucket_most(&todo, from, end)));
	TRY(bucket_reduce(&todo, from, end, region_ptr(sparse), form, region_rows(sparse), &sparse->note.count));
	return tell_region(sparse, turn);
}

/* The pairs of a coalesced list that lie in a range. */
static struct pairs part_of(const struct pairs *list, struct index_range range, uint64_t row_bytes)
{
	struct index_range below = { .lo = 0, .hi = range.lo - 1 };
	uint64_t from = index_range_is_empty(range) ? 0 : region_end(list, 0, below),
		 end = region_end(list, from, range);

	return (struct pairs){ .ind = (const unsigned char *)list->ind + from * list->form.bytes,
		               .rows = list->rows + from * row_bytes,
		               .count = end - from,
		               .form = list->form };
}

static choir_status merge_region(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n;
	struct index_range mine = region_between(sparse->bounds, sparse->env.me);
	struct index_form form = sparse_form(sparse);
	bool done; /* on the host at once */

	TRY(sparse_open(sparse, sparse->views, sparse_pairs_at));
	for (int r = 0; r < n; r++) {
		struct pairs list = sparse_shared_pairs(sparse, r);

		if (list.count > 0)
			list = part_of(&list, mine, sparse->row_bytes);
		sparse->lists[r].pairs = list;
		sparse->note.work += list.count;
	}
	TRY(sparse_merge_host(sparse, (uint32_t)n, mine, true));
	TRY(coalesce_count(&sparse->job, &done));
	sparse->note.count = sparse->job.count;
	TRY(take_region(sparse, sparse->job.count));
	TRY(coalesce_fill(&sparse->job, region_ptr(sparse), form, region_rows(sparse), &done));
	coalesce_fini(&sparse->job);
	return tell_region(sparse, turn);
}

static choir_status reduce_scalars(struct sparse *sparse, const struct scalars *job)
{
	sparse->note.work = scalars_picked(job);
	TRY(take_region(sparse, sparse->note.work));
	return scalars_reduce(job, region_ptr(sparse), sparse_form(sparse).base, region_rows(sparse),
	                      &sparse->note.count);
}

static choir_status fold_scalars(struct sparse *sparse, struct script_turn *turn)
{
	struct scalars_list lists[SCALARS_LISTS];
	struct scalars_call todo = { .dtype = sparse->wire_dtype,
		                     .op = sparse->call.op,
		                     .n_ranks = sparse->env.layout->n,
		                     .range = region_between(sparse->bounds, sparse->env.me),
		                     .lists = lists,
		                     .n_lists = sparse->env.layout->n };
	struct scalars job;
	choir_status st;

	TRY(sparse_open(sparse, sparse->views, sparse_pairs_at));
	for (int r = 0; r < todo.n_lists; r++)
		lists[r] =
		    (struct scalars_list){ .pairs = sparse_shared_pairs(sparse, r), .raw = sparse->headers[r].raw };
	st = scalars_pick(&job, &todo);
	if (st == CHOIR_SUCCESS)
		st = reduce_scalars(sparse, &job);
	scalars_fini(&job);
	TRY(st);
	return tell_region(sparse, turn);
}

static choir_status regions_told(struct sparse *sparse, struct script_turn *turn)
{
	uint64_t count = 0;

	(void)turn;
	sparse->region_shared.used = true;
	sparse->failure_is_local = true;
	TRY(sparse_open(sparse, sparse->region_views, note_at));
	for (int r = 0; r < sparse->env.layout->n; r++)
		count += sparse->notes[r].count;
	sparse_set_imbalance(sparse);
	deliver_start(sparse, count);
	return CHOIR_SUCCESS;
}

/* The regions one after the other are the result. */
choir_status split_fill_shared(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form from = sparse_form(sparse), to = { .bytes = sparse->ind_bytes };
	unsigned char *ind = sparse->target_ind, *rows = sparse->target_val;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->count)))
		return CHOIR_SUCCESS;
	for (int r = 0; r < sparse->env.layout->n; r++) {
		const struct sparse_note *note = &sparse->notes[r];
		const unsigned char *block =
		    r == sparse->env.me ? region_ptr(sparse) : share_view_ptr(sparse->region_views[r]);

		index_convert(ind, to, block, from, note->count);
		copy_host_plain(rows, block + note->rows_off, note->count * sparse->row_bytes);
		ind += note->count * to.bytes;
		rows += note->count * sparse->row_bytes;
	}
	sparse_close(sparse, sparse->region_views);
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
