/* SPDX-License-Identifier: MIT */
/* The rank coalesces its pairs into a block; then the ranks gather their headers and choose a method. */
#include "kern/reduce.h"
#include "sparse/block.h"
#include "sparse/bucket.h"
#include "kern/convert.h"
#include "sparse/region.h"
#include "sparse/scalars.h"
#include "sparse/state.h"

static choir_status coalesce_start(struct sparse *sparse, struct script_turn *turn);
static choir_status keep_duplicates(struct sparse *sparse);
static choir_status take_block(struct sparse *sparse, uint64_t count);
static void lend_own(struct sparse *sparse);
static choir_status local_count(struct sparse *sparse, struct script_turn *turn);
static choir_status local_fill(struct sparse *sparse, struct script_turn *turn);
static choir_status local_stay(struct sparse *sparse, struct script_turn *turn);
static choir_status local_read(struct sparse *sparse, struct script_turn *turn);
static choir_status local_done(struct sparse *sparse, struct script_turn *turn);
static void set_own(struct sparse *sparse, uint64_t count);
static choir_status header_done(struct sparse *sparse, struct script_turn *turn);

/* Fewer raw pairs are coalesced first: that costs less than the exchanges that raw pairs need, one if they are read in
 * place, two if they are grouped. */
#define RAW_LEAST        1024
#define RAW_LEAST_PLACED 512

/* A rank offers its scalars raw where split can take them: the owner of a region then reduces the pairs of all ranks at
 * once. */
static bool offers_raw(const struct sparse *sparse)
{
	const struct sparse_header *header = &sparse->header;
	int n = sparse->env.layout->n;
	uint64_t pairs = header->raw_pairs, least = n <= SCALARS_LISTS ? RAW_LEAST_PLACED : RAW_LEAST;

	if (sparse->local_dtype != sparse->wire_dtype || sparse->call.attr.coalesce_mode == CHOIR_COALESCE_DISABLE)
		return false;
	if (!sparse->shares || header->width != 1 || (pairs < least && sparse->forced < 0) || pairs > UINT32_MAX)
		return false;
	if (sparse->user != NULL) /* there are no loops over raw pairs */
		return false;
	if (sparse->forced >= 0 && !sparse_methods[sparse->forced].raw)
		return false;
	return bucket_fits((struct index_range){ header->lo, header->hi }, pairs * (uint64_t)n);
}

/* Are the raw pairs so few and so close together that all ranks read them in place? */
static bool fit_in_place(const struct sparse *sparse)
{
	const struct sparse_header *header = &sparse->header;

	return scalars_fit((struct index_range){ header->lo, header->hi },
	                   header->raw_pairs * (uint64_t)sparse->env.layout->n, sparse->env.layout->n);
}

/* Copies the rank's pairs, duplicates too, into its block. */
static choir_status copy_own(struct sparse *sparse)
{
	struct pairs mine = { .ind = sparse->ind,
		              .rows = sparse->val,
		              .count = sparse->header.raw_pairs,
		              .form = { .bytes = sparse->ind_bytes } };

	TRY(take_block(sparse, mine.count));
	block_write(sparse->own_ptr, sparse->own_form, &mine, 0, mine.count,
	            sparse->header.width * choir_dtype_bytes(sparse->local_dtype));
	return CHOIR_SUCCESS;
}

/* Copies the raw pairs to where the other ranks read them. */
static choir_status share_raw(struct sparse *sparse)
{
	struct pairs mine;

	TRY(copy_own(sparse));
	mine = sparse_own_pairs(sparse);
	region_sample_raw(&mine, &sparse->header);
	lend_own(sparse);
	return CHOIR_SUCCESS;
}

/* Does local_start itself read or write all pairs? */
static bool goes_over_pairs(const struct sparse *sparse)
{
	return sparse->local_dtype != sparse->call.val_dtype || sparse->op_given == CHOIR_OP_PREMUL_SUM ||
	       sparse->call.attr.coalesce_mode == CHOIR_COALESCE_DISABLE ||
	       (offers_raw(sparse) && fit_in_place(sparse));
}

