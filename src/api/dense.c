/* SPDX-License-Identifier: MIT */
/* The dense collectives: each fills in what it touches, one path checks, plans and starts it. */
#include "api/call.h"
#include "api/local.h"
#include "exec/symmetric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call, as all collectives are described to the common path. */
struct dense {
	const char *call;             /* "choir_allreduce" */
	enum collective collective;
	choir_comm *comm;
	choir_buffer send, recv;
	size_t count;                 /* elements, as the caller gave it */
	uint64_t send_blocks, recv_blocks; /* how many times count this rank's buffers hold; 0 = the buffer is not looked at */
	uint64_t send_bytes, recv_bytes;   /* filled by measure() */
	choir_dtype dtype;
	choir_op op;
	bool reduces;
	int root;                     /* or peer */
	bool rooted;
	int64_t inner_block;          /* in place: SEND may be this block of RECV, or RECV this block of SEND; -1 = same start only */
	uint64_t *block_bytes, *block_off; /* v-collectives */
	uint64_t hash;
};

static choir_status check_names(const struct dense *d)
{
	TRY(call_check_comm(d->call, d->comm));
	if (choir_dtype_bytes(d->dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", d->call, (int)d->dtype);
	if (d->reduces) {
		choir_status st = reduce_supported(d->dtype, d->op);

		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "%s", d->call);
	}
	if (d->rooted && (d->root < 0 || d->root >= d->comm->n))
		return error_set(CHOIR_ARGUMENT, "%s: there is no rank %d in a comm of %d", d->call, d->root, d->comm->n);
	return CHOIR_SUCCESS;
}

/* Bytes of each buffer; counts near 2^63 are refused here. */
static choir_status measure(struct dense *d)
{
	uint64_t elem = choir_dtype_bytes(d->dtype), bytes, most;

	if (__builtin_mul_overflow((uint64_t)d->count, elem, &bytes) || __builtin_mul_overflow(bytes, (uint64_t)d->comm->n, &most) ||
	    most > INT64_MAX)
		return error_set(CHOIR_ARGUMENT, "%s: %zu elements of %s on %d ranks are more than 2^63 bytes", d->call, d->count,
		                 choir_dtype_name(d->dtype), d->comm->n);
	if (d->block_bytes == NULL) {
		d->send_bytes = bytes * d->send_blocks;
		d->recv_bytes = bytes * d->recv_blocks;
	}
	return CHOIR_SUCCESS;
}

static choir_status check_buffers(struct dense *d, struct algo_in *in)
{
	choir_device *device = d->comm->device;
	uint64_t elem = choir_dtype_bytes(d->dtype);
	int64_t delta = 0, inner = d->inner_block >= 0 ? d->inner_block * (int64_t)(d->count * elem) : 0;
	choir_status st = dev_range(device, "send", d->send, d->send_bytes, elem);
	bool same = false;

	if (st == CHOIR_SUCCESS)
		st = dev_range(device, "recv", d->recv, d->recv_bytes, elem);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", d->call);
	if (!dev_overlap(d->send, d->send_bytes, d->recv, d->recv_bytes, &same, &delta))
		return CHOIR_SUCCESS;
	if (d->collective == COLLECTIVE_ALLGATHERV)
		inner = (int64_t)d->block_off[d->comm->rank];
	/* allgather: send lies in recv; reduce_scatter: recv lies in send */
	if (d->collective == COLLECTIVE_ALLGATHER || d->collective == COLLECTIVE_ALLGATHERV)
		delta = -delta;
	else if (d->collective == COLLECTIVE_REDUCE_SCATTER && same)
		inner = 0;
	if (delta != inner)
		return error_set(CHOIR_ARGUMENT, "%s: send and recv overlap, but not in place (recv begins %lld bytes %s send)", d->call,
		                 (long long)(delta < 0 ? -delta : delta), delta < 0 ? "before" : "after");
	in->in_place = true;
	in->in_place_off = (uint64_t)inner;
	return CHOIR_SUCCESS;
}

static void describe(const struct dense *d, struct algo_in *in)
{
	in->layout = &d->comm->layout;
	in->me = d->comm->rank;
	in->collective = d->collective;
	in->elem_bytes = choir_dtype_bytes(d->dtype);
	in->bytes = d->count * in->elem_bytes;
	in->block_bytes = d->block_bytes;
	in->block_off = d->block_off;
	in->root = d->root;
	in->final_op = d->reduces && reduce_has_final(d->op);
	in->slot_bytes = d->comm->slot_bytes;
	in->message_bytes = d->comm->message_bytes;
}

/* Peers may read SEND and write RECV in place, if that is where they find what they expect: not where one would be overwritten while the other is still read. */
static void place_buffers(const struct dense *d, const struct algo_in *in, struct run *run)
{
	const struct choir_comm *comm = d->comm;
	bool writes_recv = d->collective == COLLECTIVE_ALLREDUCE || d->collective == COLLECTIVE_REDUCE;
	bool collides = in->in_place && (d->collective == COLLECTIVE_ALLTOALL ||
	                                 (d->collective == COLLECTIVE_REDUCE_SCATTER && in->in_place_off != (uint64_t)comm->rank * in->bytes));

	run->in = *in;
	run->send_place = symmetric_place(comm, &run->send);
	run->recv_place = symmetric_place(comm, &run->recv);
	if (!writes_recv)
		run->recv_place = run->recv.direct ? symmetric_place(comm, &(struct dev_access){ 0 }) : 0;
	if (collides)
		run->send_place = 0;
}

static choir_status choose(const struct dense *d, const choir_call *call, const struct algo_in *in, const struct algorithm **out_p)
{
	const char *why;

	TRY(call_algorithm(d->call, call, d->collective, out_p));
	if (*out_p == NULL)
		*out_p = rules_choose(&d->comm->rules, in);
	if (*out_p == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s: no algorithm fits", d->call);
	why = (*out_p)->unfit(in);
	return why == NULL ? CHOIR_SUCCESS : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", d->call, (*out_p)->name, why);
}

static choir_status plan_run(struct dense *d, const choir_call *call, struct algo_in *in, struct run *run)
{
	choir_device *device = d->comm->device;
	const struct algorithm *algorithm;

	TRY(dev_resolve(device, d->send, d->send_bytes, false, &run->send));
	TRY(dev_resolve(device, d->recv, d->recv_bytes, true, &run->recv));
	if (in->in_place) { /* one range holds the other: it alone is mapped */
		run->recv_in_send = d->collective == COLLECTIVE_REDUCE_SCATTER && dev_needs_map(&run->send);
		run->send_in_recv = d->collective != COLLECTIVE_REDUCE_SCATTER && dev_needs_map(&run->recv);
		run->inner_off = in->in_place_off;
		run->send.write |= run->recv_in_send;
	}
	in->shared = d->block_bytes == NULL && symmetric_usual(d->comm);
	in->stream = (d->send_bytes + d->recv_bytes) * (uint64_t)d->comm->layout.max_node_size > d->comm->cache_bytes;
	in->send_direct = !run->send.stage;
	in->recv_direct = !run->recv.stage;
	if (d->reduces && d->op == CHOIR_OP_LOCAL) {
		run->event->algorithm = "local";
		return local_plan(in, &run->cached);
	}
	TRY(choose(d, call, in, &algorithm));
	run->event->algorithm = algorithm->name;
	TRY(plan_cache_get(&d->comm->plans, algorithm, in, &run->cached));
	if (run->cached->plan.peers)
		place_buffers(d, in, run);
	return CHOIR_SUCCESS;
}

static void fill_record(const struct dense *d, struct run *run)
{
	struct call_record *record = &run->record;

	record->collective = (uint8_t)(d->collective == COLLECTIVE_RECV ? COLLECTIVE_SEND : d->collective);
	record->dtype = (uint8_t)d->dtype;
	record->op = (uint8_t)(d->reduces ? d->op : 0);
	record->root = d->rooted && !run->pair ? d->root : 0;
	record->count = d->count;
	record->hash = d->hash;
	snprintf(record->algorithm, sizeof record->algorithm, "%s", run->event->algorithm);
}

static choir_status prepare(struct dense *d, const choir_call *call, struct algo_in *in, struct run *run)
{
	snprintf(run->name, sizeof run->name, "%s", call->name);
	if (call->deadline_ms > 0)
		run->deadline_ms = call->deadline_ms;
	run->dtype = d->dtype;
	run->op = d->op;
	run->pair = d->collective == COLLECTIVE_SEND || d->collective == COLLECTIVE_RECV;
	run->pair_sends = d->collective == COLLECTIVE_SEND;
	run->pair_peer = d->root;
	TRY(run_keep(run, d->send_bytes > 0 ? d->send : choir_none()));
	TRY(run_keep(run, d->recv_bytes > 0 ? d->recv : choir_none()));
	TRY(plan_run(d, call, in, run));
	run->plan = &run->cached->plan;
	fill_record(d, run);
	return run_set_deps(run, call);
}

static choir_status start(struct dense *d, const choir_call *given, choir_event **event_p)
{
	struct algo_in in = { 0 };
	struct run *run;
	choir_call call;
	choir_status st;
	bool pair = d->collective == COLLECTIVE_SEND || d->collective == COLLECTIVE_RECV;

	TRY(check_names(d));
	TRY(call_read(d->call, given, &call));
	TRY(measure(d));
	TRY(check_buffers(d, &in));
	if (event_p == NULL && !group_is_open())
		TRY(call_may_block(d->call, d->comm, pair));
	describe(d, &in);
	TRY(run_create(d->comm, &run));
	st = prepare(d, &call, &in, run);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	return call_start(d->call, run, event_p);
}

choir_status choir_allreduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_allreduce", .collective = COLLECTIVE_ALLREDUCE, .comm = comm, .send = send, .recv = recv,
		           .count = count, .send_blocks = 1, .recv_blocks = 1, .dtype = dtype, .op = op, .reduces = true, .inner_block = -1 };

	return start(&d, call, event_p);
}

