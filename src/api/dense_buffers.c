/* SPDX-License-Identifier: MIT */
#include "api/dense_buffers.h"

#include "base/arithmetic.h"
#include "exec/commit.h"
#include "exec/gathered.h"
#include "exec/symmetric.h"

uint64_t dense_inner_off(const struct dense *d)
{
	if (d->block_off != NULL)
		return d->block_off[d->comm->rank];
	if (!collective_send_is_inner(d->collective) && !collective_recv_is_inner(d->collective))
		return 0;
	return (uint64_t)d->comm->rank * d->count * choir_dtype_bytes(d->dtype);
}

static choir_status check_overlap(const struct dense *d, struct algo_in *in)
{
	int64_t delta = 0, inner = (int64_t)dense_inner_off(d);
	bool same = false;

	if (!dev_overlap(d->send, d->send_bytes, d->recv, d->recv_bytes, &same, &delta))
		return CHOIR_SUCCESS;
	if (collective_send_is_inner(d->collective))
		delta = -delta;
	else if (d->collective == COLLECTIVE_REDUCE_SCATTER && same)
		inner = 0;
	if (delta != inner)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: send and recv overlap, but not in place (recv begins %lld byte%s %s send)",
		                 d->call, (long long)(delta < 0 ? -delta : delta), delta == 1 || delta == -1 ? "" : "s",
		                 delta < 0 ? "before" : "after");
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
static void note_lasting(choir_device *device, struct prepared *prepared, choir_buffer buffer, uint64_t bytes,
                         const struct dev_access *access)
{
	prepared->reusable &= bytes == 0 || prepared_lasts(device, buffer, access);
	prepared->reusable_if_retained &= bytes == 0 || prepared_lasts_if_kept(buffer);
}

/* Do blocks that lie apart leave bytes between them that a copy of the whole would write over? */
static bool has_gaps(const struct dense *d, uint64_t bytes)
{
	uint64_t sum = 0;

	for (int r = 0; d->block_off != NULL && r < d->comm->n; r++)
		sum += d->block_bytes[r];
	return d->block_off != NULL && collective_recvs_blocks(d->collective) && sum != bytes;
}

/* Note [shadows] in exec/shadow.c. */
static bool is_short(const struct dense *d, const struct dev_access *access)
{
	const choir_device *device = d->comm->device;
	bool maps = dev_needs_map(access);
	bool near = maps && choir_device_class(device) == CHOIR_CLASS_MAP;

	return (access->stage || maps) && d->become_script == NULL &&
	       access->bytes <= (near ? dev_short_map_bytes(device) : dev_short_bytes(device));
}

bool dense_buffers_lack_shadows(const choir_device *device, bool send_is_short, bool recv_is_short)
{
	return send_is_short != recv_is_short && dev_is_cpu(device);
}

static void take_shadows(const struct dense *d, struct bound *bound)
{
	bool sends = is_short(d, &bound->send), receives = is_short(d, &bound->recv),
	     both_stage = bound->send.stage && bound->recv.stage;

	if (both_stage && dense_buffers_lack_shadows(d->comm->device, sends, receives))
		return;
	receives = receives && !has_gaps(d, d->recv_bytes);
	if (bound->in.in_place && !(sends && receives))
		return;
	bound->send_shadow = sends;
	bound->recv_shadow = receives;
}

/* No kernel writes memory of a root that another queue accesses in this call. */
static bool lie_apart(const struct dense *d)
{
	struct dev_origin send, recv;

	return dev_origin(d->send, &send) && dev_origin(d->recv, &recv) && send.root != NULL && recv.root != NULL &&
	       send.root != recv.root;
}

static bool is_mem_on_device(const struct dev_access *access)
{
	return access->mem != NULL && dev_is_on_device(access);
}

/* Are the call's reductions left to a device with far memory? */
static bool may_reduce_there(const struct dense *d)
{
	const choir_device *device = d->comm->device;

	return d->op != CHOIR_OP_LOCAL && d->op != CHOIR_OP_PREMUL_SUM && (d->user == NULL || d->by_kernels) &&
	       dev_has_far_memory(device) && dev_reduce_where(device) != CHOIR_REDUCE_HOST;
}

bool dense_buffers_reduce_alone(const struct dense *d)
{
	return d->comm->n == 1 && collective_has(d->collective, TRAIT_REDUCES) && d->collective != COLLECTIVE_EXSCAN &&
	       may_reduce_there(d);
}