choir_status local_start(struct sparse *sparse, struct script_turn *turn)
{
	if (!sparse->kernels && goes_over_pairs(sparse) &&
	    script_defers(sparse, turn, script_pair_bytes(sparse, sparse->header.raw_pairs)))
		return CHOIR_SUCCESS;
	TRY(sparse_widen(sparse));
	if (sparse->call.attr.coalesce_mode == CHOIR_COALESCE_DISABLE)
		return keep_duplicates(sparse);
	TRY(sparse_scale(sparse));
	if (!offers_raw(sparse))
		return coalesce_start(sparse, turn);
	sparse->header.raw = true;
	sparse->header.pairs = sparse->header.raw_pairs;
	sparse->step = header_start;
	return fit_in_place(sparse) ? share_raw(sparse) : CHOIR_SUCCESS;
}

static choir_status coalesce_start(struct sparse *sparse, struct script_turn *turn)
{
	const struct sparse_call *call = &sparse->call;
	struct coalesce_source *source = &sparse->source;
	struct coalesce_call todo = { .dtype = sparse->local_dtype,
		                      .op = call->op,
		                      .width = sparse->header.width,
		                      .raw = true,
		                      .n_ranks = sparse->env.layout->n,
		                      .src = source,
		                      .n_src = 1,
		                      .range = { .lo = sparse->header.lo, .hi = sparse->header.hi } };
	choir_status st;

	(void)turn;
	todo.form = index_form_of(todo.range);
	sparse->header.raw = false;
	source->pairs = (struct pairs){ .ind = sparse->ind,
		                        .rows = sparse->val,
		                        .count = call->send_ind_count,
		                        .form = { .bytes = sparse->ind_bytes } };
	if (sparse->ind == NULL) {
		source->ind_mem = call->send_ind.base;
		source->ind_off = call->send_ind.offset_bytes;
	}
	if (sparse->val == NULL) {
		source->val_mem = sparse->scaled.mem != NULL ? sparse->scaled.mem : call->send_val.base;
		source->val_off = sparse->scaled.mem != NULL ? 0 : call->send_val.offset_bytes;
	}
	sparse->step = local_count;
	st = coalesce_init(&sparse->job, &todo, sparse->kernels ? sparse->env.device : NULL);
	if (st != CHOIR_SUCCESS && sparse->scaled.mem != NULL)
		dev_drain(sparse->env.device); /* the scaling kernel reads the caller's rows */
	return st;
}

/* Lets the other ranks read the rank's list. */
static void lend_own(struct sparse *sparse)
{
	if (sparse->shares)
		share_offer(sparse->own_shared.block, sparse->env.layout->n - 1, &sparse->header.pairs_at);
}

static void set_own(struct sparse *sparse, uint64_t count)
{
	sparse->own_count = count;
	sparse->own_form = index_form_of((struct index_range){ .lo = sparse->header.lo, .hi = sparse->header.hi });
}

/* Takes memory for so many pairs with rows of local_dtype: shared memory, if the ranks share any. */
static choir_status take_block(struct sparse *sparse, uint64_t count)
{
	uint64_t row_bytes = sparse->header.width * choir_dtype_bytes(sparse->local_dtype), bytes;

	set_own(sparse, count);
	bytes = block_bytes(sparse->own_form, count, row_bytes);
	if (sparse->shares) {
		TRY(staged_write_take(sparse, bytes, &sparse->own_shared.block));
		sparse->own_ptr = share_ptr(sparse->own_shared.block);
		return CHOIR_SUCCESS;
	}
	TRY(pool_take(&sparse->own, bytes, "my pairs"));
	sparse->own_ptr = sparse->own.ptr;
	return CHOIR_SUCCESS;
}

static choir_status keep_duplicates(struct sparse *sparse)
{
	TRY(copy_own(sparse));
	sparse->step = local_done;
	return CHOIR_SUCCESS;
}

