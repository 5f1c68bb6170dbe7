/* SPDX-License-Identifier: MIT */
/* choir_alltoallv: its arguments, and the start of its script.
 *
 * Note [agreed counts].  Most programs make the same exchange again and again.  So a comm keeps the counts of all ranks from its last alltoallv, and
 * a rank whose own are still the same proposes them: the hash of them all stands in the call's record, where a rank that does not has 0.  It goes on
 * with the plan for them as if it were any dense collective's.  Before a rank of that plan reads a peer's bytes it has waited for all ranks and
 * compared all records, so if one differs then all of them find that, and all become scripts, which gather the counts anew. */
#include "api/alltoallv.h"

#include "api/agreed.h"
#include "api/dense.h"
#include "exec/express.h"
#include "exec/symmetric.h"

#include <stdio.h>

static const char name[] = "choir_alltoallv";

/* One call while its arguments are looked at. */
struct request {
	choir_comm *comm;
	choir_buffer send_buffer, recv_buffer;
	const size_t *send_counts, *send_displacements, *recv_counts, *recv_displacements;
	struct vector send, recv; /* read from those: by a call that repeats the one before it only where others do not */
	choir_dtype dtype;
	const struct algorithm *forced;
};

static choir_status check_buffers(const struct request *r)
{
	uint64_t elem = choir_dtype_bytes(r->dtype);
	choir_status st = dev_range(r->comm->device, "send", r->send_buffer, r->send.extent, elem);

	if (st == CHOIR_SUCCESS)
		st = dev_range(r->comm->device, "recv", r->recv_buffer, r->recv.extent, elem);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", name);
	if (dev_overlap(r->send_buffer, r->send.extent, r->recv_buffer, r->recv.extent, NULL, NULL))
		return error_set(CHOIR_ARGUMENT, "%s: send and recv overlap", name);
	return vector_apart(name, r->comm->n, &r->recv);
}

/* Whether the named algorithm can run on this layout; whether the lengths suit it, all ranks will find out together. */
static choir_status check_algorithm(struct request *r, const choir_call *call)
{
	struct choir_comm *comm = r->comm;
	struct algo_in in = { .layout = &comm->layout, .me = comm->rank, .collective = COLLECTIVE_ALLTOALLV, .slot_bytes = comm->part_bytes,
		              .elem_bytes = choir_dtype_bytes(r->dtype), .message_bytes = comm->message_bytes, .shared = symmetric_usual(comm) };
	const char *why;

	TRY(call_algorithm(name, call, COLLECTIVE_ALLTOALLV, &r->forced));
	why = r->forced != NULL ? r->forced->unfit(&in) : NULL;
	return why == NULL ? CHOIR_SUCCESS : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", name, r->forced->name, why);
}

static void ended(struct run *run)
{
	const struct algorithm *algorithm = alltoallv_algorithm(run->script_state);

	alltoallv_let_go(run->script_state); /* before the event says that it is over */
	run->event->algorithm = algorithm != NULL ? algorithm->name : "";
	if (run->status == CHOIR_SUCCESS && run->comm->layout.n_nodes == 1)
		agreed_keep(run->comm, algorithm, alltoallv_matrix(run->script_state));
}

static choir_status read_vectors(struct request *r)
{
	uint64_t elem = choir_dtype_bytes(r->dtype);

	if (r->recv.bytes != NULL)
		return CHOIR_SUCCESS;
	TRY(vector_read(name, "send_counts", r->comm->n, elem, r->send_counts, r->send_displacements, &r->send));
	return vector_read(name, "recv_counts", r->comm->n, elem, r->recv_counts, r->recv_displacements, &r->recv);
}

static choir_status make_script(struct run *run, const struct request *r)
{
	struct choir_comm *comm = run->comm;
	struct script_env env = { .layout = &comm->layout, .me = comm->rank, .device = comm->device, .slot_bytes = comm->part_bytes,
		                  .message_bytes = comm->message_bytes, .ring = comm_ring_self };
	struct alltoallv_call script = { .elem_bytes = choir_dtype_bytes(r->dtype), .send = &r->send, .recv = &r->recv, .forced = r->forced,
		                         .rules = &comm->rules };

	TRY(dev_resolve(comm->device, r->send_buffer, r->send.extent, false, &script.send_access));
	TRY(dev_resolve(comm->device, r->recv_buffer, r->recv.extent, true, &script.recv_access));
	TRY(alltoallv_create(&env, &script, &run->script, &run->script_state));
	run->ended = ended;
	return CHOIR_SUCCESS;
}

/* Of a blocking call: its request is still there. */
static choir_status become_script(struct run *run)
{
	struct request *r = run->bound.disagree_ctx;

	TRY(read_vectors(r));
	return make_script(run, r);
}

static const char *asked(const struct request *r)
{
	return r->forced != NULL ? r->forced->name : "auto";
}

