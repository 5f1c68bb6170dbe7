/* SPDX-License-Identifier: MIT */
/* The steps of all methods use these: turns for the engine, tables of numbers, lists in shared memory, merges. */
#include "sparse/state.h"

#include "base/float_control.h"

#include <stdlib.h>
#include <string.h>

void script_wait(struct script_turn *turn)
{
	turn->what = SCRIPT_AGAIN;
}

/* Runs all steps up to the next turn: each turn costs some us.  The driver runs a step again that waits for the device:
 * it sees when the device is done. */
static void work(void *state)
{
	struct sparse *sparse = state;
	struct script_turn *left = &sparse->left;
	uint64_t control = float_control_begin();
	choir_status st;

	*left = (struct script_turn){ .what = SPARSE_GO_ON };
	sparse->in_work = true;
	do
		st = sparse->step(sparse, left);
	while (st == CHOIR_SUCCESS && left->what == SPARSE_GO_ON && !sparse->kernels);
	if (left->what == SCRIPT_AGAIN)
		left->what = SPARSE_GO_ON;
	error_keep(&sparse->outcome, st);
	sparse->in_work = false;
	sparse->work_over = true;
	float_control_end(control);
}

bool script_defers(struct sparse *sparse, struct script_turn *turn, uint64_t bytes)
{
	if (sparse->in_work || bytes <= SCRIPT_PIECE_BYTES)
		return false;
	turn->what = SCRIPT_WORK;
	turn->job = work;
	return true;
}

bool script_needs_driver(struct sparse *sparse, struct script_turn *turn)
{
	if (sparse->in_work)
		script_wait(turn);
	return sparse->in_work;
}

uint64_t script_pair_bytes(const struct sparse *sparse, uint64_t pairs)
{
	return pairs * (sparse->ind_bytes + sparse->row_bytes);
}

bool script_defers_job(struct sparse *sparse, struct script_turn *turn, uint64_t pairs)
{
	return sparse->job.on_device == NULL && script_defers(sparse, turn, script_pair_bytes(sparse, pairs));
}

choir_status script_wait_job(struct sparse *sparse, struct script_turn *turn)
{
	script_wait(turn);
	return coalesce_watch(&sparse->job, sparse->env.wake, NULL);
}

choir_status script_count_job(struct sparse *sparse, struct script_turn *turn, bool *counted_p)
{
	bool done = false;

	*counted_p = false;
	if (script_defers_job(sparse, turn, sparse->job.pairs))
		return CHOIR_SUCCESS;
	TRY(coalesce_count(&sparse->job, &done));
	*counted_p = done;
	return done ? CHOIR_SUCCESS : script_wait_job(sparse, turn);
}

choir_status script_transfer(struct sparse *sparse, struct script_turn *turn, struct transfer *ind,
                             struct transfer *val, sparse_step then)
{
	bool ind_done = true, val_done = true;
	uint64_t copies;

	TRY(transfer_step(ind, &ind_done));
	TRY(transfer_step(val, &val_done));
	copies = transfer_copies(ind) + transfer_copies(val);
	if (copies > 0) {
		if (script_defers(sparse, turn, copies))
			return CHOIR_SUCCESS;
		TRY(transfer_copy(ind));
		return transfer_copy(val); /* and this step once more */
	}
	if (ind_done && val_done) {
		sparse->step = then;
		return CHOIR_SUCCESS;
	}
	script_wait(turn);
	TRY(transfer_watch(ind, sparse->env.wake, NULL));
	return transfer_watch(val, sparse->env.wake, NULL);
}

choir_status script_plan(struct sparse *sparse, struct script_turn *turn, struct algo_in *in, const void *send,
                         uint64_t send_bytes, void *recv, uint64_t recv_bytes, sparse_step then)
{
	const struct algorithm *algorithm;

	in->layout = sparse->env.layout;
	in->me = sparse->env.me;
	in->slot_bytes = sparse->env.slot_bytes;
	in->message_bytes = sparse->env.message_bytes;
	in->send_direct = in->recv_direct = true;
	algorithm = algo_default(in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "sparse_allreduce: no algorithm for its %s on this comm",
		                 collective_name(in->collective));
	TRY(script_take_plan(sparse->env.plans, algorithm, in, &sparse->plan));
	turn->what = SCRIPT_PLAN;
	turn->plan = &sparse->plan->plan;
	turn->send = script_host((void *)send, send_bytes);
	turn->send.write = false;
	turn->recv = script_host(recv, recv_bytes);
	sparse->step = then;
	return CHOIR_SUCCESS;
}

choir_status script_gather_notes(struct sparse *sparse, struct script_turn *turn, sparse_step then)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = sizeof sparse->note };

	return script_plan(sparse, turn, &in, &sparse->note, sizeof sparse->note, sparse->notes,
	                   sizeof sparse->note * (uint64_t)sparse->env.layout->n, then);
}

const struct share_address *sparse_pairs_at(const struct sparse *sparse, int r)
{
	return &sparse->headers[r].pairs_at;
}

struct pairs sparse_own_pairs(const struct sparse *sparse)
{
	if (sparse->own_ptr != NULL)
		return block_pairs(sparse->own_ptr, sparse->own_form, sparse->own_count);
	return (struct pairs){ .ind = sparse->ind,
		               .rows = sparse->val,
		               .count = sparse->header.pairs,
		               .form = { .bytes = sparse->ind_bytes } };
}

struct pairs sparse_shared_pairs(const struct sparse *sparse, int r)
{
	const struct sparse_header *header = &sparse->headers[r];
	const void *block = header->pairs == 0 || r == sparse->env.me ? NULL : share_view_ptr(sparse->views[r]);

