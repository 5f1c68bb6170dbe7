/* SPDX-License-Identifier: MIT */
#include "api/dense.h"

#include "api/local.h"
#include "exec/steps.h"
#include "exec/symmetric.h"

#include <string.h>

/* --- what the arguments say --- */

choir_status dense_names(const struct dense *d)
{
	if (choir_dtype_bytes(d->dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", d->call, (int)d->dtype);
	if (d->reduces) {
		choir_status st = reduce_supported(d->dtype, d->op);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "%s", d->call);
	}
	if (d->rooted && (d->root < 0 || d->root >= d->comm->n))
		return error_set(CHOIR_ARGUMENT, "%s: there is no rank %d in a comm of %d", d->call, d->root,
		                 d->comm->n);
	return CHOIR_SUCCESS;
}

choir_status dense_measure(const struct dense *d, uint64_t *bytes_p)
{
	uint64_t most;

	if (__builtin_mul_overflow((uint64_t)d->count, (uint64_t)choir_dtype_bytes(d->dtype), bytes_p) ||
	    __builtin_mul_overflow(*bytes_p, (uint64_t)d->comm->n, &most) || most > INT64_MAX)
		return error_set(CHOIR_ARGUMENT, "%s: %zu elements of %s on %d ranks are more than 2^63 bytes", d->call,
		                 d->count, choir_dtype_name(d->dtype), d->comm->n);
	return CHOIR_SUCCESS;
}

static uint64_t n_blocks(const struct dense *d, enum blocks blocks)
{
	switch (blocks) {
	case BLOCKS_ONE: return 1;
	case BLOCKS_ALL: return (uint64_t)d->comm->n;
	case BLOCKS_AT_ROOT: return d->comm->rank == d->root;
	default: return 0;
	}
}

/* The root of a broadcast has all it would receive: without a recv it is in place. */
static bool gives_alone(const struct dense *d)
{
	return d->collective == COLLECTIVE_BROADCAST && d->comm->rank == d->root && d->recv.kind == CHOIR_BUFFER_NONE;
}

choir_status dense_of(choir_comm *comm, const struct call_key *key, const struct call_form *form, struct dense *out)
{
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
		               .reduces = form->reduces,
		               .rooted = form->rooted,
		               .root = key->peer,
		               .holds_mine = form->holds_mine };
	TRY(dense_names(out));
	TRY(dense_measure(out, &bytes));
	out->send_bytes = bytes * n_blocks(out, form->send);
	out->recv_bytes = bytes * n_blocks(out, form->recv);
	if (gives_alone(out))
		out->recv = out->send;
	return CHOIR_SUCCESS;
}

/* --- the buffers --- */

static bool is_pair(const struct dense *d)
{
	return d->collective == COLLECTIVE_SEND || d->collective == COLLECTIVE_RECV;
}

/* Is RECV, where it overlaps SEND, the shorter one? */
static bool recv_is_inner(enum collective collective)
{
	return collective == COLLECTIVE_REDUCE_SCATTER || collective == COLLECTIVE_REDUCE_SCATTERV;
}

/* In place: where the shorter buffer begins in the longer one. */
static uint64_t inner_off(const struct dense *d)
{
	if (d->block_off != NULL)
		return d->block_off[d->comm->rank];
	return d->holds_mine ? (uint64_t)d->comm->rank * d->count * choir_dtype_bytes(d->dtype) : 0;
}

static choir_status check_overlap(const struct dense *d, struct algo_in *in)
{
	int64_t delta = 0, inner = (int64_t)inner_off(d);
	bool same = false;

	if (!dev_overlap(d->send, d->send_bytes, d->recv, d->recv_bytes, &same, &delta))
		return CHOIR_SUCCESS;
	/* allgather: send lies in recv; reduce_scatter: recv lies in send */
	if (d->collective == COLLECTIVE_ALLGATHER || d->collective == COLLECTIVE_ALLGATHERV)
		delta = -delta;
	else if (d->collective == COLLECTIVE_REDUCE_SCATTER && same)
		inner = 0;
	if (delta != inner)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: send and recv overlap, but not in place (recv begins %lld bytes %s send)",
		                 d->call, (long long)(delta < 0 ? -delta : delta), delta < 0 ? "before" : "after");
	in->in_place = true;
	in->in_place_off = (uint64_t)inner;
	return CHOIR_SUCCESS;
}