/* Note [own block] in algo/reduce_scatter_slots.c.  A rank that is alone reduces all it has there. */
static bool has_own_block(const struct dense *d, const struct bound *bound)
{
	bool scatters = d->collective == COLLECTIVE_REDUCE_SCATTER || d->collective == COLLECTIVE_REDUCE_SCATTERV;

	if (d->comm->n == 1)
		return dense_buffers_reduce_alone(d) && (lie_apart(d) || bound->send.mem == bound->recv.mem);
	return scatters && d->comm->n <= OWN_BLOCK_RANKS && may_reduce_there(d) && lie_apart(d);
}

/* Short calls have shadows, so their buffers are direct. */
static bool may_own_reduced(const struct dense *d, const struct bound *bound)
{
	return !bound->in.send_direct && !bound->in.recv_direct && is_mem_on_device(&bound->send) &&
	       is_mem_on_device(&bound->recv) && has_own_block(d, bound);
}

/* Where no kernel gives the host's bits, or it cannot be built, the host reduces; at the deadline that is not known
 * yet. */
static choir_status find_owns_reduced(const struct dense *d, struct bound *bound)
{
	choir_status st;

	if (!may_own_reduced(d, bound))
		return CHOIR_SUCCESS;
	st = reduce_kernel_warm(d->comm->device, d->dtype, d->op);
	bound->in.owns_reduced = st == CHOIR_SUCCESS;
	return st == CHOIR_TIMEOUT ? error_prefix(st, "%s", d->call) : CHOIR_SUCCESS;
}

static choir_status resolve_one(const struct dense *d, choir_buffer buffer, uint64_t bytes, bool write,
                                struct dev_access *out)
{
	choir_status st = dev_resolve(d->comm->device, buffer, bytes, write, out);

	return st == CHOIR_SUCCESS ? st : error_prefix(st, "%s", d->call);
}

static choir_status resolve(const struct dense *d, struct bound *bound, struct prepared *prepared)
{
	choir_device *device = d->comm->device;
	struct algo_in *in = &bound->in;

	TRY(resolve_one(d, d->send, d->send_bytes, false, &bound->send));
	TRY(resolve_one(d, d->recv, d->recv_bytes, !(in->in_place && d->collective == COLLECTIVE_BROADCAST),
	                &bound->recv));
	note_lasting(device, prepared, d->send, d->send_bytes, &bound->send);
	note_lasting(device, prepared, d->recv, d->recv_bytes, &bound->recv);
	take_shadows(d, bound);
	if (in->in_place) { /* one range holds the other: it alone is mapped */
		bool recv_is_inner = collective_recv_is_inner(d->collective);

		bound->recv_in_send = recv_is_inner && (dev_needs_map(&bound->send) || bound->send_shadow);
		bound->send_in_recv = !recv_is_inner && (dev_needs_map(&bound->recv) || bound->recv_shadow);
		bound->inner_off = in->in_place_off;
		bound->send.write |= bound->recv_in_send;
	}
	in->send_direct = !bound->send.stage || bound->send_shadow;
	in->recv_direct = !bound->recv.stage || bound->recv_shadow;
	in->owns_copied = !in->send_direct && !in->recv_direct && dev_copies_between(&bound->recv, &bound->send);
	return find_owns_reduced(d, bound);
}

/* Shorter segments are gathered and scattered where they go through slots: that costs less than a reduction each. */
enum { MEAN_SEGMENT_BYTES = 512 };

/* Host steps go from segment to segment; messages and kernels do not. */
static bool goes_through(const struct dense *d, const struct segments *segments)
{
	return segments->direct && !d->by_kernels && d->comm->layout.n_nodes == 1 &&
	       segments->items[segments->n].from >= segments->n * MEAN_SEGMENT_BYTES;
}

/* A gathered buffer lies apart from its segments, so the plan is not in place.  A broadcast's root in place writes
 * nothing. */
static choir_status gather_lists(const struct dense *d, struct bound *bound)
{
	choir_device *device = d->comm->device;
	bool writes = !(d->in_place && d->collective == COLLECTIVE_BROADCAST), sends, receives;

	TRY(gathered_fits(device, d->send_list, d->send_bytes, false, &sends));
	receives = sends;
	if (writes)
		TRY(gathered_fits(device, d->recv_list, d->recv_bytes, true, &receives));
	if (writes && (sends || receives))
		bound->in.in_place = false;
	if (sends) {
		bound->gathered = d->send_list;
		bound->send = dev_buffer_access(NULL, 0, d->send_bytes);
	}
	if (receives) {
		bound->scattered = writes ? d->recv_list : NULL;
		bound->recv = dev_buffer_access(NULL, 0, d->recv_bytes);
	}
	take_shadows(d, bound);
	return CHOIR_SUCCESS;
}

