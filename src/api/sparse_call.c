/* SPDX-License-Identifier: MIT */
/* sparse_allreduce: a script of the sparse room, started like any other call. */
#include "api/sparse_call.h"

#include "api/options.h"
#include "api/request.h"
#include "exec/record.h"

#include "sparse/algorithm.h"

#include <stdlib.h>
#include <string.h>

static const char function[] = "choir_sparse_allreduce";

static choir_status read_attr(const choir_sparse_attr *given, choir_sparse_attr *out)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;

	if (given != NULL)
		TRY(call_read_struct(function, "attr", "CHOIR_SPARSE_ATTR_INIT", given, &attr, sizeof attr));
	*out = attr;
	return CHOIR_SUCCESS;
}

/* The outcome of a sparse collective, which its event keeps. */
struct sparse_outcome {
	choir_sparse_stats stats;
	struct sparse_result *result; /* of a CAPACITY outcome, where choir_sparse_fetch finds it */
};

static void keep_outcome(struct run *run, bool drives)
{
	struct sparse_outcome *outcome = run->event->result;

	(void)drives;
	run->event->algorithm = sparse_algorithm(run->script.state);
	sparse_stats(run->script.state, &outcome->stats);
	if (run->status == CHOIR_CAPACITY)
		outcome->result = sparse_take_result(run->script.state);
}

static void free_outcome(void *result)
{
	struct sparse_outcome *outcome = result;

	if (outcome != NULL)
		sparse_result_free(outcome->result);
	free(outcome);
}

static struct sparse_outcome *outcome_of(choir_event *event)
{
	return event->free_result == free_outcome ? event->result : NULL;
}

static size_t capacity_in(const size_t *count)
{
	return count != NULL ? *count : 0;
}

/* An empty buffer may name anything. */
static choir_buffer unless_empty(choir_buffer buffer, size_t count)
{
	return count > 0 ? buffer : choir_none();
}

static choir_status prepare(struct run *run, struct sparse_call *sparse, const choir_call *call)
{
	struct choir_comm *comm = run->comm;
	struct script_env env = script_env_of(comm);

	run->event->free_result = free_outcome;
	run->event->result = calloc(1, sizeof(struct sparse_outcome));
	if (run->event->result == NULL)
		return error_no_memory("the outcome of a sparse_allreduce", sizeof(struct sparse_outcome));
	TRY(run_set_call(run, call, function));
	run->bound.dtype = sparse->val_dtype;
	run->bound.op = sparse->op;
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_SPARSE_ALLREDUCE,
		                                  .dtype = (uint8_t)sparse->val_dtype,
		                                  .hash = sparse_agreement(sparse) };
	run->bound.my_count = sparse->send_val_count;
	run->bound.my_rows = sparse->send_ind_count;
	record_set_op(&run->bound.record, sparse->op);
	record_set_algorithm(&run->bound.record, sparse->algorithm != NULL ? sparse->algorithm : "auto");
	sparse->name = call->name;
	TRY(run_keep(run, unless_empty(sparse->send_ind, sparse->send_ind_count)));
	TRY(run_keep(run, unless_empty(sparse->send_val, sparse->send_val_count)));
	TRY(run_keep(run, unless_empty(sparse->recv_ind, sparse->ind_capacity)));
	TRY(run_keep(run, unless_empty(sparse->recv_val, sparse->val_capacity)));
	TRY(sparse_create(&env, sparse, &run->script.ops, &run->script.state));
	run->script.ended = keep_outcome;
	return CHOIR_SUCCESS;
}

/* All that is chosen unasked keeps the order. */
static choir_status check_order(const char *call, const struct sparse_call *sparse)
{
	int row = sparse->algorithm != NULL ? sparse_method_find(sparse->algorithm) : -1;

	if (row < 0 || !sparse_methods[row].regroups || reduce_is_exact(sparse->val_dtype, sparse->op))
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s: algorithm '%s' does not fold in rank order, which order=ranks asks for",
	                 call, sparse->algorithm);
}