choir_status choir_reduce_scatter(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t recv_count, choir_dtype dtype, choir_op op,
                                  const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_reduce_scatter", .collective = COLLECTIVE_REDUCE_SCATTER, .comm = comm, .send = send, .recv = recv,
		           .count = recv_count, .send_blocks = (uint64_t)choir_comm_size(comm), .recv_blocks = 1, .dtype = dtype, .op = op,
		           .reduces = true, .inner_block = choir_comm_rank(comm) };

	return start(&d, call, event_p);
}

choir_status choir_allgather(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t send_count, choir_dtype dtype,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_allgather", .collective = COLLECTIVE_ALLGATHER, .comm = comm, .send = send, .recv = recv,
		           .count = send_count, .send_blocks = 1, .recv_blocks = (uint64_t)choir_comm_size(comm), .dtype = dtype,
		           .inner_block = choir_comm_rank(comm) };

	return start(&d, call, event_p);
}

static int by_offset(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Blocks must not overlap: the result would depend on who came last. */
static choir_status check_blocks(const struct dense *d)
{
	size_t n = (size_t)d->comm->n;
	uint64_t (*spans)[2] = malloc(n * sizeof *spans);
	choir_status st = CHOIR_SUCCESS;

	if (spans == NULL)
		return error_no_memory("blocks", n * sizeof *spans);
	for (size_t r = 0; r < n; r++) {
		spans[r][0] = d->block_off[r];
		spans[r][1] = d->block_bytes[r];
	}
	qsort(spans, n, sizeof *spans, by_offset);
	for (size_t r = 0, end = 0; r < n && st == CHOIR_SUCCESS; r++) {
		if (spans[r][1] == 0)
			continue;
		if (spans[r][0] < end)
			st = error_set(CHOIR_ARGUMENT, "%s: the blocks at byte %llu overlap", d->call, (unsigned long long)spans[r][0]);
		end = spans[r][0] + spans[r][1];
	}
	free(spans);
	return st;
}

/* Fills block_bytes and block_off, and the agreed hash of the counts. */
static choir_status read_blocks(struct dense *d, size_t send_count, const size_t *counts, const size_t *displacements)
{
	uint64_t elem = choir_dtype_bytes(d->dtype), packed = 0, end = 0;

	d->hash = 14695981039346656037u;
	for (int r = 0; r < d->comm->n; r++) {
		uint64_t *bytes = &d->block_bytes[r], *off = &d->block_off[r], last;

		if (__builtin_mul_overflow((uint64_t)counts[r], elem, bytes) ||
		    __builtin_mul_overflow(displacements != NULL ? (uint64_t)displacements[r] : 0, elem, off) ||
		    __builtin_add_overflow(packed, *bytes, &packed) || __builtin_add_overflow(*off, *bytes, &last) || packed > INT64_MAX ||
		    last > INT64_MAX)
			return error_set(CHOIR_ARGUMENT, "%s: the block of rank %d (%zu elements) ends beyond 2^63 bytes", d->call, r, counts[r]);
		if (displacements == NULL) {
			*off = packed - *bytes;
			last = packed;
		}
		if (*bytes > 0 && last > end)
			end = last;
		d->hash = (d->hash ^ counts[r]) * 1099511628211u;
	}
	if (send_count != counts[d->comm->rank])
		return error_set(CHOIR_ARGUMENT, "%s: rank %d sends %zu elements, but recv_counts says %zu", d->call, d->comm->rank, send_count,
		                 counts[d->comm->rank]);
	d->send_bytes = d->block_bytes[d->comm->rank];
	d->recv_bytes = end;
	d->count = packed / elem;
	return check_blocks(d);
}

choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv, const size_t *recv_counts,
                              const size_t *displacements, choir_dtype dtype, const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_allgatherv", .collective = COLLECTIVE_ALLGATHERV, .comm = comm, .send = send, .recv = recv,
		           .dtype = dtype, .inner_block = 0 };
	choir_status st;
	size_t n;

	TRY(check_names(&d));
	if (recv_counts == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_allgatherv: recv_counts is null");
	n = (size_t)comm->n;
	d.block_bytes = calloc(2 * n, sizeof *d.block_bytes);
	if (d.block_bytes == NULL)
		return error_no_memory("blocks", 2 * n * sizeof *d.block_bytes);
	d.block_off = d.block_bytes + n;
	st = read_blocks(&d, send_count, recv_counts, displacements);
	if (st == CHOIR_SUCCESS)
		st = start(&d, call, event_p);
	free(d.block_bytes);
	return st;
}

