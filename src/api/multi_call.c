/* SPDX-License-Identifier: MIT */
/* Allreduce of many tensors: an ordinary allreduce a bucket, of a buffer that the bucket's tensors are the segments of; all under one event. */
#include "api/dense.h"
#include "api/tensor_list.h"

#include <stdlib.h>

struct multi {
	const char *name;
	choir_comm *comm;
	choir_op op;
	const choir_call *given;
	struct tensor_list *list;
	struct segments_owner *owner;
};

/* A bucket of one tensor needs no segments. */
static struct dense dense_of(const struct multi *m, size_t b)
{
	const struct tensor_bucket *bucket = &m->list->buckets[b];
	struct dense d = { .call = m->name, .collective = COLLECTIVE_ALLREDUCE, .comm = m->comm, .count = bucket->count, .send_blocks = 1, .recv_blocks = 1,
		           .dtype = bucket->dtype, .op = m->op, .reduces = true, .inner_block = -1, .hash = m->list->hash, .of_list = true,
		           .root = m->list->n < INT32_MAX ? (int)m->list->n : INT32_MAX };

	if (bucket->only != NULL) {
		d.send = bucket->only->send;
		d.recv = bucket->only->recv;
	} else if (bucket->n > 0) {
		d.lists = m->owner;
		d.send_list = bucket->send;
		d.recv_list = bucket->recv;
	}
	return d;
}

/* Short and blocking: bucket after bucket, each on the spot.  Only calls that cannot be refused half way. */
static bool may_be_one_by_one(const struct multi *m, choir_event **event_p)
{
	enum { MOST_BYTES = 1 << 20 };
	const choir_call *call = m->given;

	return event_p == NULL && !group_is_open() && m->list->bytes <= MOST_BYTES && m->comm->layout.n_nodes == 1 &&
	       (call == NULL || (call->options == NULL && call->n_deps == 0 && call->n_cl_deps == 0 && call->after == NULL));
}

static choir_status one_by_one(const struct multi *m)
{
	for (size_t b = 0; b < m->list->n_buckets; b++) {
		struct dense d = dense_of(m, b);

		TRY(dense_start(&d, m->given, NULL));
	}
	return CHOIR_SUCCESS;
}

static choir_status make_runs(const struct multi *m, bool blocks, struct run **runs, size_t *n_made)
{
	for (; *n_made < m->list->n_buckets; ++*n_made) {
		struct dense d = dense_of(m, *n_made);
		struct algo_in in = { 0 };
		choir_call call;

		TRY(dense_check(&d, m->given, &call, &in));
		d.blocks = blocks;
		TRY(dense_make(&d, &call, &in, &runs[*n_made]));
	}
	return CHOIR_SUCCESS;
}

/* All at once: the engine does what can be done of each. */
static choir_status together(const struct multi *m, choir_event **event_p)
{
	struct run **runs = calloc(m->list->n_buckets, sizeof *runs);
	size_t n = 0;
	choir_status st;

	if (runs == NULL)
		return error_no_memory("buckets", m->list->n_buckets * sizeof *runs);
	st = make_runs(m, event_p == NULL && !group_is_open(), runs, &n);
	for (size_t i = 1; i < n && st == CHOIR_SUCCESS; i++)
		run_join(runs[0], runs[i]);
	if (st == CHOIR_SUCCESS)
		st = call_start_all(m->name, runs, n, event_p);
	else
		for (size_t i = 0; i < n; i++)
			run_discard(runs[i]);
	free(runs);
	return st;
}

/* All that may be refused, before anything is done. */
static choir_status check(const struct multi *m, choir_event **event_p)
{
	for (size_t b = 0; b < m->list->n_buckets; b++) {
		struct dense d = dense_of(m, b);
		choir_call call;

		TRY(dense_names(&d));
		if (b == 0)
			TRY(call_read(m->name, m->given, m->op == CHOIR_OP_PREMUL_SUM, &call));
	}
	return event_p == NULL && !group_is_open() ? call_may_block(m->name, m->comm, false) : CHOIR_SUCCESS;
}

static choir_status start(struct multi *m, choir_event **event_p)
{
	bool outlives = event_p != NULL || group_is_open();
	choir_status st;

	TRY(check(m, event_p));
	if (may_be_one_by_one(m, event_p))
		return one_by_one(m);
	if (!outlives)
		return together(m, event_p);
	TRY(tensor_list_hold(m->list, &m->owner));
	st = together(m, event_p);
	segments_release(m->owner);
	return st;
}

choir_status choir_allreduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op, const choir_call *call,
                                   choir_event **event_p)
{
	struct multi m = { .name = "choir_allreduce_multi", .comm = comm, .op = op, .given = call };
	choir_status st;

	TRY(call_check_comm(m.name, comm));
	if (tensors == NULL && n_tensors > 0)
		return error_set(CHOIR_ARGUMENT, "%s: null tensors", m.name);
	TRY(tensor_list_take(m.name, comm, tensors, n_tensors, &m.list));
	m.owner = &m.list->owner;
	st = start(&m, event_p);
	tensor_list_give(comm, m.list);
	return st;
}
