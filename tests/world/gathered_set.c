/* SPDX-License-Identifier: MIT */
#include "world/gathered_set.h"

#include <stdlib.h>
#include <string.h>

static size_t count_of(int i)
{
	static const size_t counts[] = { 3, 1, 17, 250, LONGEST, 64, 9 };

	return counts[i % 7];
}

static size_t blocks_up(size_t count, int n)
{
	return (count + (size_t)n - 1) / (size_t)n;
}

static size_t elements(const struct gathered_set *set, int i, bool send)
{
	size_t count = count_of(i), n = (size_t)set->n;
	bool is_root = set->rank == set->shape.root;

	switch (set->shape.form) {
	case REDUCE_SCATTER:
		return send ? count * n : count;
	case ALLGATHER:
		return send ? count : count * n;
	case BROADCAST:
		return send && !is_root ? 0 : count;
	case REDUCE:
		return !send && !is_root ? 0 : count;
	case SCATTER_PADDED:
		return send ? count : blocks_up(count, set->n);
	case GATHER_PADDED:
		return send ? blocks_up(count, set->n) : count;
	default:
		return count;
	}
}

static long value_of(int rank, int tensor, size_t element)
{
	return ((long)element * 7 + tensor * 13 + rank * 5) % 61;
}

/* Element e of what this rank gets of a tensor. */
static long wanted_of(const struct gathered_set *set, int i, size_t e)
{
	size_t count = count_of(i), block = blocks_up(count, set->n);
	long sum = 0;

	switch (set->shape.form) {
	case ALLGATHER:
		return value_of((int)(e / count), i, e % count);
	case GATHER_PADDED:
		return value_of((int)(e / block), i, e % block);
	case BROADCAST:
		return value_of(set->shape.root, i, e);
	case REDUCE_SCATTER:
		e += (size_t)set->rank * count;
		break;
	case SCATTER_PADDED:
		e += (size_t)set->rank * block;
		break;
	default:
		break;
	}
	if (set->shape.form == SCATTER_PADDED && e >= count)
		return 0;
	for (int r = 0; r < set->n; r++)
		sum += value_of(r, i, e);
	return sum;
}

static void put(unsigned char *at, choir_dtype dtype, size_t i, long value)
{
	if (dtype == CHOIR_U8)
		at[i] = (unsigned char)value;
	else if (dtype == CHOIR_F32)
		((float *)(void *)at)[i] = (float)value;
	else
		((int64_t *)(void *)at)[i] = value;
}

bool gathered_set_make(struct gathered_set *set, choir_device *device)
{
	cl_context context = choir_device_context(device);
	bool made = true;
	cl_int rc;

	set->queue = clCreateCommandQueueWithProperties(context, choir_device_id(device), NULL, &rc);
	for (int i = 0; i < TENSORS && set->queue != NULL; i++) {
		choir_buffer sides[2];

		for (int side = 0; side < 2; side++) {
			bool shares = side == 1 && set->shape.in_place && set->bytes[i][0] > 0;

			set->bytes[i][side] = elements(set, i, side == 0) * choir_dtype_bytes(set->shape.dtype);
			sides[side] = shares && set->bytes[i][1] > 0 ? sides[0] : choir_none();
			if (shares || set->bytes[i][side] == 0)
				continue;
			set->mems[i][side] = clCreateBuffer(context, CL_MEM_READ_WRITE, set->bytes[i][side], NULL, &rc);
			made &= set->mems[i][side] != NULL;
			sides[side] = choir_mem(set->mems[i][side], 0);
		}
		set->tensors[i] = (choir_tensor){ sides[0], sides[1], count_of(i), set->shape.dtype };
	}
	return made && set->queue != NULL;
}

void gathered_set_drop(struct gathered_set *set)
{
	for (int i = 0; i < TENSORS; i++)
		for (int side = 0; side < 2; side++)
			if (set->mems[i][side] != NULL)
				clReleaseMemObject(set->mems[i][side]);
	if (set->queue != NULL)
		clReleaseCommandQueue(set->queue);
}

/* The buffer of a side: in place the results lie in SEND's. */
static cl_mem mem_of(const struct gathered_set *set, int i, int side)
{
	return set->mems[i][side] != NULL ? set->mems[i][side] : set->mems[i][0];
}

void gathered_set_fill(struct gathered_set *set)
{
	static const unsigned char junk = 0xA5;
	unsigned char *room = malloc(LONGEST * MOST_RANKS * sizeof(int64_t));

	for (int i = 0; i < TENSORS && room != NULL; i++) {
		for (size_t e = 0; e < elements(set, i, true); e++)
			put(room, set->shape.dtype, e, value_of(set->rank, i, e));
		if (set->bytes[i][0] > 0)
			clEnqueueWriteBuffer(set->queue, set->mems[i][0], CL_TRUE, 0, set->bytes[i][0], room, 0, NULL,
			                     NULL);
		if (set->mems[i][1] != NULL)
			clEnqueueFillBuffer(set->queue, set->mems[i][1], &junk, 1, 0, set->bytes[i][1], 0, NULL, NULL);
	}
	clFinish(set->queue);
	free(room);
}

int gathered_set_wrong(const struct gathered_set *set)
{
	unsigned char *room = malloc(2 * LONGEST * MOST_RANKS * sizeof(int64_t)),
		      *wanted = room + LONGEST * MOST_RANKS * sizeof(int64_t);
	int wrong = room == NULL ? 0 : -1;

	for (int i = 0; i < TENSORS && wrong < 0; i++)
		for (int side = 0; side < 2; side++) {
			size_t bytes = set->bytes[i][side];

			if (bytes == 0 || (side == 0 && set->mems[i][1] == NULL && set->bytes[i][1] > 0))
				continue;
			for (size_t e = 0; e < elements(set, i, side == 0); e++)
				put(wanted, set->shape.dtype, e,
				    side == 0 ? value_of(set->rank, i, e) : wanted_of(set, i, e));
			clEnqueueReadBuffer(set->queue, mem_of(set, i, side), CL_TRUE, 0, bytes, room, 0, NULL, NULL);
			if (memcmp(room, wanted, bytes) != 0)
				wrong = i;
		}
	free(room);
	return wrong;
}

choir_status gathered_set_call(struct gathered_set *set, choir_comm *comm, const choir_call *call,
                               choir_event **event_p)
{
	choir_tensor *list = set->tensors;
	int root = set->shape.root;

	switch (set->shape.form) {
	case REDUCE_SCATTER:
		return choir_reduce_scatter_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	case ALLGATHER:
		return choir_allgather_multi(comm, list, TENSORS, call, event_p);
	case BROADCAST:
		return choir_broadcast_multi(comm, list, TENSORS, root, call, event_p);
	case REDUCE:
		return choir_reduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, root, call, event_p);
	case SCATTER_PADDED:
		return choir_reduce_scatter_padded_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	case GATHER_PADDED:
		return choir_allgather_padded_multi(comm, list, TENSORS, call, event_p);
	default:
		return choir_allreduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	}
}