choir_status sparse_call_read(const char *name, const choir_comm *comm, const choir_call *call,
                              struct sparse_call *sparse, char algorithm[OPTIONS_VALUE_BYTES])
{
	bool named, order_ranks;
	choir_status st;

	TRY(options_none_dense(name, call->options));
	TRY(options_find(name, call->options, "algorithm", algorithm, &named));
	sparse->algorithm = named && strcmp(algorithm, "auto") != 0 ? algorithm : NULL;
	TRY(options_order(name, comm, call, &order_ranks));
	st = sparse_check_types(sparse);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", name);
	return order_ranks ? check_order(name, sparse) : CHOIR_SUCCESS;
}

/* Everything that can be checked before anything is sent; sparse->algorithm then points to `algorithm`. */
static choir_status read_call(choir_comm *comm, struct sparse_call *sparse, const choir_sparse_attr *attr,
                              const choir_call *call, char algorithm[OPTIONS_VALUE_BYTES])
{
	choir_status st;

	sparse->factor = call->factor;
	TRY(read_attr(attr, &sparse->attr));
	TRY(sparse_call_read(function, comm, call, sparse, algorithm));
	st = sparse_check(comm->device, comm->n, sparse);
	return st == CHOIR_SUCCESS ? st : error_prefix(st, "%s", function);
}

static unsigned takes(choir_op op)
{
	return op == CHOIR_OP_PREMUL_SUM ? CALL_TAKES_FACTOR : 0;
}

static choir_status start(choir_comm *comm, struct sparse_call *sparse, const choir_sparse_attr *attr,
                          const choir_call *given, choir_event **event_p)
{
	char algorithm[OPTIONS_VALUE_BYTES];
	choir_call call;
	choir_status st;
	struct run *run;

	TRY(call_check_comm(function, comm));
	TRY(call_read(function, given, takes(sparse->op), &call));
	TRY(read_call(comm, sparse, attr, &call, algorithm));
	TRY(call_may_start(function, comm, event_p));
	TRY(run_create(comm, &run));
	call_builds_begin(comm, &call);
	st = call_builds_end(comm, prepare(run, sparse, &call));
	return call_start(function, run, st, event_p);
}

choir_status choir_sparse_allreduce(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count,
                                    choir_buffer send_val, size_t send_val_count, choir_buffer recv_ind,
                                    size_t *recv_ind_count, choir_buffer recv_val, size_t *recv_val_count,
                                    choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                    const choir_sparse_attr *attr, const choir_call *call, choir_event **event_p)
{
	struct sparse_call sparse = { .send_ind = send_ind,
		                      .send_val = send_val,
		                      .recv_ind = recv_ind,
		                      .recv_val = recv_val,
		                      .send_ind_count = send_ind_count,
		                      .send_val_count = send_val_count,
		                      .recv_ind_count = recv_ind_count,
		                      .recv_val_count = recv_val_count,
		                      .ind_capacity = capacity_in(recv_ind_count),
		                      .val_capacity = capacity_in(recv_val_count),
		                      .ind_dtype = ind_dtype,
		                      .val_dtype = val_dtype,
		                      .op = op };
	choir_status st = call_enter(function, comm);

	if (st == CHOIR_SUCCESS) {
		st = start(comm, &sparse, attr, call, event_p);
		comm_leave(comm);
	}
	return call_named(st, call);
}

/* --- kept --- */

struct kept_sparse {
	struct kept_call base; /* first */
	struct sparse_call call;
};

static choir_status check_kept(struct kept_call *base, choir_comm *comm, const choir_call *call)
{
	struct sparse_call sparse = ((struct kept_sparse *)base)->call;
	char algorithm[OPTIONS_VALUE_BYTES];

	return read_call(comm, &sparse, &sparse.attr, call, algorithm);
}

static choir_status start_kept(struct kept_call *base, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	struct kept_sparse *kept = (struct kept_sparse *)base;
	struct sparse_call sparse = kept->call;

	return call_named(start(comm, &sparse, &kept->call.attr, call, event_p), call);
}