static choir_status local_count(struct sparse *sparse, struct script_turn *turn)
{
	bool counted;

	TRY(script_count_job(sparse, turn, &counted));
	if (!counted)
		return CHOIR_SUCCESS;
	set_own(sparse, sparse->job.count);
	sparse->step = sparse->stays ? local_stay : local_fill;
	return sparse->stays ? CHOIR_SUCCESS : take_block(sparse, sparse->own_count);
}

static choir_status local_fill(struct sparse *sparse, struct script_turn *turn)
{
	unsigned char *block = sparse->own_ptr;
	bool done;

	if (script_defers_job(sparse, turn, sparse->job.pairs))
		return CHOIR_SUCCESS;
	TRY(coalesce_fill(&sparse->job, block, sparse->own_form,
	                  block + block_rows_off(sparse->own_form, sparse->own_count), &done));
	if (!done)
		return script_wait_job(sparse, turn);
	coalesce_keep(&sparse->job, &sparse->own_ind, &sparse->own_rows);
	coalesce_fini(&sparse->job);
	sparse->step = local_done;
	return CHOIR_SUCCESS;
}

/* The list is made on the device, and stays there. */
static choir_status local_stay(struct sparse *sparse, struct script_turn *turn)
{
	bool done;

	TRY(coalesce_fill_kept(&sparse->job, sparse->own_form, &done));
	if (!done)
		return script_wait_job(sparse, turn);
	coalesce_keep(&sparse->job, &sparse->own_ind, &sparse->own_rows);
	coalesce_fini(&sparse->job);
	sparse->step = header_start;
	return CHOIR_SUCCESS;
}

/* Some rank's list does not stay on the device, as all headers show.  The host reads those that did, and the headers
 * are gathered again. */
static choir_status read_down(struct sparse *sparse)
{
	uint64_t ind_bytes = sparse->own_count * sparse->own_form.bytes,
		 row_bytes = sparse->own_count * sparse->header.width * sparse->elem_bytes;
	struct dev_access ind, rows;
	bool has_list = sparse->stays && sparse->own_count > 0;

	sparse_take_back(sparse);
	sparse->step = has_list ? local_read : header_start;
	if (!has_list)
		return CHOIR_SUCCESS;
	TRY(take_block(sparse, sparse->own_count));
	ind = dev_buffer_access(sparse->own_ind.mem, 0, ind_bytes);
	rows = dev_buffer_access(sparse->own_rows.mem, 0, row_bytes);
	transfer_init(&sparse->ind_in, sparse->env.device, &ind, sparse->own_ptr, ind_bytes, false);
	transfer_init(&sparse->val_in, sparse->env.device, &rows,
	              sparse->own_ptr + block_rows_off(sparse->own_form, sparse->own_count), row_bytes, false);
	return CHOIR_SUCCESS;
}

static choir_status local_read(struct sparse *sparse, struct script_turn *turn)
{
	return script_transfer(sparse, turn, &sparse->ind_in, &sparse->val_in, local_done);
}

/* Rounds the rows to wire_dtype.  It is no wider, so the rows stay where they begin. */
static choir_status local_done(struct sparse *sparse, struct script_turn *turn)
{
	unsigned char *rows = sparse->own_ptr + block_rows_off(sparse->own_form, sparse->own_count);
	struct pairs own = block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);

	if (script_defers(sparse, turn, script_pair_bytes(sparse, sparse->own_count)))
		return CHOIR_SUCCESS;
	convert_values(sparse->wire_dtype, rows, sparse->local_dtype, rows, sparse->own_count * sparse->header.width);
	region_sample(&own, &sparse->header);
	pool_give(&sparse->ind_copy);
	pool_give(&sparse->val_copy);
	pool_give(&sparse->val_wide);
	sparse->header.pairs = sparse->own_count;
	sparse->step = header_start;
	lend_own(sparse);
	return CHOIR_SUCCESS;
}

