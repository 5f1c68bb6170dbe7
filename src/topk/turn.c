/* SPDX-License-Identifier: MIT */
/* The parts that the exchanges share: plans, numbers and lists of all ranks. */
#include "topk/algorithm.h"
#include "topk/wire.h"

#include "sparse/block.h"

#include <string.h>

choir_status topk_plan(struct topk_run *run, struct script_turn *turn, struct algo_in *in, const void *send,
                       uint64_t send_bytes, void *recv, uint64_t recv_bytes, topk_step then)
{
	const struct algorithm *algorithm;

	in->layout = run->env.layout;
	in->me = run->env.me;
	in->slot_bytes = run->env.slot_bytes;
	in->message_bytes = run->env.message_bytes;
	in->send_direct = in->recv_direct = true;
	if (run->env.order_ranks && in->collective == COLLECTIVE_ALLREDUCE)
		in->fold_order = PLAN_ORDER_RANKS; /* the sums are f32 or f64 */
	algorithm = algo_default(in);
	if (algorithm == NULL)
		return error_set(CHOIR_UNSUPPORTED, "no algorithm for the %s on this comm",
		                 collective_name(in->collective));
	TRY(script_take_plan(run->env.plans, algorithm, in, &run->plan));
	turn->what = SCRIPT_PLAN;
	turn->plan = &run->plan->plan;
	turn->send = script_host((void *)send, send_bytes);
	turn->send.write = false;
	turn->recv = script_host(recv, recv_bytes);
	run->step = then;
	return CHOIR_SUCCESS;
}

choir_status topk_share(struct topk_run *run, struct script_turn *turn, const uint64_t *mine, uint64_t n_each,
                        topk_step then)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHER, .elem_bytes = 8, .bytes = n_each * 8 };

	return topk_plan(run, turn, &in, mine, in.bytes, run->numbers, in.bytes * (uint64_t)run->env.layout->n, then);
}

static choir_status allgatherv(struct topk_run *run, struct script_turn *turn, struct pool_block *to, topk_step then)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLGATHERV,
		              .elem_bytes = BLOCK_ALIGN,
		              .block_bytes = run->block_bytes };
	uint64_t total = 0;

	for (int r = 0; r < run->env.layout->n; r++)
		total += run->block_bytes[r];
	in.bytes = total;
	pool_give(to);
	TRY(pool_take(to, total, "the pairs of all ranks"));
	return topk_plan(run, turn, &in, run->out.ptr, run->block_bytes[run->env.me], to->ptr, total, then);
}

choir_status topk_widen(struct topk_run *run, struct pairs *lists, int n)
{
	const struct topk_types *types = &run->types;
	unsigned char *at;
	uint64_t total = 0;

	if (!wire_is_narrow(types))
		return CHOIR_SUCCESS;
	for (int i = 0; i < n; i++)
		total += lists[i].count;
	pool_give(&run->wide);
	TRY(pool_take(&run->wide, total * types->elem_bytes, "the values that came"));
	at = run->wide.ptr;
	for (int i = 0; i < n; i++) {
		if (lists[i].count == 0)
			continue;
		wire_read(types, at, lists[i].rows, lists[i].count);
		lists[i].rows = at;
		at += lists[i].count * types->elem_bytes;
	}
	return CHOIR_SUCCESS;
}

static choir_status gathered(struct topk_run *run, struct script_turn *turn)
{
	const unsigned char *at = run->in.ptr;

	for (int r = 0; r < run->env.layout->n; r++) {
		run->lists[r] = block_pairs(at, run->types.form, run->counts[r]);
		at += run->block_bytes[r];
	}
	run->step = run->then;
	(void)turn;
	return topk_widen(run, run->lists, run->env.layout->n);
}

