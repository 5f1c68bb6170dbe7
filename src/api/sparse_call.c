/* SPDX-License-Identifier: MIT */
/* sparse_allreduce: a script of the sparse room, started like any other call. */
#include "api/call.h"

#include "sparse/sparse.h"

#include <stdio.h>
#include <string.h>

static choir_status read_attr(const choir_sparse_attr *given, choir_sparse_attr *out)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;

	if (given != NULL) {
		if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof attr)
			return error_set(CHOIR_ARGUMENT, "choir_sparse_allreduce: attr->struct_size is %zu; this library knows %zu", given->struct_size,
			                 sizeof attr);
		memcpy(&attr, given, given->struct_size);
	}
	*out = attr;
	return CHOIR_SUCCESS;
}

/* The result of a CAPACITY outcome moves to the event, where choir_sparse_fetch finds it. */
static void keep_result(struct run *run)
{
	run->event->algorithm = sparse_algorithm(run->script_state);
	if (run->status == CHOIR_CAPACITY)
		run->event->result = sparse_take_result(run->script_state);
}

static void free_result(void *result)
{
	sparse_result_free(result);
}

static choir_status prepare(struct run *run, struct sparse_call *sparse, const choir_call *call)
{
	struct choir_comm *comm = run->comm;
	struct script_env env = { .layout = &comm->layout, .me = comm->rank, .device = comm->device, .slot_bytes = comm->slot_bytes,
		                  .message_bytes = comm->message_bytes, .ring = comm_ring_self };

	snprintf(run->name, sizeof run->name, "%s", call->name);
	if (call->deadline_ms > 0)
		run->deadline_ms = call->deadline_ms;
	run->dtype = sparse->val_dtype;
	run->op = sparse->op;
	run->record = (struct call_record){ .collective = COLLECTIVE_SPARSE_ALLREDUCE, .dtype = (uint8_t)sparse->val_dtype,
		                            .op = (uint8_t)sparse->op, .hash = sparse_agreement(sparse) };
	snprintf(run->record.algorithm, sizeof run->record.algorithm, "%s", sparse->algorithm != NULL ? sparse->algorithm : "auto");
	TRY(run_keep(run, sparse->send_ind));
	TRY(run_keep(run, sparse->send_val));
	TRY(run_keep(run, sparse->recv_ind));
	TRY(run_keep(run, sparse->recv_val));
	TRY(sparse_create(&env, sparse, &run->script, &run->script_state));
	run->ended = keep_result;
	run->event->free_result = free_result;
	return run_set_deps(run, call);
}

choir_status choir_sparse_allreduce(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count, choir_buffer send_val,
                                    size_t send_val_count, choir_buffer recv_ind, size_t *recv_ind_count, choir_buffer recv_val,
                                    size_t *recv_val_count, choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                    const choir_sparse_attr *attr, const choir_call *given, choir_event **event_p)
{
	static const char name[] = "choir_sparse_allreduce";
	struct sparse_call sparse = { .send_ind = send_ind, .send_val = send_val, .recv_ind = recv_ind, .recv_val = recv_val,
		                      .send_ind_count = send_ind_count, .send_val_count = send_val_count, .recv_ind_count = recv_ind_count,
		                      .recv_val_count = recv_val_count, .ind_dtype = ind_dtype, .val_dtype = val_dtype, .op = op };
	char algorithm[64];
	choir_call call;
	struct run *run;
	choir_status st;
	bool named;

	TRY(call_check_comm(name, comm));
	TRY(call_read(name, given, false, &call));
	TRY(read_attr(attr, &sparse.attr));
	TRY(call_option(name, call.options, "algorithm", algorithm, sizeof algorithm, &named));
	sparse.algorithm = named && strcmp(algorithm, "auto") != 0 ? algorithm : NULL;
	TRY(sparse_check(comm->device, comm->n, &sparse));
	if (event_p == NULL && !group_is_open())
		TRY(call_may_block(name, comm, false));
	TRY(run_create(comm, &run));
	st = prepare(run, &sparse, &call);
	if (st != CHOIR_SUCCESS) {
		run_discard(run);
		return st;
	}
	return call_start(name, run, event_p);
}

choir_status choir_sparse_fetch(choir_event *event, choir_buffer recv_ind, size_t *recv_ind_count, choir_buffer recv_val,
                                size_t *recv_val_count)
{
	if (event == NULL || recv_ind_count == NULL || recv_val_count == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_sparse_fetch: null argument");
	if (!event_is_complete(event) || event->status != CHOIR_CAPACITY || event->result == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_sparse_fetch: the event did not end with CHOIR_CAPACITY");
	return sparse_result_fetch(event->result, recv_ind, recv_ind_count, recv_val, recv_val_count);
}
