/* SPDX-License-Identifier: MIT */
#include "api/dense.h"

#include "api/local.h"
#include "exec/express.h"
#include "exec/symmetric.h"

#include <string.h>

choir_status dense_names(const struct dense *d)
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

static bool is_pair(const struct dense *d)
{
	return d->collective == COLLECTIVE_SEND || d->collective == COLLECTIVE_RECV;
}

/* Is RECV, where it overlaps SEND, the smaller one? */
static bool recv_is_inner(enum collective collective)
{
	return collective == COLLECTIVE_REDUCE_SCATTER || collective == COLLECTIVE_REDUCE_SCATTERV;
}

static bool takes_factor(const struct dense *d)
{
	return d->reduces && d->op == CHOIR_OP_PREMUL_SUM;
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
	choir_status st;
	bool same = false;

	if (d->lists != NULL)
		return CHOIR_SUCCESS;
	st = dev_range(device, "send", d->send, d->send_bytes, elem);
	if (st == CHOIR_SUCCESS)
		st = dev_range(device, "recv", d->recv, d->recv_bytes, elem);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", d->call);
	if (!dev_overlap(d->send, d->send_bytes, d->recv, d->recv_bytes, &same, &delta))
		return CHOIR_SUCCESS;
	if (d->block_off != NULL)
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
	in->slot_bytes = d->disagree != NULL ? d->comm->part_bytes : d->comm->slot_bytes;
	in->message_bytes = d->comm->message_bytes;
}

/* Of lists the host steps through, all of whose segments peers reach; in a slot there is room for both sides' places. */
static void place_lists(const struct dense *d, struct run *run)
{
	bool reached = !comm_by_kernels(d->comm) && run->bound.send_list.places != NULL && run->bound.recv_list.places != NULL;
	bool fits = 2 * run->bound.send_list.n * sizeof *run->bound.send_list.places <= d->comm->part_bytes;

	run->bound.send_place = run->bound.recv_place = reached && fits ? symmetric_place_of_list() : 0;
}

/* Peers may read SEND and write RECV in place, if that is where they find what they expect: not where one would be overwritten while the other is
 * still read. */