static choir_status gathered_apart(struct topk_run *run, struct script_turn *turn)
{
	const unsigned char *ind = run->in.ptr, *val = run->in_values.ptr;

	for (int r = 0; r < run->env.layout->n; r++) {
		uint64_t n = run->counts[r];

		run->lists[r] = (struct pairs){ .ind = ind, .rows = val, .count = n, .form = run->types.form };
		ind += block_round(n * run->types.form.bytes);
		val += block_round(n * run->types.wire_bytes);
	}
	run->step = run->then;
	(void)turn;
	return topk_widen(run, run->lists, run->env.layout->n);
}

/* Room in run->out for a part of my pairs, of which each rank gathers so many bytes a pair. */
static choir_status make_part(struct topk_run *run, uint64_t elem_bytes)
{
	for (int r = 0; r < run->env.layout->n; r++)
		run->block_bytes[r] = block_round(run->counts[r] * elem_bytes);
	pool_give(&run->out);
	return pool_take(&run->out, run->block_bytes[run->env.me], "pairs to send");
}

static choir_status gather_values(struct topk_run *run, struct script_turn *turn)
{
	TRY(make_part(run, run->types.wire_bytes));
	wire_write(&run->types, run->out.ptr, run->gather_mine.rows, run->counts[run->env.me]);
	return allgatherv(run, turn, &run->in_values, gathered_apart);
}

static choir_status gather_indices(struct topk_run *run, struct script_turn *turn)
{
	uint64_t bytes = run->counts[run->env.me] * run->types.form.bytes;

	TRY(make_part(run, run->types.form.bytes));
	if (bytes > 0)
		memcpy(run->out.ptr, run->gather_mine.ind, bytes);
	return allgatherv(run, turn, &run->in, gather_values);
}

choir_status topk_gather(struct topk_run *run, struct script_turn *turn, struct pairs mine, const uint64_t *counts,
                         bool apart, topk_step then)
{
	int n = run->env.layout->n;

	for (int r = 0; r < n; r++) {
		run->counts[r] = counts[r];
		run->stats.pairs_received += r != run->env.me ? counts[r] : 0;
		run->block_bytes[r] = block_bytes(run->types.form, counts[r], run->types.wire_bytes);
	}
	run->then = then;
	run->gather_mine = mine;
	if (apart)
		return gather_indices(run, turn);
	pool_give(&run->out);
	TRY(pool_take(&run->out, run->block_bytes[run->env.me], "pairs to send"));
	wire_write_block(&run->types, run->out.ptr, &mine);
	return allgatherv(run, turn, &run->in, gathered);
}

static choir_status exchanged(struct topk_run *run, struct script_turn *turn)
{
	int n = run->env.layout->n, me = run->env.me;
	const unsigned char *at = run->in.ptr;

	for (int s = 0; s < n; s++) {
		run->lists[s] = block_pairs(at, run->types.form, run->matrix[s * n + me]);
		at += run->block_bytes[s * n + me];
	}
	run->step = run->then;
	(void)turn;
	return topk_widen(run, run->lists, n);
}

choir_status topk_alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send_bytes, void *recv,
                            uint64_t recv_bytes, topk_step then)
{
	struct algo_in in = { .collective = COLLECTIVE_ALLTOALLV,
		              .elem_bytes = BLOCK_ALIGN,
		              .block_bytes = run->block_bytes };

	return topk_plan(run, turn, &in, run->out.ptr, send_bytes, recv, recv_bytes, then);
}

/* All that comes, to run->in. */
static choir_status alltoallv(struct topk_run *run, struct script_turn *turn, uint64_t send, topk_step then)
{
	int n = run->env.layout->n;
	uint64_t recv = 0;

	for (int s = 0; s < n; s++)
		recv += run->block_bytes[s * n + run->env.me];
	pool_give(&run->in);
	TRY(pool_take(&run->in, recv, "pairs of other ranks"));
	return topk_alltoallv(run, turn, send, run->in.ptr, recv, then);
}