choir_status header_start(struct sparse *sparse, struct script_turn *turn)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof sparse->header };

	if (script_needs_driver(sparse, turn))
		return CHOIR_SUCCESS;
	sparse->header.ind_dtype = sparse->call.ind_dtype;
	sparse->header.val_dtype = sparse->call.val_dtype;
	sparse->header.op = user_op_code(sparse->op_given);
	sparse->header.mode = sparse->call.attr.coalesce_mode;
	sparse->header.wire = (int32_t)sparse->call.attr.wire;
	sparse->header.algorithm = sparse->forced;
	sparse->header.shared = sparse->shares;
	if (sparse->stays && sparse->lent == NULL)
		TRY(sparse_lend(sparse));
	sparse->header.list_on_device = sparse_list_number(sparse);
	if (sparse->header.list_on_device != 0)
		sparse_say_room(sparse);
	sparse->header.costs = *sparse->env.costs;
	last_choice_fill(sparse);
	return script_plan(sparse, turn, &in, &sparse->header, sizeof sparse->header, sparse->headers,
	                   sizeof sparse->header * (uint64_t)sparse->env.layout->n, header_done);
}

/* No rank reads this rank's block: it may serve the next call. */
static void lend_own_to_none(struct sparse *sparse)
{
	if (sparse->own_shared.block != NULL)
		share_offer(sparse->own_shared.block, 0, &sparse->header.pairs_at);
}

/* A rank has offered raw pairs that no method takes, as all headers show.  Such ranks coalesce, and the headers are
 * gathered again. */
static choir_status coalesce_after_all(struct sparse *sparse)
{
	if (sparse->header.raw) {
		lend_own_to_none(sparse);
		share_give(sparse->own_shared.block, true);
		sparse->own_shared.block = NULL;
		pool_give(&sparse->own);
		sparse->own_ptr = NULL;
	}
	sparse->step = sparse->header.raw ? coalesce_start : header_start;
	return CHOIR_SUCCESS;
}

/* Do all ranks read all lists in place?  Raw ones only if they are few, and all in shared memory. */
static bool read_in_place(const struct sparse *sparse)
{
	bool in_place =
	    !sparse->facts.raw || scalars_fit(sparse->facts.range, sparse->facts.pairs, sparse->env.layout->n);

	for (int r = 0; r < sparse->env.layout->n; r++)
		in_place &= sparse->headers[r].pairs == 0 || sparse->headers[r].pairs_at.nonce != 0;
	return in_place && sparse->facts.shared && sparse->facts.pairs > 0;
}

static choir_status header_done(struct sparse *sparse, struct script_turn *turn)
{
	int n = sparse->env.layout->n;
	choir_status st = header_agree(sparse->headers, n, &sparse->facts);

	(void)turn;
	/* A bad index ends the call on all ranks alike: no rank is left waiting, and the comm goes on. */
	if (st == CHOIR_ARGUMENT)
		sparse->failure_is_local = true;
	TRY(st);
	sparse->facts.user = sparse->user;
	if (sparse->facts.some_stay)
		return read_down(sparse);
	sparse->lent_is_known = true;
	if (sparse->facts.raw && !(sparse->facts.shared && bucket_fits(sparse->facts.range, sparse->facts.pairs)))
		return coalesce_after_all(sparse);
	sparse->row_bytes = sparse->facts.width * sparse->elem_bytes;
	sparse->kernels |= sparse->long_by_kernels && sparse_is_long(sparse, sparse->facts.most, sparse->row_bytes);
	sparse->in_place = read_in_place(sparse);
	if (!sparse->in_place)
		lend_own_to_none(sparse);
	sparse->own_shared.used = true;
	if (sparse->facts.pairs == 0) {
		deliver_start(sparse, 0);
		return CHOIR_SUCCESS;
	}
	staged_write_agree(sparse);
	TRY(sparse_choose(sparse));
	sparse->fill = sparse->facts.shared ? sparse->method->fill_shared : sparse->method->fill;
	sparse->step = sparse->facts.on_device ? sparse->method->start_device
	               : sparse->facts.shared  ? sparse->method->start_shared
	                                       : sparse->method->start;
	return CHOIR_SUCCESS;
}
