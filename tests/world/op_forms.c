/* SPDX-License-Identifier: MIT */
#include "world/op_forms.h"

#include "world/affine.h"

#include <string.h>

enum { ALONE = OP_TENSORS - 1 /* the tensor of a call of one */ };

static const size_t counts[OP_TENSORS] = { 1, 7, 500 };

/* --- the forms --- */

#define ONE a->list[ALONE].send, a->list[ALONE].recv
#define CALL_OR_INIT(name, ...)                                                                                        \
	(a->request_p != NULL ? choir_##name##_init(a->comm, __VA_ARGS__, a->call, a->request_p)                       \
	                      : choir_##name(a->comm, __VA_ARGS__, a->call, a->event_p))

static choir_status allreduce(const struct op_asked *a)
{
	return CALL_OR_INIT(allreduce, ONE, counts[ALONE], CHOIR_U64, a->op);
}

static choir_status reduce(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce, ONE, counts[ALONE], CHOIR_U64, a->op, a->root);
}

static choir_status reduce_scatter(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_scatter, ONE, counts[ALONE], CHOIR_U64, a->op);
}

static choir_status reduce_scatterv(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_scatterv, ONE, a->blocks, CHOIR_U64, a->op);
}

static choir_status reduce_scatter_padded(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_scatter_padded, ONE, counts[ALONE], CHOIR_U64, a->op);
}

static choir_status scan(const struct op_asked *a)
{
	return CALL_OR_INIT(scan, ONE, counts[ALONE], CHOIR_U64, a->op);
}

static choir_status exscan(const struct op_asked *a)
{
	return CALL_OR_INIT(exscan, ONE, counts[ALONE], CHOIR_U64, a->op);
}

static choir_status allreduce_multi(const struct op_asked *a)
{
	return CALL_OR_INIT(allreduce_multi, a->list, OP_TENSORS, a->op);
}

static choir_status reduce_multi(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_multi, a->list, OP_TENSORS, a->op, a->root);
}

static choir_status reduce_scatter_multi(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_scatter_multi, a->list, OP_TENSORS, a->op);
}

static choir_status reduce_scatter_padded_multi(const struct op_asked *a)
{
	return CALL_OR_INIT(reduce_scatter_padded_multi, a->list, OP_TENSORS, a->op);
}

const struct op_form op_forms[N_OP_FORMS] = {
	{ .name = "allreduce", COLLECTIVE_ALLREDUCE, .call = allreduce },
	{ .name = "reduce", COLLECTIVE_REDUCE, .call = reduce },
	{ .name = "reduce_scatter", COLLECTIVE_REDUCE_SCATTER, .scatters = true, .call = reduce_scatter },
	{ .name = "reduce_scatterv",
	  COLLECTIVE_REDUCE_SCATTERV,
	  .scatters = true,
	  .uneven = true,
	  .call = reduce_scatterv },
	{ .name = "reduce_scatter_padded",
	  COLLECTIVE_REDUCE_SCATTER,
	  .padded = true,
	  .scatters = true,
	  .call = reduce_scatter_padded },
	{ .name = "scan", COLLECTIVE_SCAN, .call = scan },
	{ .name = "exscan", COLLECTIVE_EXSCAN, .call = exscan },
	{ .name = "allreduce_multi", COLLECTIVE_ALLREDUCE, .list = true, .call = allreduce_multi },
	{ .name = "reduce_multi", COLLECTIVE_REDUCE, .list = true, .call = reduce_multi },
	{ .name = "reduce_scatter_multi",
	  COLLECTIVE_REDUCE_SCATTER,
	  .list = true,
	  .scatters = true,
	  .call = reduce_scatter_multi },
	{ .name = "reduce_scatter_padded_multi",
	  COLLECTIVE_REDUCE_SCATTER,
	  .list = true,
	  .padded = true,
	  .scatters = true,
	  .call = reduce_scatter_padded_multi },
};
/* --- the memory of one form on one rank --- */

static size_t sent(const struct op_set *set, int t)
{
	size_t n = (size_t)set->n, ranks = 0;

	for (size_t r = 0; r < n; r++)
		ranks += set->blocks[r];
	return set->form->uneven ? ranks : set->form->scatters && !set->form->padded ? n * counts[t] : counts[t];
}

/* Where this rank's part of the result begins in the whole, and how long it is. */
static size_t part(const struct op_set *set, int t, size_t *count_p)
{
	size_t n = (size_t)set->n, first = 0;

	*count_p = set->form->padded ? (counts[t] + n - 1) / n : set->form->uneven ? set->blocks[set->rank] : counts[t];
	for (int r = 0; r < set->rank && set->form->scatters; r++)
		first += set->form->uneven ? set->blocks[r] : *count_p;
	return first;
}

void op_set_make(struct op_set *set, struct world *world, int rank, const struct op_form *form, bool on_device)
{
	*set = (struct op_set){ .form = form, .n = world->n, .rank = rank, .root = world->n - 1 };
	for (int r = 0; r < world->n; r++)
		set->blocks[r] = 20 * (size_t)(r + 1) % 50;
	for (int t = 0; t < OP_TENSORS; t++) {
		size_t count;

		part(set, t, &count);
		CHECK(memory_make(&set->send[t], world->device, on_device, sent(set, t) * 8, 8));
		CHECK(memory_make(&set->recv[t], world->device, on_device, count * 8, 24));
		set->list[t] = (choir_tensor){ set->send[t].buffer, set->recv[t].buffer, counts[t], CHOIR_U64 };
	}
}

void op_set_free(struct op_set *set)
{
	for (int t = 0; t < OP_TENSORS; t++) {
		memory_free(&set->send[t]);
		memory_free(&set->recv[t]);
	}
}

void op_set_fill(struct op_set *set)
{
	for (int t = 0; t < OP_TENSORS; t++) {
		uint64_t *send = (void *)memory_payload(&set->send[t]);

		for (size_t i = 0; i < sent(set, t); i++)
			send[i] = affine_given(set->rank, i + (size_t)t);
		memset(memory_payload(&set->recv[t]), 0x77, set->recv[t].bytes);
		memory_push(&set->send[t]);
		memory_push(&set->recv[t]);
	}
}

static bool is_tensor_right(struct op_set *set, int t)
{
	enum collective collective = set->form->collective;
	int end = collective == COLLECTIVE_SCAN ? set->rank + 1 : collective == COLLECTIVE_EXSCAN ? set->rank : set->n;
	size_t count, first = part(set, t, &count);
	uint64_t *recv = (void *)memory_payload(&set->recv[t]);

	memory_pull(&set->recv[t]);
	for (size_t i = 0; i < count; i++)
		if (recv[i] != (first + i < sent(set, t) ? affine_wanted(end, first + i + (size_t)t) : 0))
			return false;
	return memory_sentinels_stand(&set->recv[t]);
}

bool op_set_is_right(struct op_set *set)
{
	enum collective collective = set->form->collective;
	bool right = true;

	if ((collective == COLLECTIVE_REDUCE && set->rank != set->root) ||
	    (collective == COLLECTIVE_EXSCAN && set->rank == 0))
		return true;
	for (int t = set->form->list ? 0 : ALONE; t < OP_TENSORS; t++)
		right &= is_tensor_right(set, t);
	return right;
}

struct op_asked op_asked_of(const struct op_set *set, choir_comm *comm, choir_op op, const choir_call *call)
{
	return (struct op_asked){
		.comm = comm, .list = set->list, .op = op, .root = set->root, .blocks = set->blocks, .call = call
	};
}