static choir_status check_buffers(const struct dense *d, struct algo_in *in)
{
	choir_device *device = d->comm->device;
	uint64_t elem = choir_dtype_bytes(d->dtype);
	choir_status st;

	if (d->send_list != NULL)
		return CHOIR_SUCCESS;
	st = dev_range(device, "send", d->send, d->send_bytes, elem);
	if (st == CHOIR_SUCCESS)
		st = dev_range(device, "recv", d->recv, d->recv_bytes, elem);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", d->call);
	return check_overlap(d, in);
}

/* Note [what may change] in exec/prepared.c. */
static void note_lasting(struct prepared *prepared, choir_buffer buffer, uint64_t bytes,
                         const struct dev_access *access)
{
	bool host = bytes == 0 || buffer.kind == CHOIR_BUFFER_HOST, mem = buffer.kind == CHOIR_BUFFER_MEM;

	prepared->reusable &= host || (mem && access->direct);
	prepared->reusable_if_retained &= host || mem;
}

static choir_status resolve(const struct dense *d, struct bound *bound, struct prepared *prepared)
{
	choir_device *device = d->comm->device;
	struct algo_in *in = &bound->in;

	TRY(dev_resolve(device, d->send, d->send_bytes, false, &bound->send));
	TRY(dev_resolve(device, d->recv, d->recv_bytes, !(in->in_place && d->collective == COLLECTIVE_BROADCAST),
	                &bound->recv));
	note_lasting(prepared, d->send, d->send_bytes, &bound->send);
	note_lasting(prepared, d->recv, d->recv_bytes, &bound->recv);
	if (in->in_place) { /* one range holds the other: it alone is mapped */
		bound->recv_in_send = recv_is_inner(d->collective) && dev_needs_map(&bound->send);
		bound->send_in_recv = !recv_is_inner(d->collective) && dev_needs_map(&bound->recv);
		bound->inner_off = in->in_place_off;
		bound->send.write |= bound->recv_in_send;
	}
	in->send_direct = !bound->send.stage;
	in->recv_direct = !bound->recv.stage;
	return CHOIR_SUCCESS;
}

/* Shorter segments are gathered and scattered where they go through slots: that costs less than a reduction each. */
enum { MEAN_SEGMENT_BYTES = 512 };

/* Host steps go from segment to segment; messages and kernels do not. */
static bool goes_through(const struct dense *d, const struct segments *segments)
{
	return segments->direct && !comm_by_kernels(d->comm) && d->comm->layout.n_nodes == 1 &&
	       d->send_bytes >= segments->n * MEAN_SEGMENT_BYTES;
}

static void take_lists(const struct dense *d, struct bound *bound)
{
	bound->lists = bound->in.lists = true;
	bound->send_list = *d->send_list;
	bound->recv_list = *d->recv_list;
	bound->send = bound->recv = (struct dev_access){ .direct = true };
	bound->in.send_direct = goes_through(d, d->send_list);
	bound->in.recv_direct = goes_through(d, d->recv_list);
}

/* --- the symmetric addresses, for plans whose peers read SEND or write RECV --- */

/* Of lists that the host steps through and whose segments are all within the peers' reach; in a slot there is room for
 * the addresses of both sides. */
static void find_list_addresses(const struct dense *d, struct bound *bound)
{
	bool reached = !comm_by_kernels(d->comm) && bound->send_list.places != NULL && bound->recv_list.places != NULL;
	bool fits = 2 * bound->send_list.n * sizeof *bound->send_list.places <= d->comm->part_bytes;

	bound->send_address = bound->recv_address = reached && fits ? symmetric_address_of_list() : 0;
}