choir_status topk_exchange(struct topk_run *run, struct script_turn *turn, const struct pairs *to, topk_step then)
{
	int n = run->env.layout->n, me = run->env.me;
	uint64_t send = 0;
	unsigned char *at;

	for (int s = 0; s < n; s++) {
		for (int d = 0; d < n; d++)
			run->block_bytes[s * n + d] =
			    block_bytes(run->types.form, run->matrix[s * n + d], run->types.wire_bytes);
		run->stats.pairs_received += s != me ? run->matrix[s * n + me] : 0;
	}
	for (int d = 0; d < n; d++)
		send += run->block_bytes[me * n + d];
	pool_give(&run->out);
	TRY(pool_take(&run->out, send, "pairs to send"));
	at = run->out.ptr;
	for (int d = 0; d < n; d++) {
		wire_write_block(&run->types, at, &to[d]);
		at += run->block_bytes[me * n + d];
	}
	run->then = then;
	return alltoallv(run, turn, send, exchanged);
}

choir_status topk_send_fixed(struct topk_run *run, struct script_turn *turn, uint64_t block_bytes, topk_step then)
{
	int n = run->env.layout->n;
	uint64_t send = 0;

	for (int i = 0; i < n * n; i++)
		run->block_bytes[i] = run->matrix[i] * block_bytes;
	for (int d = 0; d < n; d++)
		send += run->block_bytes[run->env.me * n + d];
	return alltoallv(run, turn, send, then);
}

uint64_t topk_fixed_bytes(const struct topk_run *run, uint64_t room)
{
	return BLOCK_ALIGN + block_bytes(run->types.form, room, run->types.wire_bytes);
}

void topk_fixed_write(const struct topk_run *run, const struct pairs *list, uint64_t room, void *to)
{
	unsigned char *at = to;

	memset(at, 0, BLOCK_ALIGN);
	memcpy(at, &list->count, sizeof list->count);
	at += BLOCK_ALIGN;
	if (list->count == 0)
		return;
	index_convert(at, run->types.form, list->ind, list->form, list->count);
	wire_write(&run->types, at + block_rows_off(run->types.form, room), list->rows, list->count);
}

struct pairs topk_fixed_read(const struct topk_run *run, uint64_t room, const void *from)
{
	const unsigned char *at = from;
	struct pairs list = block_pairs(at + BLOCK_ALIGN, run->types.form, room);

	memcpy(&list.count, at, sizeof list.count);
	return list;
}

choir_status topk_round_part(struct topk_run *run, struct topk_list *list, uint64_t from, uint64_t end)
{
	struct topk_list lost = { .count = 0 };
	choir_status st;

	if (!wire_is_narrow(&run->types) || from == end)
		return CHOIR_SUCCESS;
	TRY(wire_round(&run->types, list, from, end, &lost));
	if (run->algorithm->returns) {
		list_free(&run->lost_sums);
		run->lost_sums = lost;
		return CHOIR_SUCCESS;
	}
	st = run->on->add(run, &lost);
	list_free(&lost);
	return st;
}

choir_status topk_round_sums(struct topk_run *run, struct topk_list *list)
{
	return topk_round_part(run, list, 0, list->count);
}

void topk_hold_sum(struct topk_run *run)
{
	list_free(&run->held);
	run->held = run->total;
	run->total = (struct topk_list){ .count = 0 };
}

choir_status topk_join(struct topk_run *run, struct topk_list *out)
{
	const struct topk_types *types = &run->types;
	uint64_t total = 0;

	for (int r = 0; r < run->env.layout->n; r++)
		total += run->lists[r].count;
	TRY(list_take(out, types, total));
	for (int r = 0; r < run->env.layout->n; r++) {
		const struct pairs *from = &run->lists[r];

		if (from->count == 0)
			continue;
		memcpy((unsigned char *)out->ind.ptr + out->count * types->form.bytes, from->ind,
		       from->count * types->form.bytes);
		memcpy((unsigned char *)out->val.ptr + out->count * types->elem_bytes, from->rows,
		       from->count * types->elem_bytes);
		out->count += from->count;
	}
	return CHOIR_SUCCESS;
}
