/* SPDX-License-Identifier: MIT */
/* Design notes.  Of a list that is kept the cl_mems are kept too, so what was found out about them holds, also where a plain call would look again
 * (tensor_list.c).  What may change is where peers find the tensors: then the list is checked anew, once.  Counts and types stay, so the buckets are
 * the same. */
#include "api/multi_call.h"
#include "api/request.h"

#include <stdatomic.h>
#include <stdlib.h>

struct multi_request {
	choir_request base;
	struct multi multi; /* with parts and runs */
	atomic_flag starting;
};

static void drop_list(struct multi *m)
{
	segments_release(m->owner);
	free(m->parts);
	free(m->runs);
}

static choir_status keep_list(struct multi *m, const choir_tensor *tensors, size_t n)
{
	choir_status st;

	TRY(tensor_list_take(m->name, m->comm, tensors, n, &m->list));
	st = tensor_list_hold(m->list, &m->owner);
	tensor_list_give(m->comm, m->list);
	return st;
}

static choir_status make_parts(struct multi *m, const choir_call *call)
{
	size_t n = m->list->n_buckets;

	m->parts = calloc(n, sizeof *m->parts);
	m->runs = calloc(n, sizeof *m->runs);
	if (m->parts == NULL || m->runs == NULL)
		return error_no_memory("a persistent call", n * (sizeof *m->parts + sizeof *m->runs));
	for (size_t b = 0; b < n; b++) {
		TRY(multi_part(m, b, call, &m->parts[b]));
		TRY(dense_algorithm(&m->parts[b].d, call, &m->parts[b].in));
	}
	return CHOIR_SUCCESS;
}

static choir_status renew(struct multi_request *request)
{
	const struct tensor_list *list = request->multi.list;
	struct multi fresh = { .name = request->base.name, .comm = request->base.comm, .op = request->multi.op };
	choir_status st = keep_list(&fresh, list->tensors, list->n);

	if (st == CHOIR_SUCCESS)
		st = make_parts(&fresh, &request->base.call);
	if (st != CHOIR_SUCCESS) {
		drop_list(&fresh);
		return st;
	}
	drop_list(&request->multi);
	request->multi = fresh;
	return CHOIR_SUCCESS;
}

static choir_status start(choir_request *base, const choir_call *call, choir_event **event_p)
{
	struct multi_request *request = (struct multi_request *)base;
	choir_status st = CHOIR_SUCCESS;

	if (atomic_flag_test_and_set_explicit(&request->starting, memory_order_acquire))
		return error_set(CHOIR_ARGUMENT, "choir_start: this %s is being started already", base->name);
	if (!tensor_list_is_reached(base->comm, request->multi.list))
		st = renew(request);
	if (st == CHOIR_SUCCESS)
		st = multi_go(&request->multi, call, event_p);
	atomic_flag_clear_explicit(&request->starting, memory_order_release);
	return st;
}

static void drop(choir_request *base)
{
	drop_list(&((struct multi_request *)base)->multi);
}

static const struct request_ops multi_ops = { .start = start, .drop = drop };

/* On success the request has what m has. */
static choir_status create(const struct multi *m, const choir_call *call, choir_request **request_p)
{
	struct multi_request *request = calloc(1, sizeof *request);
	choir_status st;

	if (request == NULL)
		return error_no_memory("a persistent call", sizeof *request);
	atomic_flag_clear(&request->starting);
	st = request_init(&request->base, &multi_ops, m->name, m->comm, call);
	if (st != CHOIR_SUCCESS) {
		choir_request_free(&request->base);
		return st;
	}
	request->multi = *m;
	*request_p = &request->base;
	return CHOIR_SUCCESS;
}

choir_status choir_allreduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op, const choir_call *given,
                                        choir_request **request_p)
{
	struct multi m = { .name = "choir_allreduce_multi", .comm = comm, .op = op };
	choir_status st = keep_list(&m, tensors, n_tensors);
	choir_call call;

	if (st == CHOIR_SUCCESS)
		st = multi_check(&m, given, &call);
	if (st == CHOIR_SUCCESS)
		st = request_check(m.name, &call, request_p);
	if (st == CHOIR_SUCCESS)
		st = make_parts(&m, &call);
	if (st == CHOIR_SUCCESS)
		st = create(&m, &call, request_p);
	if (st != CHOIR_SUCCESS)
		drop_list(&m);
	return st;
}