static choir_status prepare(struct run *run, const struct request *r, const choir_call *call)
{
	snprintf(run->name, sizeof run->name, "%s", call->name);
	if (call->deadline_ms > 0)
		run->deadline_ms = call->deadline_ms;
	run->bound.dtype = r->dtype;
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_ALLTOALLV, .dtype = (uint8_t)r->dtype };
	snprintf(run->bound.record.algorithm, sizeof run->bound.record.algorithm, "%s", asked(r));
	run->bound.disagree = become_script; /* which it is already: others may propose counts */
	TRY(run_keep(run, r->send.extent > 0 ? r->send_buffer : choir_none()));
	TRY(run_keep(run, r->recv.extent > 0 ? r->recv_buffer : choir_none()));
	TRY(make_script(run, r));
	return run_set_deps(run, call);
}

/* What it is where the counts of all ranks are known. */
static struct dense dense_of(struct request *r)
{
	return (struct dense){ .call = name, .collective = COLLECTIVE_ALLTOALLV, .comm = r->comm, .send = r->send_buffer, .recv = r->recv_buffer,
		               .dtype = r->dtype, .inner_block = -1, .disagree = become_script, .disagree_ctx = r,
		               .counts = { r->send_counts, r->send_displacements, r->recv_counts, r->recv_displacements } };
}

static choir_status propose(struct request *r, struct dense *d, const choir_call *call, const struct agreed *agreed)
{
	static const enum express_kind kind = EXPRESS_COLLECTIVE;
	struct choir_comm *comm = r->comm;
	struct algo_in in = { .layout = &comm->layout, .me = comm->rank, .collective = COLLECTIVE_ALLTOALLV,
		              .elem_bytes = choir_dtype_bytes(r->dtype), .bytes = agreed->mean, .block_bytes = agreed->matrix,
		              .send_off = agreed->off, .recv_off = r->recv.off, .slot_bytes = comm->part_bytes,
		              .message_bytes = comm->message_bytes };
	struct run *run;

	d->send_bytes = r->send.extent;
	d->recv_bytes = r->recv.extent;
	d->hash = agreed->hash;
	d->asked = asked(r);
	d->blocks = true;
	if (dense_express(d, call) && express_begin(comm, &kind, 1, &run))
		return dense_on_the_spot(d, call, &in, &run, 1);
	TRY(dense_make(d, call, &in, &run));
	return call_start(name, run, NULL);
}

static bool is_direct(const struct request *r)
{
	struct dev_access send, recv;

	return dev_resolve(r->comm->device, r->send_buffer, r->send.extent, false, &send) == CHOIR_SUCCESS &&
	       dev_resolve(r->comm->device, r->recv_buffer, r->recv.extent, true, &recv) == CHOIR_SUCCESS && send.direct && recv.direct;
}

/* *done: the counts were those that had been agreed on, and it is over. */
static choir_status start_agreed(struct request *r, struct dense *d, const choir_call *call, bool *done)
{
	struct agreed *agreed = agreed_take(r->comm);
	choir_status st = CHOIR_SUCCESS;

	*done = agreed != NULL && agreed_is(agreed, r->comm, r->send.bytes, r->send.off, r->recv.bytes) && is_direct(r);
	if (*done)
		st = propose(r, d, call, agreed);
	agreed_give(r->comm, agreed);
	return st;
}

static choir_status first(struct request *r, struct dense *d, const choir_call *given, choir_event **event_p)
{
	struct run *run;
	choir_call call;
	choir_status st;
	bool done = false;

	TRY(call_check_comm(name, r->comm));
	if (choir_dtype_bytes(r->dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", name, (int)r->dtype);
	TRY(read_vectors(r));
	TRY(call_read(name, given, false, &call));
	TRY(check_buffers(r));
	TRY(check_algorithm(r, &call));
	if (event_p == NULL && !group_is_open()) {
		TRY(call_may_block(name, r->comm, false));
		TRY(start_agreed(r, d, &call, &done));
	}
	if (done)
		return CHOIR_SUCCESS;
	TRY(run_create(r->comm, &run));
	st = prepare(run, r, &call);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	return call_start(name, run, event_p);
}

choir_status choir_alltoallv(choir_comm *comm, choir_buffer send, const size_t *send_counts, const size_t *send_displacements,
                             choir_buffer recv, const size_t *recv_counts, const size_t *recv_displacements, choir_dtype dtype,
                             const choir_call *call, choir_event **event_p)
{
	struct request r; /* what is large in it is not zeroed */
	struct dense d;
	struct repeat_call repeat;
	choir_status st;

	r.comm = comm;
	r.send_buffer = send;
	r.recv_buffer = recv;
	r.send_counts = send_counts;
	r.send_displacements = send_displacements;
	r.recv_counts = recv_counts;
	r.recv_displacements = recv_displacements;
	r.dtype = dtype;
	r.forced = NULL;
	r.send.bytes = r.recv.bytes = NULL;
	d = dense_of(&r);
	if (!dense_again(&d, call, event_p, &repeat, &st))
		st = first(&r, &d, call, event_p);
	vector_fini(&r.send);
	vector_fini(&r.recv);
	return st;
}
