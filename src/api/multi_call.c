/* SPDX-License-Identifier: MIT */
#include "api/multi_call.h"

#include <stdlib.h>

/* A bucket of one tensor needs no segments. */
static struct dense dense_of(const struct multi *m, size_t b)
{
	const struct tensor_bucket *bucket = &m->list->buckets[b];
	struct dense d = { .call = m->name, .collective = COLLECTIVE_ALLREDUCE, .comm = m->comm, .count = bucket->count, .send_blocks = 1,
		           .recv_blocks = 1, .dtype = bucket->dtype, .op = m->op, .reduces = true, .inner_block = -1, .hash = m->list->hash,
		           .of_list = true,
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

choir_status multi_part(const struct multi *m, size_t b, const choir_call *call, struct multi_part *out)
{
	choir_call same;

	*out = (struct multi_part){ .d = dense_of(m, b) };
	return dense_check(&out->d, call, &same, &out->in);
}

static choir_status take_part(const struct multi *m, size_t b, const choir_call *call, struct multi_part *out)
{
	if (m->parts == NULL)
		return multi_part(m, b, call, out);
	*out = m->parts[b];
	return CHOIR_SUCCESS;
}

/* Short and blocking: bucket after bucket, each on the spot.  Only calls that cannot be refused half way. */
static bool may_be_one_by_one(const struct multi *m, const choir_call *call)
{
	enum { MOST_BYTES = 1 << 20 };

	return m->list->bytes <= MOST_BYTES && m->comm->layout.n_nodes == 1 && call->options == NULL && call->n_deps == 0 && call->n_cl_deps == 0 &&
	       call->after == NULL;
}

static choir_status one_by_one(const struct multi *m, const choir_call *call)
{
	struct multi_part part;

	for (size_t b = 0; b < m->list->n_buckets; b++) {
		TRY(take_part(m, b, call, &part));
		TRY(dense_go(&part.d, call, &part.in, NULL));
	}
	return CHOIR_SUCCESS;
}

static choir_status make_runs(const struct multi *m, const choir_call *call, bool blocks, struct run **runs, size_t *n_made)
{
	struct multi_part part;

	for (; *n_made < m->list->n_buckets; ++*n_made) {
		TRY(take_part(m, *n_made, call, &part));
		part.d.blocks = blocks;
		TRY(dense_make(&part.d, call, &part.in, &runs[*n_made]));
	}
	return CHOIR_SUCCESS;
}

/* All at once: the engine does what can be done of each. */
static choir_status start_runs(const struct multi *m, const choir_call *call, struct run **runs, choir_event **event_p)
{
	size_t n = 0;
	choir_status st = make_runs(m, call, event_p == NULL && !group_is_open(), runs, &n);

	if (st != CHOIR_SUCCESS) {
		for (size_t i = 0; i < n; i++)
			run_discard(runs[i]);
		return st;
	}
	for (size_t i = 1; i < n; i++)
		run_join(runs[0], runs[i]);
	return call_start_all(m->name, runs, n, event_p);
}

static choir_status together(const struct multi *m, const choir_call *call, choir_event **event_p)
{
	struct run **runs = m->runs != NULL ? m->runs : calloc(m->list->n_buckets, sizeof *runs);
	choir_status st;

	if (runs == NULL)
		return error_no_memory("buckets", m->list->n_buckets * sizeof *runs);
	st = start_runs(m, call, runs, event_p);
	if (runs != m->runs)
		free(runs);
	return st;
}

choir_status multi_check(const struct multi *m, const choir_call *given, choir_call *call)
{
	for (size_t b = 0; b < m->list->n_buckets; b++) {
		struct dense d = dense_of(m, b);

		TRY(dense_names(&d));
	}
	return call_read(m->name, given, m->op == CHOIR_OP_PREMUL_SUM, call);
}

choir_status multi_go(const struct multi *m, const choir_call *call, choir_event **event_p)
{
	if (event_p != NULL || group_is_open())
		return together(m, call, event_p);
	TRY(call_may_block(m->name, m->comm, false));
	return may_be_one_by_one(m, call) ? one_by_one(m, call) : together(m, call, NULL);
}

/* What outlives the call keeps the cl_mems. */
static choir_status start(struct multi *m, const choir_call *given, choir_event **event_p)
{
	choir_call call;
	choir_status st;

	TRY(multi_check(m, given, &call));
	if (event_p == NULL && !group_is_open())
		return multi_go(m, &call, NULL);
	TRY(tensor_list_hold(m->list, &m->owner));
	st = multi_go(m, &call, event_p);
	segments_release(m->owner);
	return st;
}

choir_status choir_allreduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op, const choir_call *call,
                                   choir_event **event_p)
{
	struct multi m = { .name = "choir_allreduce_multi", .comm = comm, .op = op };
	choir_status st;

	TRY(tensor_list_take(m.name, comm, tensors, n_tensors, &m.list));
	m.owner = &m.list->owner;
	st = start(&m, call, event_p);
	tensor_list_give(comm, m.list);
	return st;
}
