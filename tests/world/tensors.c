/* SPDX-License-Identifier: MIT */
#include "world/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 24 };

static size_t count_of(const struct tensors_shape *s, size_t i)
{
	size_t h = (i * 2654435761u + 12345) >> 5;

	if (i % 7 == 3)
		return 0;
	return s->low + h % (s->high - s->low + 1);
}

/* Room for `bytes` bytes in a pool: when it exists, its place; before, only counted. */
static size_t take_room(struct tensors *set, int pool, size_t bytes, size_t elem, size_t i)
{
	size_t at = (set->used[pool] + GAP + elem - 1) / elem * elem + i % 3 * elem;

	set->used[pool] = at + bytes;
	return at;
}

static choir_buffer buffer_at(struct memory *pool, size_t at)
{
	choir_buffer buffer = pool->buffer;

	buffer.offset_bytes += at;
	return buffer;
}

static int pool_of(const struct tensors *set, enum tensors_where where, size_t i)
{
	switch (where) {
	case TENSORS_HOST:
		return 0;
	case TENSORS_DEVICE:
		return 1 + (int)(i % 2);
	case TENSORS_MIXED:
		return (int)(i % 3);
	case TENSORS_SHARE:
		return 3;
	default:
		return set->rank + 1 == set->size && i == 1 ? 0 : 3;
	}
}

static void lay_out(struct tensors *set, const struct tensors_shape *s, const choir_dtype *types, size_t n_types)
{
	memset(set->used, 0, sizeof set->used);
	for (size_t i = 0; i < s->n; i++) {
		choir_tensor *t = &set->list[i];
		size_t elem, bytes, send, recv;
		int from = pool_of(set, s->where, i), to = pool_of(set, s->where, i / 2);

		t->dtype = types[i % n_types];
		t->count = count_of(s, i);
		elem = choir_dtype_bytes(t->dtype);
		bytes = t->count * elem;
		send = take_room(set, from, bytes, elem, i);
		recv = i % 4 == 0 ? send : take_room(set, to, bytes, elem, i + 1);
		to = i % 4 == 0 ? from : to;
		if (!set->built)
			continue;
		t->send = buffer_at(&set->pools[from], send);
		t->recv = buffer_at(&set->pools[to], recv);
		set->send_at[i] = memory_payload(&set->pools[from]) + send;
		set->recv_at[i] = memory_payload(&set->pools[to]) + recv;
		set->wanted_at[i] = set->wanted[to] + recv;
	}
	set->n = s->n;
}

static size_t types_of(choir_comm *comm, const struct tensors_shape *s, choir_dtype *types)
{
	size_t n = 0;

	for (int d = 0; choir_dtype_bytes((choir_dtype)d) > 0; d++)
		if ((s->one_type < 0 || s->one_type == d) &&
		    choir_supports(comm, "allreduce", (choir_dtype)d, s->op, choir_none()) == CHOIR_SUCCESS)
			types[n++] = (choir_dtype)d;
	return n;
}

void tensors_make(struct tensors *set, choir_comm *comm, choir_device *device, const struct tensors_shape *s,
                  struct tensors_share share)
{
	choir_dtype types[32];
	size_t n_types = types_of(comm, s, types);

	memset(set, 0, sizeof *set);
	set->rank = choir_comm_rank(comm);
	set->size = choir_comm_size(comm);
	lay_out(set, s, types, n_types);
	for (int p = 0; p < TENSORS_POOLS; p++) {
		bool shared = p == 3 && share.base != NULL;

		if (shared) /* at another offset on every rank, none on a line of 64 */
			memory_use(share.base, NULL, share.bytes, 16 * (2 * (size_t)set->rank + 1));
		memory_make(&set->pools[p], device, p == 1 || p == 2, set->used[p] + SENTINEL_BYTES, 16);
		set->wanted[p] = malloc(set->used[p] + SENTINEL_BYTES);
		if (shared)
			memory_use(NULL, NULL, 0, 0);
	}
	set->built = true;
	lay_out(set, s, types, n_types);
}