static void place_buffers(const struct dense *d, const struct algo_in *in, struct run *run)
{
	const struct choir_comm *comm = d->comm;
	bool writes_recv = d->collective == COLLECTIVE_ALLREDUCE || d->collective == COLLECTIVE_REDUCE;
	bool collides = in->in_place && (d->collective == COLLECTIVE_ALLTOALL ||
	                                 (d->collective == COLLECTIVE_REDUCE_SCATTER && in->in_place_off != (uint64_t)comm->rank * in->bytes));

	if (d->lists != NULL) {
		place_lists(d, run);
		return;
	}
	run->bound.send_place = symmetric_place(comm, &run->bound.send);
	run->bound.recv_place = symmetric_place(comm, &run->bound.recv);
	if (!writes_recv)
		run->bound.recv_place = run->bound.recv.direct ? symmetric_place(comm, &(struct dev_access){ 0 }) : 0;
	if (collides)
		run->bound.send_place = 0;
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

/* The run of the call before (exec/express.h) may have the plan already. */
static bool has_plan(const struct run *run, const choir_call *call, const struct algo_in *in)
{
	struct algo_in plain;

	if (run->bound.algorithm == NULL || call->options != NULL)
		return false;
	if (in->block_bytes == NULL)
		return memcmp(&run->bound.in, in, sizeof *in) == 0;
	plain = *in;
	plain.block_bytes = plain.block_off = plain.send_off = plain.recv_off = NULL; /* as in run->bound.in */
	return memcmp(&run->bound.in, &plain, sizeof plain) == 0 && cached_plan_same_lists(run->bound.cached, in);
}

static choir_status take_plan(const struct dense *d, const choir_call *call, const struct algo_in *in, struct run *run)
{
	const struct algorithm *algorithm;

	cached_plan_release(run->bound.cached);
	run->bound.cached = NULL;
	run->bound.algorithm = NULL;
	run->bound.in = *in;
	run->bound.in.block_bytes = run->bound.in.block_off = run->bound.in.send_off = run->bound.in.recv_off = NULL; /* the caller's; the plan keeps its own */
	if (d->reduces && d->op == CHOIR_OP_LOCAL) {
		run->event->algorithm = "local";
		return local_plan(in, &run->bound.cached);
	}
	TRY(choose(d, call, in, &algorithm));
	run->event->algorithm = algorithm->name;
	TRY(plan_cache_get(&d->comm->plans, algorithm, in, &run->bound.cached));
	run->bound.algorithm = call->options == NULL ? algorithm : NULL;
	return CHOIR_SUCCESS;
}

static choir_status resolve(const struct dense *d, struct algo_in *in, struct run *run)
{
	choir_device *device = d->comm->device;

	TRY(dev_resolve(device, d->send, d->send_bytes, false, &run->bound.send));
	TRY(dev_resolve(device, d->recv, d->recv_bytes, true, &run->bound.recv));
	if (in->in_place) { /* one range holds the other: it alone is mapped */
		run->bound.recv_in_send = recv_is_inner(d->collective) && dev_needs_map(&run->bound.send);
		run->bound.send_in_recv = !recv_is_inner(d->collective) && dev_needs_map(&run->bound.recv);
		run->bound.inner_off = in->in_place_off;
		run->bound.send.write |= run->bound.recv_in_send;
	}
	in->send_direct = !run->bound.send.stage;
	in->recv_direct = !run->bound.recv.stage;
	in->shared = symmetric_usual(d->comm);
	return CHOIR_SUCCESS;
}

/* Shorter segments are gathered and scattered where they go through slots: that costs less than a reduction each. */
enum { MEAN_SEGMENT_BYTES = 512 };

/* Host steps go from segment to segment; messages and kernels do not. */
static bool goes_through(const struct dense *d, const struct segments *segments)
{
	return segments->direct && !comm_by_kernels(d->comm) && d->comm->layout.n_nodes == 1 && d->send_bytes >= segments->n * MEAN_SEGMENT_BYTES;
}

static void take_lists(const struct dense *d, struct algo_in *in, struct run *run)
{
	run_take_lists(run, d->lists, &d->send_list, &d->recv_list);
	in->send_direct = goes_through(d, &d->send_list);
	in->recv_direct = goes_through(d, &d->recv_list);
	in->shared = symmetric_usual(d->comm);
	in->lists = true;
}

/* A plan that sends messages after all, out of buffers that are not one, is built again. */
static choir_status take_plan_for_lists(const struct dense *d, const choir_call *call, struct algo_in *in, struct run *run)
{
	TRY(take_plan(d, call, in, run));
	if (d->lists == NULL || !run->bound.cached->plan.messages || !(in->send_direct || in->recv_direct))
		return CHOIR_SUCCESS;
	in->send_direct = in->recv_direct = false;
	return take_plan(d, call, in, run);
}

static choir_status plan_run(struct dense *d, const choir_call *call, struct algo_in *in, struct run *run)
{
	if (d->lists != NULL)
		take_lists(d, in, run);
	else
		TRY(resolve(d, in, run));
	/* Slots want room in the cache, too, and so do others; where all fit it just, what is written past it is faster already (8 MB: 970 us instead of 1500). */
	in->stream = (d->send_bytes + d->recv_bytes) * (uint64_t)d->comm->layout.max_node_size > d->comm->cache_bytes / 2;
	if ((d->reduces && d->op == CHOIR_OP_LOCAL) || !has_plan(run, call, in))
		TRY(take_plan_for_lists(d, call, in, run));
	if (run->bound.cached->plan.peers)
		place_buffers(d, in, run);
	return CHOIR_SUCCESS;
}

/* Cut off if it is too long; what it is written to is zeroed. */
static void put_text(char *to, size_t bytes, const char *text)
{
	memcpy(to, text, strnlen(text, bytes - 1) + 1);
	to[bytes - 1] = '\0';
}

static uint64_t bits_of(double factor)
{
	uint64_t bits;

	memcpy(&bits, &factor, sizeof bits);
	return bits;
}

static void fill_record(const struct dense *d, struct run *run)
{
	struct call_record *record = &run->bound.record;

	record->collective = (uint8_t)(d->collective == COLLECTIVE_RECV ? COLLECTIVE_SEND : d->collective);
	record->dtype = (uint8_t)d->dtype;
	record->op = (uint8_t)(d->reduces ? d->op : 0);
	record->root = (d->rooted && !run->bound.pair) || d->of_list ? d->root : 0;
	record->flags = d->of_list ? RECORD_OF_LIST : 0;
	record->count = d->count;
	record->hash = takes_factor(d) ? d->hash ^ bits_of(run->bound.factor) : d->hash;
	put_text(record->algorithm, sizeof record->algorithm, d->asked != NULL ? d->asked : run->event->algorithm);
}

static choir_status prepare(struct dense *d, const choir_call *call, struct algo_in *in, struct run *run)
{
	put_text(run->name, sizeof run->name, call->name);
	if (call->deadline_ms > 0)
		run->deadline_ms = call->deadline_ms;
	run->bound.dtype = d->dtype;
	run->bound.op = d->op;
	run->bound.factor = call->factor;
	run->bound.pair = is_pair(d);
	run->bound.pair_sends = d->collective == COLLECTIVE_SEND;
	run->bound.pair_peer = d->root;
	run->bound.disagree = d->disagree;
	run->bound.disagree_ctx = d->disagree_ctx;
	if (!d->blocks && d->lists == NULL) { /* else the caller keeps them himself */
		TRY(run_keep(run, d->send_bytes > 0 ? d->send : choir_none()));
		TRY(run_keep(run, d->recv_bytes > 0 ? d->recv : choir_none()));
	}
	TRY(plan_run(d, call, in, run));
	run->plan = &run->bound.cached->plan;
	fill_record(d, run);
	return run_set_deps(run, call);
}

choir_status dense_check(struct dense *d, const choir_call *given, choir_call *call, struct algo_in *in)
{
	TRY(dense_names(d));
	TRY(call_read(d->call, given, takes_factor(d), call));
	TRY(measure(d));
	TRY(check_buffers(d, in));
	describe(d, in);
	return CHOIR_SUCCESS;
}

choir_status dense_algorithm(const struct dense *d, const choir_call *call, const struct algo_in *in)
{
	const struct algorithm *named;
	struct algo_in shared = *in;
	const char *why;

	TRY(call_algorithm(d->call, call, d->collective, &named));
	shared.shared = symmetric_usual(d->comm); /* whether these buffers are is seen at each start */
	why = named != NULL ? named->unfit(&shared) : NULL;
	return why == NULL ? CHOIR_SUCCESS : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", d->call, named->name, why);
}

choir_status dense_make(struct dense *d, const choir_call *call, struct algo_in *in, struct run **out_p)
{
	struct run *run;
	choir_status st;

	TRY(run_create(d->comm, &run));
	st = prepare(d, call, in, run);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	*out_p = run;
	return CHOIR_SUCCESS;
}

bool dense_express(const struct dense *d, const choir_call *call)
{
	enum { EXPRESS_BYTES = 1 << 20 };
	const struct choir_comm *comm = d->comm;
	bool near = is_pair(d) ? comm->pump != NULL && !pump_polled(comm->pump) : comm->layout.n_nodes == 1;

	return d->blocks && near && call->n_deps == 0 && call->n_cl_deps == 0 && call->after == NULL &&
	       d->send_bytes + d->recv_bytes <= EXPRESS_BYTES;
}

choir_status dense_on_the_spot(struct dense *d, const choir_call *call, struct algo_in *in, struct run *const *runs, int n)
{
	struct choir_comm *comm = d->comm;
	choir_status st = CHOIR_SUCCESS;
	uint64_t seq = comm->engine.next_seq;
	choir_event *event;

	for (int i = 0; i < n && st == CHOIR_SUCCESS; i++)
		st = prepare(&d[i], call, &in[i], runs[i]);
	atomic_store_explicit(&comm->last_user, this_thread(), memory_order_relaxed);
	if (st != CHOIR_SUCCESS) {
		express_drop(runs, n);
		return st;
	}
	for (int i = 0; i < n; i++)
		if (d[i].repeat != NULL)
			repeat_note(runs[i], d[i].repeat);
	st = express_end(runs, n, &event);
	return event == NULL ? st : call_finish(d->call, comm, event, is_pair(d), seq);
}

choir_status dense_go(struct dense *d, const choir_call *call, struct algo_in *in, choir_event **event_p)
{
	enum express_kind kind = express_kind_of(d->collective);
	struct run *run;

	d->blocks = event_p == NULL && !group_is_open();
	if (d->blocks)
		TRY(call_may_block(d->call, d->comm, is_pair(d)));
	if (dense_express(d, call) && express_begin(d->comm, &kind, 1, &run))
		return dense_on_the_spot(d, call, in, &run, 1);
	TRY(dense_make(d, call, in, &run));
	return call_start(d->call, run, event_p);
}

choir_status dense_first(struct dense *d, const choir_call *given, choir_event **event_p)
{
	struct algo_in in = { 0 };
	choir_call call;

	TRY(dense_check(d, given, &call, &in));
	return dense_go(d, &call, &in, event_p);
}

choir_status dense_start(struct dense *d, const choir_call *given, choir_event **event_p)
{
	struct repeat_call repeat;
	choir_status st;

	if (dense_again(d, given, event_p, &repeat, &st))
		return st;
	return dense_first(d, given, event_p);
}