static void destroy_kept(struct kept_call *base)
{
	free(base);
}

static void fill_kept(struct kept_sparse *kept, const struct sparse_call *sparse)
{
	kept->call = *sparse;
	kept->base = (struct kept_call){ .function = function,
		                         .check = check_kept,
		                         .start = start_kept,
		                         .destroy = destroy_kept,
		                         .takes = takes(sparse->op),
		                         .buffers = { unless_empty(sparse->send_ind, sparse->send_ind_count),
		                                      unless_empty(sparse->send_val, sparse->send_val_count),
		                                      unless_empty(sparse->recv_ind, sparse->ind_capacity),
		                                      unless_empty(sparse->recv_val, sparse->val_capacity) } };
}

choir_status choir_sparse_allreduce_init(choir_comm *comm, choir_buffer send_ind, size_t send_ind_count,
                                         choir_buffer send_val, size_t send_val_count, choir_buffer recv_ind,
                                         size_t *recv_ind_count, choir_buffer recv_val, size_t *recv_val_count,
                                         choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                         const choir_sparse_attr *attr, const choir_call *call,
                                         choir_request **request_p)
{
	struct sparse_call sparse = { .send_ind = send_ind,
		                      .send_val = send_val,
		                      .recv_ind = recv_ind,
		                      .recv_val = recv_val,
		                      .send_ind_count = send_ind_count,
		                      .send_val_count = send_val_count,
		                      .recv_ind_count = recv_ind_count,
		                      .recv_val_count = recv_val_count,
		                      .ind_capacity = capacity_in(recv_ind_count),
		                      .val_capacity = capacity_in(recv_val_count),
		                      .ind_dtype = ind_dtype,
		                      .val_dtype = val_dtype,
		                      .op = op };
	struct kept_sparse *kept;

	TRY(request_named(read_attr(attr, &sparse.attr), function, call));
	kept = calloc(1, sizeof *kept);
	if (kept == NULL)
		return error_no_memory("a persistent call", sizeof *kept);
	fill_kept(kept, &sparse);
	return request_keep(comm, &kept->base, call, request_p);
}

choir_status choir_sparse_fetch(choir_event *event, choir_buffer recv_ind, size_t *recv_ind_count,
                                choir_buffer recv_val, size_t *recv_val_count)
{
	struct sparse_outcome *outcome;
	choir_status st;

	if (event == NULL || recv_ind_count == NULL || recv_val_count == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_sparse_fetch: null argument");
	TRY(event_check("choir_sparse_fetch", event));
	outcome = outcome_of(event);
	if (!event_is_complete(event) || event->status != CHOIR_CAPACITY || outcome == NULL || outcome->result == NULL)
		return error_set(CHOIR_ARGUMENT,
		                 "choir_sparse_fetch: no result waits: the call did not end for lack of room");
	st = sparse_result_fetch(outcome->result, recv_ind, recv_ind_count, recv_val, recv_val_count);
	return st == CHOIR_SUCCESS ? st : error_prefix(st, "choir_sparse_fetch");
}

choir_status choir_event_sparse_stats(choir_event *event, choir_sparse_stats *out)
{
	struct sparse_outcome *outcome;
	choir_sparse_stats stats;

	if (event == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_event_sparse_stats: null event");
	TRY(event_check("choir_event_sparse_stats", event));
	TRY(call_check_struct("choir_event_sparse_stats", "out", "sizeof(choir_sparse_stats)", out, sizeof stats));
	outcome = outcome_of(event);
	if (outcome == NULL || !event_is_complete(event))
		return error_set(CHOIR_ARGUMENT,
		                 "choir_event_sparse_stats: the event is not that of a sparse collective that is over");
	stats = outcome->stats;
	stats.struct_size = out->struct_size;
	stats.wire_bytes = choir_event_wire_bytes(event);
	memcpy(out, &stats, out->struct_size);
	return CHOIR_SUCCESS;
}