choir_status choir_broadcast(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, int root,
                             const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_broadcast", .collective = COLLECTIVE_BROADCAST, .comm = comm, .send = send, .recv = recv,
		           .count = count, .send_blocks = choir_comm_rank(comm) == root, .recv_blocks = 1, .dtype = dtype, .root = root,
		           .rooted = true, .inner_block = -1 };

	return start(&d, call, event_p);
}

choir_status choir_reduce(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count, choir_dtype dtype, choir_op op, int root,
                          const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_reduce", .collective = COLLECTIVE_REDUCE, .comm = comm, .send = send, .recv = recv, .count = count,
		           .send_blocks = 1, .recv_blocks = choir_comm_rank(comm) == root, .dtype = dtype, .op = op, .reduces = true,
		           .root = root, .rooted = true, .inner_block = -1 };

	return start(&d, call, event_p);
}

choir_status choir_barrier(choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct dense d = { .call = "choir_barrier", .collective = COLLECTIVE_BARRIER, .comm = comm, .dtype = CHOIR_U8, .inner_block = -1 };

	return start(&d, call, event_p);
}

choir_status choir_send(choir_comm *comm, choir_buffer send, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                        choir_event **event_p)
{
	struct dense d = { .call = "choir_send", .collective = COLLECTIVE_SEND, .comm = comm, .send = send, .count = count, .send_blocks = 1,
		           .dtype = dtype, .root = peer, .rooted = true, .inner_block = -1 };

	return start(&d, call, event_p);
}

choir_status choir_recv(choir_comm *comm, choir_buffer recv, size_t count, choir_dtype dtype, int peer, const choir_call *call,
                        choir_event **event_p)
{
	struct dense d = { .call = "choir_recv", .collective = COLLECTIVE_RECV, .comm = comm, .recv = recv, .count = count, .recv_blocks = 1,
		           .dtype = dtype, .root = peer, .rooted = true, .inner_block = -1 };

	return start(&d, call, event_p);
}