/* Peers must not read SEND where RECV is written over it meanwhile. */
static bool collides(const struct dense *d, const struct algo_in *in)
{
	return in->in_place &&
	       (d->collective == COLLECTIVE_ALLTOALL || (d->collective == COLLECTIVE_REDUCE_SCATTER &&
	                                                 in->in_place_off != (uint64_t)d->comm->rank * in->bytes));
}

static void find_addresses(const struct dense *d, struct bound *bound)
{
	bool peers_write = d->collective == COLLECTIVE_ALLREDUCE || d->collective == COLLECTIVE_REDUCE;
	struct dev_access nothing = { 0 };

	if (bound->lists) {
		find_list_addresses(d, bound);
		return;
	}
	bound->send_address = collides(d, &bound->in) ? 0 : symmetric_address(d->comm, &bound->send);
	if (peers_write)
		bound->recv_address = symmetric_address(d->comm, &bound->recv);
	else
		bound->recv_address = bound->recv.direct ? symmetric_address(d->comm, &nothing) : 0;
}

/* --- the plan --- */

/* premul_sum: each rank's factor is its own, so peers cannot take values out of its SEND. */
static bool scales(const struct dense *d)
{
	return d->reduces && d->op == CHOIR_OP_PREMUL_SUM;
}

static void describe(const struct dense *d, struct algo_in *in)
{
	struct choir_comm *comm = d->comm;

	*in = (struct algo_in){ .layout = &comm->layout,
		                .me = comm->rank,
		                .collective = d->collective,
		                .elem_bytes = choir_dtype_bytes(d->dtype),
		                .root = d->root,
		                .final_op = d->reduces && reduce_has_final(d->op),
		                .block_bytes = d->block_bytes,
		                .block_off = d->block_off,
		                .send_off = d->send_off,
		                .recv_off = d->recv_off,
		                .shared = symmetric_allows_direct(comm) && !scales(d),
		                .scaled = scales(d),
		                .slot_bytes = d->become_script != NULL ? comm->part_bytes : comm->slot_bytes,
		                .message_bytes = comm->message_bytes };
	in->bytes = d->collective == COLLECTIVE_ALLTOALLV ? d->mean_bytes : d->count * in->elem_bytes;
}

