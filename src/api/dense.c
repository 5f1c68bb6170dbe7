/* SPDX-License-Identifier: MIT */
#include "api/dense.h"

#include "base/plural.h"

#include "api/dense_buffers.h"
#include "api/dense_plan.h"
#include "api/options.h"
#include "exec/steps.h"
#include "exec/record.h"
#include "exec/submit.h"

/* --- what the arguments say --- */

choir_status dense_op_fits(const char *call, enum collective collective, choir_op op)
{
	if (!collective_has(collective, TRAIT_PREFIX))
		return CHOIR_SUCCESS;
	if (reduce_has_final(op) || (op == CHOIR_OP_LOCAL && collective == COLLECTIVE_EXSCAN))
		return error_set(CHOIR_UNSUPPORTED, "%s: the operator %s is not defined for %s", call,
		                 choir_op_name(op), collective_name(collective));
	return CHOIR_SUCCESS;
}

choir_status dense_names(const struct dense *d)
{
	if (choir_dtype_bytes(d->dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", d->call, (int)d->dtype);
	if (collective_has(d->collective, TRAIT_REDUCES)) {
		choir_status st = reduce_supported(d->dtype, d->op);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "%s", d->call);
		TRY(dense_op_fits(d->call, d->collective, d->op));
	}
	if (collective_has(d->collective, TRAIT_ROOTED) && (d->root < 0 || d->root >= d->comm->n))
		return error_set(CHOIR_ARGUMENT, "%s: there is no rank %d in a comm of %d", d->call, d->root,
		                 d->comm->n);
	return CHOIR_SUCCESS;
}

/* The bytes of a whole of count elements on all ranks. */
static choir_status measure(const struct dense *d, uint64_t *bytes_p)
{
	uint64_t most;

	if (__builtin_mul_overflow((uint64_t)d->count, (uint64_t)choir_dtype_bytes(d->dtype), bytes_p) ||
	    __builtin_mul_overflow(*bytes_p, (uint64_t)d->comm->n, &most) || most > INT64_MAX)
		return error_set(CHOIR_ARGUMENT, "%s: %zu elements of %s on %d rank%s are more than 2^63 bytes",
		                 d->call, d->count, choir_dtype_name(d->dtype), d->comm->n, plural(d->comm->n));
	return CHOIR_SUCCESS;
}

void dense_take_own_block(struct dense *d)
{
	bool is_root = collective_has(d->collective, TRAIT_ROOTED) && d->comm->rank == d->root;
	choir_buffer *inner, outer;

	if (!is_root || collective_has(d->collective, TRAIT_REDUCES | TRAIT_PAIR))
		return;
	inner = collective_send_is_inner(d->collective) ? &d->send : &d->recv;
	outer = collective_send_is_inner(d->collective) ? d->recv : d->send;
	if (inner->kind != CHOIR_BUFFER_NONE || outer.kind == CHOIR_BUFFER_NONE)
		return;
	*inner = outer;
	inner->offset_bytes += dense_inner_off(d);
}

choir_status dense_of(choir_comm *comm, const struct call_key *key, const struct call_form *form, struct dense *out)
{
	const struct collective_traits *traits = &collective_table[form->collective];
	bool is_root = comm->rank == key->peer;
	uint64_t bytes;

	*out = (struct dense){ .call = form->name,
		               .collective = form->collective,
		               .comm = comm,
		               .send = key->send,
		               .recv = key->recv,
		               .count = key->count,
		               .dtype = key->dtype,
		               .op = key->op,
		               .factor = key->factor,
		               .root = key->peer,
		               .tag = (uint32_t)key->tag };
	TRY(dense_names(out));
	TRY(measure(out, &bytes));
	out->send_bytes = bytes * collective_holds(traits->send, comm->n, is_root);
	out->recv_bytes = bytes * collective_holds(traits->recv, comm->n, is_root);
	if (form->collective == COLLECTIVE_EXSCAN && comm->rank == 0)
		out->recv_bytes = 0;
	dense_take_own_block(out);
	return CHOIR_SUCCESS;
}

static bool is_pair(const struct dense *d)
{
	return collective_has(d->collective, TRAIT_PAIR);
}

/* --- the record --- */

static void fill_record(const struct dense *d, struct bound *bound)
{
	struct call_record *record = &bound->record;
	bool rooted;

	record->collective = (uint8_t)(d->collective == COLLECTIVE_RECV ? COLLECTIVE_SEND : d->collective);
	record->dtype = (uint8_t)d->dtype;
	rooted = collective_has(d->collective, TRAIT_ROOTED) && !bound->pair;
	if (d->of_list)
		record->n_tensors = d->n_tensors;
	else
		record->root = rooted ? d->root : 0;
	record->flags = (d->of_list ? RECORD_OF_LIST : 0) | (d->order_ranks ? RECORD_ORDER_RANKS : 0);
	record->count = d->count;
	record->hash = options_hash(d->hash, &bound->in);
	if (collective_has(d->collective, TRAIT_REDUCES))
		record_set_op(record, d->op);
	record_set_algorithm(record, d->asked != NULL ? d->asked : bound->cached->plan.algorithm);
	bound->record_hash = record_hash(record);
}

/* --- the part --- */

/* Of longer calls the states of a run are a small part. */
enum { IN_ORDER_BYTES = 64 * 1024, INLINE_BYTES = 1 << 20 };
_Static_assert((int)IN_ORDER_BYTES <= ARENA_ITEM_BYTES, "a message of one piece is one item");

static bool is_short_step(const struct bound *bound, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_COPY:
	case PLAN_PUBLISH:
	case PLAN_AWAIT:
		return step->len <= STEP_PIECE_BYTES;
	case PLAN_REDUCE:
		return step->len <= STEP_PIECE_BYTES && !bound->by_kernels;
	default: /* messages through the arena */
		return bound->pair ? bound->cached->plan.n_steps == 1 : bound->in.layout->n_nodes == 1;
	}
}