static choir_status take_lists(const struct dense *d, struct bound *bound)
{
	choir_status st;

	bound->lists = true;
	bound->in.lists = (uint32_t)min_u64(d->send_list->n, UINT32_MAX);
	bound->in.in_place = d->in_place;
	bound->in.in_place_off = d->in_place ? dense_inner_off(d) : 0;
	bound->send = bound->recv = (struct dev_access){ .direct = true };
	st = gather_lists(d, bound);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", d->call);
	if (!bound->send.stage)
		bound->send_list = *d->send_list;
	if (!bound->recv.stage)
		bound->recv_list = *d->recv_list;
	bound->in.send_direct = bound->send.stage ? bound->send_shadow : goes_through(d, d->send_list);
	bound->in.recv_direct = bound->recv.stage ? bound->recv_shadow : goes_through(d, d->recv_list);
	return CHOIR_SUCCESS;
}

void dense_buffers_part_lists(const struct dense *d, struct bound *bound)
{
	bound->in.in_place = d->in_place;
	bound->in.send_direct &= !bound->send.stage;
	bound->in.recv_direct &= !bound->recv.stage;
	bound->send = bound->recv = (struct dev_access){ .direct = true };
	bound->send_list = *d->send_list;
	bound->recv_list = *d->recv_list;
	bound->gathered = bound->scattered = NULL;
	bound->send_shadow = bound->recv_shadow = false;
}

choir_status dense_buffers_stage(struct dense *d, struct prepared *prepared)
{
	bool blocks = d->block_off != NULL && collective_recvs_blocks(d->collective);
	choir_buffer recv = d->recv;
	struct dev_access access;
	struct algo_in in = { 0 };
	uint64_t whole = 0;

	TRY(check_buffers(d, &in));
	if (d->collective == COLLECTIVE_BROADCAST && in.in_place) /* the root writes nothing */
		return CHOIR_SUCCESS;
	TRY(resolve_one(d, recv, d->recv_bytes, true, &access));
	note_lasting(d->comm->device, prepared, recv, d->recv_bytes, &access);
	TRY(commit_create(d->comm->device, blocks ? (size_t)d->comm->n : 1, commit_room(d->recv_bytes),
	                  &prepared->commit));
	prepared->reusable &= commit_is_short(prepared->commit);
	return commit_add_blocks(prepared->commit, recv, d->recv_bytes, blocks ? d->comm->n : 1,
	                         blocks ? d->block_off : &whole, blocks ? d->block_bytes : &d->recv_bytes, &d->recv);
}

choir_status dense_buffers_bind(const struct dense *d, struct bound *bound, struct prepared *prepared)
{
	TRY(check_buffers(d, &bound->in));
	if (d->send_list == NULL)
		return resolve(d, bound, prepared);
	return take_lists(d, bound);
}

/* --- the symmetric addresses, for plans whose peers read SEND or write RECV --- */

/* Of lists that the host steps through and whose segments are all within the peers' reach; in a slot there is room for
 * the addresses of both sides. */
static void find_list_addresses(const struct dense *d, struct bound *bound)
{
	bool reached = !d->by_kernels && bound->send_list.addresses != NULL && bound->recv_list.addresses != NULL;
	bool fits = 2 * bound->send_list.n * sizeof *bound->send_list.addresses <= d->comm->fallback_bytes;

	bound->send_address = bound->recv_address = reached && fits ? symmetric_address_of_list() : 0;
}

/* Peers must not read SEND where RECV is written over it meanwhile. */
static bool collides(const struct dense *d, const struct algo_in *in)
{
	return in->in_place &&
	       (d->collective == COLLECTIVE_ALLTOALL || (d->collective == COLLECTIVE_REDUCE_SCATTER &&
	                                                 in->in_place_off != (uint64_t)d->comm->rank * in->bytes));
}

static bool is_on_device(const struct segments *segments)
{
	bool all = true;

	for (size_t i = 0; i < segments->n && all; i++) /* NULL: this rank has no such buffers */
		all = segments->items[i].access == NULL || dev_is_on_device(segments->items[i].access);
	return all;
}

/* Not 0: the memory is on the device.  The run that offers it to peers says where. */
static uint64_t device_address(const struct dense *d, const struct bound *bound)
{
	if (bound->lists)
		return is_on_device(&bound->send_list) && is_on_device(&bound->recv_list);
	return dev_is_on_device(&bound->send) && dev_is_on_device(&bound->recv) && !collides(d, &bound->in);
}

void dense_buffers_find_addresses(const struct dense *d, struct bound *bound)
{
	bool peers_write = collective_has(d->collective, TRAIT_PEERS_WRITE);
	struct dev_access nothing = { 0 };

	if (bound->cached->plan.device) {
		bound->send_address = bound->recv_address = device_address(d, bound);
		return;
	}
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