static choir_status choose(const struct dense *d, const choir_call *call, const struct algo_in *in,
                           const struct algorithm **out_p)
{
	const char *why;

	TRY(call_algorithm(d->call, call, d->collective, out_p));
	if (*out_p == NULL)
		*out_p = rules_choose(&d->comm->rules, in);
	if (*out_p == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s: no algorithm fits", d->call);
	why = (*out_p)->unfit(in);
	return why == NULL ? CHOIR_SUCCESS
	                   : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", d->call, (*out_p)->name, why);
}

static choir_status take_plan(const struct dense *d, const choir_call *call, struct bound *bound)
{
	const struct algorithm *algorithm;

	cached_plan_release(bound->cached);
	bound->cached = NULL;
	if (d->reduces && d->op == CHOIR_OP_LOCAL)
		return local_plan(&bound->in, &bound->cached);
	TRY(choose(d, call, &bound->in, &algorithm));
	return plan_cache_get(&d->comm->plans, algorithm, &bound->in, &bound->cached);
}

/* A plan that sends messages after all, out of buffers that are not one, is built again. */
static choir_status plan_part(const struct dense *d, const choir_call *call, struct bound *bound)
{
	struct algo_in *in = &bound->in;

	/* Slots want room in the cache, too: where all fit it just, non-temporal stores are faster already. */
	in->stream =
	    (d->send_bytes + d->recv_bytes) * (uint64_t)d->comm->layout.max_node_size > d->comm->cache_bytes / 2;
	TRY(take_plan(d, call, bound));
	if (bound->lists && bound->cached->plan.messages && (in->send_direct || in->recv_direct)) {
		in->send_direct = in->recv_direct = false;
		TRY(take_plan(d, call, bound));
	}
	cached_plan_lists(bound->cached, in);
	if (bound->cached->plan.peers)
		find_addresses(d, bound);
	return CHOIR_SUCCESS;
}

/* --- the record --- */

static void fill_record(const struct dense *d, struct bound *bound)
{
	struct call_record *record = &bound->record;
	const char *algorithm = d->asked != NULL ? d->asked : bound->cached->plan.algorithm;

	record->collective = (uint8_t)(d->collective == COLLECTIVE_RECV ? COLLECTIVE_SEND : d->collective);
	record->dtype = (uint8_t)d->dtype;
	record->op = (uint8_t)(d->reduces ? d->op : 0);
	record->root = d->of_list ? d->n_tensors : d->rooted && !bound->pair ? d->root : 0;
	record->flags = d->of_list ? RECORD_OF_LIST : 0;
	record->count = d->count;
	record->hash = d->hash;
	memcpy(record->algorithm, algorithm, strnlen(algorithm, sizeof record->algorithm - 1));
	bound->record_hash = record_hash(record);
}

/* --- the part --- */

/* Of longer calls the states of a run are a small part. */
enum { IN_ORDER_BYTES = 64 * 1024, INLINE_BYTES = 1 << 20 };
_Static_assert((int)IN_ORDER_BYTES <= ARENA_ITEM_BYTES, "a message of one piece is one item");

static bool is_short_step(const struct choir_comm *comm, const struct bound *bound, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_COPY:
	case PLAN_PUBLISH:
	case PLAN_AWAIT:
		return step->len <= STEP_PIECE_BYTES;
	case PLAN_REDUCE:
		return step->len <= STEP_PIECE_BYTES && !comm_by_kernels(comm);
	default:
		return bound->pair && bound->cached->plan.n_steps == 1;
	}
}

static bool is_in_order(const struct choir_comm *comm, const struct bound *bound)
{
	const struct plan *plan = &bound->cached->plan;
	bool fits = (!bound->pair || plan->n_steps == 1) && bound->in.bytes <= IN_ORDER_BYTES && bound->send.direct &&
	            bound->recv.direct && !bound->lists;

	for (uint32_t i = 0; i < plan->n_steps && fits; i++)
		fits = is_short_step(comm, bound, &plan->steps[i]);
	return fits;
}

bool dense_is_inline(const struct choir_comm *comm, bool pair, uint64_t bytes)
{
	bool near = pair ? comm->pump != NULL && !pump_polled(comm->pump) : comm->layout.n_nodes == 1;

	return near && bytes <= INLINE_BYTES;
}

choir_status dense_part(const struct dense *d, const choir_call *call, struct prepared *prepared, size_t i)
{
	struct part *out = &prepared->parts[i];
	struct bound *bound = &out->bound;

	describe(d, &bound->in);
	TRY(check_buffers(d, &bound->in));
	if (d->send_list != NULL)
		take_lists(d, bound);
	else
		TRY(resolve(d, bound, prepared));
	bound->dtype = d->dtype;
	bound->op = d->op;
	bound->factor = d->factor;
	bound->pair = is_pair(d);
	bound->pair_sends = d->collective == COLLECTIVE_SEND;
	bound->pair_peer = d->root;
	bound->become_script = d->become_script;
	TRY(plan_part(d, call, bound));
	fill_record(d, bound);
	out->send = d->send_bytes > 0 ? d->send : choir_none();
	out->recv = d->recv_bytes > 0 ? d->recv : choir_none();
	out->in_order = is_in_order(d->comm, bound);
	return CHOIR_SUCCESS;
}

choir_status dense_prepare_part(const struct dense *d, const struct call_key *key, const choir_call *call,
                                struct prepared **out_p)
{
	struct prepared *prepared;
	choir_status st;

	TRY(prepared_create(d->comm, d->call, key, 1, &prepared));
	st = dense_part(d, call, prepared, 0);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	prepared->is_inline = dense_is_inline(d->comm, is_pair(d), d->send_bytes + d->recv_bytes);
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