static bool is_in_order(const struct bound *bound)
{
	const struct plan *plan = &bound->cached->plan;
	bool fits = (!bound->pair || plan->n_steps == 1) && bound->in.bytes <= IN_ORDER_BYTES &&
	            (bound->send.direct || bound->send_shadow) && (bound->recv.direct || bound->recv_shadow) &&
	            !bound->lists && !plan->device;

	for (uint32_t i = 0; i < plan->n_steps && fits; i++)
		fits = is_short_step(bound, &plan->steps[i]);
	return fits;
}

bool dense_may_inline(const struct choir_comm *comm, bool pair, uint64_t bytes)
{
	bool near = pair ? comm->messenger != NULL && !messenger_polled(comm->messenger) : comm->layout.n_nodes == 1;

	return near && bytes <= INLINE_BYTES && (pair || comm->keyed == NULL);
}

/* The prepared call holds the operator; the runs that hold the call hold it too. */
static choir_status take_user_op(struct dense *d, struct prepared *prepared)
{
	if (prepared->user == NULL)
		TRY(user_op_find(d->call, d->op, &prepared->user));
	d->user = prepared->user;
	return CHOIR_SUCCESS;
}

/* Where its REDUCEs run.  A text that does not compile is found before anything is sent. */
static choir_status place_reductions(struct dense *d, struct prepared *prepared)
{
	choir_status st = CHOIR_SUCCESS;
	bool functions, kernels, own = collective_has(d->collective, TRAIT_REDUCES) && user_op_is(d->op);

	d->by_kernels = comm_by_kernels(d->comm);
	if (!own) {
		d->by_kernels = d->by_kernels && dense_plan_kernels_can(d);
		return CHOIR_SUCCESS;
	}
	TRY(take_user_op(d, prepared));
	functions = d->user->config.fold != NULL;
	kernels = !functions || dense_plan_kernels_can(d);
	d->by_kernels = kernels && (d->by_kernels || !functions);
	if (kernels && (d->by_kernels || d->comm->device_bytes > 0))
		st = reduce_kernel_warm(d->comm->device, d->dtype, d->op);
	return st == CHOIR_SUCCESS ? st : error_prefix(st, "%s", d->call);
}

choir_status dense_part(struct dense *d, const choir_call *call, const struct dense_options *options,
                        struct prepared *prepared, size_t i)
{
	struct part *out = &prepared->parts[i];
	struct bound *bound = &out->bound;

	if (collective_has(d->collective, TRAIT_REDUCES))
		TRY(options_order(d->call, d->comm, call, &d->order_ranks));
	TRY(place_reductions(d, prepared));
	dense_plan_describe(d, &bound->in);
	TRY(dense_buffers_bind(d, bound, prepared));
	bound->dtype = d->dtype;
	bound->op = d->op;
	bound->factor = d->factor;
	bound->user = d->user;
	bound->by_kernels = d->by_kernels;
	bound->pair = is_pair(d);
	bound->pair_sends = d->collective == COLLECTIVE_SEND;
	bound->pair_peer = d->root;
	if (bound->pair) {
		bound->pair_key = tagged_key(d->tag);
		TRY(submit_counter(d->comm, d->root, d->tag, bound->pair_sends, &bound->pair_count));
	}
	bound->become_script = d->become_script;
	TRY(dense_plan_choose(d, options, bound));
	fill_record(d, bound);
	out->send = d->send_bytes > 0 ? d->send : choir_none();
	out->recv = d->recv_bytes > 0 ? d->recv : choir_none();
	if (is_in_order(bound))
		out->in_order = bound->send_shadow || bound->recv_shadow ? IN_ORDER_SHADOWS : IN_ORDER;
	return CHOIR_SUCCESS;
}

choir_status dense_prepare_part(struct dense *d, const struct call_key *key, const choir_call *call,
                                struct prepared **out_p)
{
	struct dense_options options;
	struct prepared *prepared;
	choir_status st = CHOIR_SUCCESS;

	TRY(options_read(d->call, d->comm, call, d->collective, &options));
	TRY(prepared_create(d->comm, key, 1, &prepared));
	if (options.atomic && d->recv_bytes > 0)
		st = dense_buffers_stage(d, prepared);
	if (st == CHOIR_SUCCESS)
		st = dense_part(d, call, &options, prepared, 0);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	prepared->may_inline =
	    prepared->commit == NULL && dense_may_inline(d->comm, is_pair(d), d->send_bytes + d->recv_bytes);
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

choir_status dense_prepare(choir_comm *comm, const struct call_key *key, const choir_call *call,
                           struct prepared **out_p)
{
	struct dense d;

	TRY(dense_of(comm, key, key->form, &d));
	return dense_prepare_part(&d, key, call, out_p);
}
