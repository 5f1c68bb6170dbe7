/* SPDX-License-Identifier: MIT */
/* Every rank gets the lists of all ranks and merges them in rank order.  With coalesce mode "disable" the lists are
 * raw, and it puts one after the other.  One allgatherv (none where the ranks share memory); each rank receives (P-1) k
 * pairs and merges P k; any P.  Best for few ranks and short lists. */
#include "base/copy.h"
#include "kern/reduce.h"
#include "sparse/block.h"
#include "sparse/state.h"

static choir_status allgather_merge(struct sparse *sparse, struct script_turn *turn);
static choir_status allgather_count(struct sparse *sparse, struct script_turn *turn);

struct work allgather_cost(const struct cost *cost)
{
	return (struct work){ .messages = cost->rounds,
		              .received = cost_gathered(cost) * (cost->index + cost->row),
		              .merged = cost->pairs,
		              .folded = cost->pairs * cost->row };
}

struct work allgather_cost_shared(const struct cost *cost)
{
	return (struct work){ .messages = 1,
		              .received = 2 * cost->pairs * (cost->index + cost->row),
		              .merged = cost->pairs };
}

/* Phase 1: the ranks exchange their lists as blocks, with indices in the form that the range of all lists allows. */
choir_status allgather_start(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = sparse_form(sparse);
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV, .elem_bytes = BLOCK_ALIGN };
	const void *mine = sparse->own_ptr;
	uint64_t total = 0, my_bytes;
	int n = sparse->env.layout->n, me = sparse->env.me;

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->own_count)))
		return CHOIR_SUCCESS;
	TRY(sparse_table(sparse, &sparse->block_bytes));
	in.block_bytes = sparse->block_bytes;
	for (int r = 0; r < n; r++) {
		sparse->block_bytes[r] = block_bytes(form, sparse->headers[r].pairs, sparse->row_bytes);
		total += sparse->block_bytes[r];
	}
	my_bytes = sparse->block_bytes[me];
	if (sparse->own_count > 0 && (form.bytes != sparse->own_form.bytes || form.base != sparse->own_form.base)) {
		struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);

		TRY(pool_take(&sparse->out, my_bytes, "the pairs to send"));
		block_write(sparse->out.ptr, form, &own, 0, own.count, sparse->row_bytes);
		mine = sparse->out.ptr;
	}
	TRY(pool_take(&sparse->in, total, "the pairs of all ranks"));
	return script_plan(sparse, turn, &in, mine, my_bytes, sparse->in.ptr, total, allgather_merge);
}

/* Is the result the lists one after the other?  Duplicates stay, or one rank alone has pairs, and the operator has no
 * final step. */
static bool is_concatenation(const struct sparse *sparse)
{
	bool alone = sparse->facts.most == sparse->facts.pairs && !sparse->facts.on_device;

	return sparse->call.attr.coalesce_mode == CHOIR_COALESCE_DISABLE ||
	       (alone && !reduce_has_final(sparse->call.op));
}

/* Phase 2: the rank merges the lists.  No exchange is left. */
static choir_status merge_lists(struct sparse *sparse, struct script_turn *turn)
{
	(void)turn;
	sparse->failure_is_local = true;
	if (is_concatenation(sparse)) {
		deliver_start(sparse, sparse->facts.pairs);
		return CHOIR_SUCCESS;
	}
	sparse->step = allgather_count;
	return sparse->facts.on_device ? sparse_merge_on_device(sparse) : sparse_merge_all(sparse);
}

static choir_status allgather_merge(struct sparse *sparse, struct script_turn *turn)
{
	struct index_form form = sparse_form(sparse);
	const unsigned char *block = sparse->in.ptr;

	for (int r = 0; r < sparse->env.layout->n; r++) {
		sparse->lists[r].pairs = block_pairs(block, form, sparse->headers[r].pairs);
		block += sparse->block_bytes[r];
	}
	return merge_lists(sparse, turn);
}

/* Where the ranks share memory each reads the lists where they were written, each list in the form of its own range.
 * Only the headers are exchanged. */
choir_status allgather_start_shared(struct sparse *sparse, struct script_turn *turn)
{
	sparse->failure_is_local = true;
	TRY(sparse_open(sparse, sparse->views, sparse_pairs_at));
	for (int r = 0; r < sparse->env.layout->n; r++)
		sparse->lists[r].pairs = sparse_shared_pairs(sparse, r);
	return merge_lists(sparse, turn);
}

/* Where all lists stay on the device, kernels of each rank read them there (Note [lists that stay] in stay.c). */
choir_status allgather_start_device(struct sparse *sparse, struct script_turn *turn)
{
	TRY(sparse_borrow(sparse));
	return merge_lists(sparse, turn);
}

static choir_status allgather_count(struct sparse *sparse, struct script_turn *turn)
{
	bool counted;

	TRY(script_count_job(sparse, turn, &counted));
	if (!counted)
		return CHOIR_SUCCESS;
	deliver_start(sparse, sparse->job.count);
	return CHOIR_SUCCESS;
}

/* Copies the lists one after the other, in rank order. */
static choir_status concatenate(struct sparse *sparse)
{
	struct index_form form = { .bytes = sparse->ind_bytes };
	unsigned char *ind = sparse->target_ind, *rows = sparse->target_val;

	for (int r = 0; r < sparse->env.layout->n; r++) {
		const struct pairs *list = &sparse->lists[r].pairs;

		index_convert(ind, form, list->ind, list->form, list->count);
		if (list->count > 0)
			copy_host_plain(rows, list->rows, list->count * sparse->row_bytes);
		ind += list->count * form.bytes;
		rows += list->count * sparse->row_bytes;
	}
	sparse_close(sparse, sparse->views);
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}

static choir_status fill(struct sparse *sparse, bool *done_p)
{
	struct index_form form = { .bytes = sparse->ind_bytes };
	struct dev_bytes ind = dev_bytes_of(&sparse->to_ind_access), rows = dev_bytes_of(&sparse->to_val_access);

	if (sparse->target_on_device)
		return coalesce_fill_mems(&sparse->job, ind, form, rows, done_p);
	return coalesce_fill(&sparse->job, sparse->target_ind, form, sparse->target_val, done_p);
}

/* Phase 3: the merge writes to the memory of the result. */
choir_status allgather_fill(struct sparse *sparse, struct script_turn *turn)
{
	bool done;

	if (script_defers_job(sparse, turn, sparse->facts.pairs))
		return CHOIR_SUCCESS;
	if (is_concatenation(sparse))
		return concatenate(sparse);
	TRY(fill(sparse, &done));
	if (!done)
		return script_wait_job(sparse, turn);
	coalesce_fini(&sparse->job);
	sparse_return(sparse);
	sparse_close(sparse, sparse->views);
	sparse->step = deliver_flush;
	return CHOIR_SUCCESS;
}
