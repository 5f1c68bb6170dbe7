/* SPDX-License-Identifier: MIT */
/* choir_alltoallv: its arguments, and the start of its script. */
#include "api/alltoallv.h"

#include "exec/run.h"

#include <stdio.h>

static const char name[] = "choir_alltoallv";

/* One call while its arguments are looked at. */
struct request {
	choir_comm *comm;
	choir_buffer send_buffer, recv_buffer;
	struct vector send, recv;
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
	struct algo_in in = { .layout = &comm->layout, .me = comm->rank, .collective = COLLECTIVE_ALLTOALLV, .slot_bytes = comm->slot_bytes,
		              .elem_bytes = choir_dtype_bytes(r->dtype), .message_bytes = comm->message_bytes };
	const char *why;

	TRY(call_algorithm(name, call, COLLECTIVE_ALLTOALLV, &r->forced));
	why = r->forced != NULL ? r->forced->unfit(&in) : NULL;
	return why == NULL ? CHOIR_SUCCESS : error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", name, r->forced->name, why);
}

static void ended(struct run *run)
{
	alltoallv_let_go(run->script_state); /* before the event says that it is over */
	run->event->algorithm = alltoallv_algorithm(run->script_state);
}

static choir_status prepare(struct run *run, const struct request *r, const choir_call *call)
{
	struct choir_comm *comm = run->comm;
	struct script_env env = { .layout = &comm->layout, .me = comm->rank, .device = comm->device, .slot_bytes = comm->slot_bytes,
		                  .message_bytes = comm->message_bytes, .ring = comm_ring_self };
	struct alltoallv_call script = { .elem_bytes = choir_dtype_bytes(r->dtype), .send = &r->send, .recv = &r->recv, .forced = r->forced,
		                         .rules = &comm->rules };

	snprintf(run->name, sizeof run->name, "%s", call->name);
	if (call->deadline_ms > 0)
		run->deadline_ms = call->deadline_ms;
	run->dtype = r->dtype;
	run->record = (struct call_record){ .collective = COLLECTIVE_ALLTOALLV, .dtype = (uint8_t)r->dtype };
	snprintf(run->record.algorithm, sizeof run->record.algorithm, "%s", r->forced != NULL ? r->forced->name : "auto");
	TRY(run_keep(run, r->send.extent > 0 ? r->send_buffer : choir_none()));
	TRY(run_keep(run, r->recv.extent > 0 ? r->recv_buffer : choir_none()));
	TRY(dev_resolve(comm->device, r->send_buffer, r->send.extent, false, &script.send_access));
	TRY(dev_resolve(comm->device, r->recv_buffer, r->recv.extent, true, &script.recv_access));
	TRY(alltoallv_create(&env, &script, &run->script, &run->script_state));
	run->ended = ended;
	return run_set_deps(run, call);
}

static choir_status start(struct request *r, const choir_call *given, choir_event **event_p)
{
	struct run *run;
	choir_call call;
	choir_status st;

	TRY(call_read(name, given, false, &call));
	TRY(check_buffers(r));
	TRY(check_algorithm(r, &call));
	if (event_p == NULL && !group_is_open())
		TRY(call_may_block(name, r->comm, false));
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
	struct request r = { .comm = comm, .send_buffer = send, .recv_buffer = recv, .dtype = dtype };
	uint64_t elem = choir_dtype_bytes(dtype);
	choir_status st;

	TRY(call_check_comm(name, comm));
	if (elem == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", name, (int)dtype);
	st = vector_read(name, "send_counts", comm->n, elem, send_counts, send_displacements, &r.send);
	if (st == CHOIR_SUCCESS)
		st = vector_read(name, "recv_counts", comm->n, elem, recv_counts, recv_displacements, &r.recv);
	if (st == CHOIR_SUCCESS)
		st = start(&r, call, event_p);
	vector_fini(&r.send);
	vector_fini(&r.recv);
	return st;
}