	if (r == sparse->env.me)
		return sparse_own_pairs(sparse);
	return block_pairs(block, index_form_of((struct index_range){ .lo = header->lo, .hi = header->hi }),
	                   header->pairs);
}

static choir_status open_one(struct sparse *sparse, int r, const struct share_address *address,
                             struct share_view **view_p)
{
	choir_status st = share_open(address, view_p);

	if (st == CHOIR_SUCCESS)
		return st;
	/* The failure is this rank's alone, unless a rank is dead. */
	sparse->failure_is_local &= st != CHOIR_PEER_DEAD;
	return error_prefix(st, st == CHOIR_PEER_DEAD ? "rank %d is dead, and its pairs cannot be read" : "rank %d", r);
}

choir_status sparse_open(struct sparse *sparse, struct share_view **views,
                         const struct share_address *(*at)(const struct sparse *, int))
{
	struct kept_error failure = { .status = CHOIR_SUCCESS };

	for (int r = 0; r < sparse->env.layout->n; r++) {
		choir_status one = CHOIR_SUCCESS;

		if (r != sparse->env.me && at(sparse, r)->nonce != 0)
			one = open_one(sparse, r, at(sparse, r), &views[r]);
		if (one == CHOIR_PEER_DEAD && failure.status != CHOIR_PEER_DEAD)
			error_keep(&failure, one); /* a dead rank is the worst, and fails the comm */
		error_keep_first(&failure, one);
	}
	return error_again(&failure);
}

void sparse_close(struct sparse *sparse, struct share_view **views)
{
	for (int r = 0; views != NULL && r < sparse->env.layout->n; r++) {
		share_close(views[r]);
		views[r] = NULL;
	}
}

choir_status sparse_table(struct sparse *sparse, uint64_t **table)
{
	size_t n = (size_t)sparse->env.layout->n;

	free(*table);
	*table = calloc(n, sizeof **table);
	return *table != NULL ? CHOIR_SUCCESS : error_no_memory("the counts of all ranks", n * sizeof **table);
}

static bool kernels_merge(const struct sparse *sparse, uint64_t pairs)
{
	return sparse->kernels && pairs <= COALESCE_KERNEL_MOST &&
	       (user_op_has_texts_alone(sparse->user) ||
	        coalesce_device_has_room(sparse->env.device, pairs, sparse->facts.width, sparse->wire_dtype));
}

/* Note [where lists are merged].  Lists that came are in host memory.  A merge on the host sends the result to the
 * device; one on the device sends the other ranks' lists there, and the result stays.  The result has at least as many
 * pairs as the longest list, so the device merges where the others have no more; with more ranks, or regions of lists,
 * the host does.  So what a rank moves is its coalesced list down, and no more than the result up.  Where the device
 * shares the host's memory, kernels merge everything. */
static bool crosses_bus(const struct sparse *sparse)
{
	if (user_op_has_texts_alone(sparse->user))
		return false;
	return choir_device_class(sparse->env.device) == CHOIR_CLASS_STAGE;
}

static choir_status merge(struct sparse *sparse, uint32_t n_lists, struct index_range range, struct index_form form,
                          bool final, bool kernels)
{
	struct coalesce_call todo = { .dtype = sparse->wire_dtype,
		                      .op = sparse->call.op,
		                      .width = sparse->facts.width,
		                      .final = final,
		                      .n_ranks = sparse->env.layout->n,
		                      .src = sparse->lists,
		                      .n_src = n_lists,
		                      .form = form,
		                      .range = range };
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < n_lists; i++)
		pairs += sparse->lists[i].pairs.count;
	kernels = kernels && kernels_merge(sparse, pairs);
	return coalesce_init(&sparse->job, &todo, kernels ? sparse->env.device : NULL);
}

choir_status sparse_merge_host(struct sparse *sparse, uint32_t n_lists, struct index_range range, bool final)
{
	return merge(sparse, n_lists, range, index_form_of(range), final, false);
}

choir_status sparse_merge_region(struct sparse *sparse, struct index_range range)
{
	return merge(sparse, (uint32_t)sparse->env.layout->n, range, index_form_of(range), true, !crosses_bus(sparse));
}

static choir_status merge_to_result(struct sparse *sparse, bool kernels)
{
	struct index_form form = { .bytes = sparse->ind_bytes };

	return merge(sparse, (uint32_t)sparse->env.layout->n, sparse->facts.range, form, true, kernels);
}

choir_status sparse_merge_all(struct sparse *sparse)
{
	struct coalesce_source *own = &sparse->lists[sparse->env.me];
	bool few = !crosses_bus(sparse) || sparse->facts.pairs - sparse->own_count <= sparse->facts.most,
	     kernels = few && kernels_merge(sparse, sparse->facts.pairs);

	if (kernels && sparse->own_ind.mem != NULL && own->pairs.count > 0) {
		own->pairs.form = sparse->own_form;
		own->ind_mem = sparse->own_ind.mem;
		own->val_mem = sparse->own_rows.mem;
	}
	return merge_to_result(sparse, kernels);
}

choir_status sparse_merge_on_device(struct sparse *sparse)
{
	return merge_to_result(sparse, true);
}

void sparse_set_imbalance(struct sparse *sparse)
{
	int n = sparse->env.layout->n;
	uint64_t most = 0, all = 0;

	for (int r = 0; r < n; r++) {
		most = sparse->notes[r].work > most ? sparse->notes[r].work : most;
		all += sparse->notes[r].work;
	}
	sparse->stats.imbalance = all == 0 ? 1 : (double)most * n / (double)all;
}