void tensors_free(struct tensors *set)
{
	choir_request_free(set->request);
	for (int p = 0; p < TENSORS_POOLS; p++) {
		memory_free(&set->pools[p]);
		free(set->wanted[p]);
	}
}

struct collective_data tensors_data(const struct tensors *set, size_t i, choir_op op, size_t shift,
                                    struct collective_shape *shape)
{
	*shape =
	    (struct collective_shape){ .what = &collectives[ALLREDUCE], .n = set->size, .count = set->list[i].count };
	return (
	    struct collective_data){ .shape = shape, .dtype = set->list[i].dtype, .op = op, .shift = shift + 37 * i };
}

void tensors_fill(struct tensors *set, choir_op op, size_t shift)
{
	struct collective_shape shape;

	for (size_t i = 0; i < set->n; i++) {
		struct collective_data data = tensors_data(set, i, op, shift, &shape);

		collective_input(&data, set->rank, set->list[i].count, set->send_at[i]);
	}
	for (int p = 0; p < TENSORS_POOLS; p++) {
		memory_push(&set->pools[p]);
		memcpy(set->wanted[p], memory_payload(&set->pools[p]), set->pools[p].bytes);
	}
	for (size_t i = 0; i < set->n; i++) {
		struct collective_data data = tensors_data(set, i, op, shift, &shape);
		struct span span;

		collective_span(&shape, set->rank, 0, &span);
		collective_expected(&data, set->rank, &span, set->wanted_at[i]);
	}
}

bool tensors_are_right(struct tensors *set)
{
	bool right = true;

	for (int p = 0; p < TENSORS_POOLS; p++) {
		memory_pull(&set->pools[p]);
		right &= memory_sentinels_stand(&set->pools[p]) &&
		         memcmp(memory_payload(&set->pools[p]), set->wanted[p], set->pools[p].bytes) == 0;
	}
	return right;
}

static choir_status call_or_start(struct tensors *set, choir_comm *comm, const struct tensors_shape *s,
                                  choir_event **event_p)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_status st = CHOIR_SUCCESS;

	call.options = s->options;
	call.factor = values_factor(s->op);
	if (!s->kept)
		return choir_allreduce_multi(comm, set->list, set->n, s->op, &call, event_p);
	if (set->request == NULL)
		st = choir_allreduce_multi_init(comm, set->list, set->n, s->op, &call, &set->request);
	return st == CHOIR_SUCCESS ? choir_start(set->request, NULL, event_p) : st;
}

choir_status tensors_call(struct tensors *set, choir_comm *comm, const struct tensors_shape *s)
{
	choir_event *event = NULL;
	choir_status st;

	if (s->in_group)
		choir_group_begin();
	st = call_or_start(set, comm, s, s->with_event ? &event : NULL);
	if (s->in_group && choir_group_end() != CHOIR_SUCCESS)
		st = CHOIR_ABORTED;
	if (st == CHOIR_SUCCESS && event != NULL)
		st = choir_event_wait(event, -1);
	if (event != NULL)
		snprintf(set->algorithm, sizeof set->algorithm, "%s", choir_event_algorithm(event));
	choir_event_release(event);
	return st;
}

void tensors_run(struct world *world, int rank, choir_comm *comm, const struct tensors_shape *s)
{
	struct tensors *set = malloc(sizeof *set);

	tensors_make(set, comm, world->device, s, (struct tensors_share){ NULL, 0 });
	for (size_t again = 0; again < 2; again++) {
		choir_status st;

		tensors_fill(set, s->op, 1000 * again);
		st = tensors_call(set, comm, s);
		if (st == CHOIR_UNSUPPORTED && s->options != NULL)
			break;
		if (st != CHOIR_SUCCESS || !tensors_are_right(set))
			world_fail(world, rank, "%zu tensors of %zu to %zu, memory %d, %s, %s, %s %zu: %s", s->n,
			           s->low, s->high, (int)s->where, choir_op_name(s->op),
			           s->options != NULL ? s->options : "auto", s->kept ? "start" : "call", again,
			           st == CHOIR_SUCCESS ? "wrong" : choir_last_error());
	}
	tensors_free(set);
	free(set);
}
