/* SPDX-License-Identifier: MIT */
/* sparse_allreduce against the plain reference, bit for bit: unsorted duplicates, empty ranks, both algorithms, host
 * and cl_mem. */
#include "mpi/cases.h"
#include "sparse/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
	choir_dtype ind, val;
	choir_op op;
	size_t most, width;
	int64_t range;
	const char *options;
	bool device, empty;
};

static const struct shape shapes[] = {
	{ CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, 300, 16, 200, "algorithm=allgather", true, false },
	{ CHOIR_I64, CHOIR_F32, CHOIR_OP_SUM, 300, 16, 200, "algorithm=split", true, false },
	{ CHOIR_I64, CHOIR_F64, CHOIR_OP_MEAN, 100, 3, 50, NULL, false, false },
	{ CHOIR_I32, CHOIR_F16, CHOIR_OP_SUM, 257, 5, 1000000, NULL, true, false },
	{ CHOIR_I32, CHOIR_BF16, CHOIR_OP_MAX, 64, 1, 30, "algorithm=split", false, false },
	{ CHOIR_I32, CHOIR_F32, CHOIR_OP_MIN, 5000, 8, 100000, NULL, true, false },
	{ CHOIR_I64, CHOIR_F32, CHOIR_OP_PROD, 20, 2, 10, "algorithm=allgather", false, false },
	{ CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, 10, 4, 100, NULL, false, true },
};

/* Every rank makes all ranks' inputs. */
static void make_inputs(const struct shape *shape, int n, struct reference_pairs *inputs)
{
	for (int r = 0; r < n; r++) {
		uint64_t seed = 77 + (uint64_t)r;
		size_t count = shape->empty || r % 3 == 2 ? 0 : 1 + reference_next(&seed) % shape->most;

		inputs[r].count = count;
		inputs[r].ind = calloc(count + 1, sizeof *inputs[r].ind);
		inputs[r].val = calloc(count * shape->width + 1, choir_dtype_bytes(shape->val));
		for (size_t i = 0; i < count; i++)
			inputs[r].ind[i] = (int64_t)(reference_next(&seed) % (uint64_t)shape->range);
		reference_random(&seed, shape->val, false, inputs[r].val, count * shape->width);
	}
}

static void store_indices(choir_dtype dtype, void *to, const int64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (dtype == CHOIR_I32)
			((int32_t *)to)[i] = (int32_t)from[i];
		else
			((int64_t *)to)[i] = from[i];
}

struct sides {
	struct memory send_ind, send_val, recv_ind, recv_val;
};

static void check_result(struct world *world, int rank, const struct shape *shape, struct sides *m,
                         const struct reference_pairs *wanted, size_t ind_count, size_t val_count)
{
	size_t at = 0, ind_bytes = choir_dtype_bytes(shape->ind);
	void *indices = malloc(wanted->count * ind_bytes + 1);

	CHECK(ind_count == wanted->count && val_count == wanted->count * shape->width);
	if (ind_count == wanted->count) {
		store_indices(shape->ind, indices, wanted->ind, ind_count);
		memory_pull(&m->recv_ind);
		memory_pull(&m->recv_val);
		CHECK(memcmp(indices, memory_payload(&m->recv_ind), ind_count * ind_bytes) == 0);
		if (!reference_same(shape->val, memory_payload(&m->recv_val), wanted->val, val_count, &at))
			world_fail(world, rank, "sparse %s %s, %s: value %zu of %zu differs",
			           choir_dtype_name(shape->val), choir_op_name(shape->op),
			           shape->options != NULL ? shape->options : "auto", at, val_count);
		CHECK(memory_sentinels_stand(&m->recv_ind) && memory_sentinels_stand(&m->recv_val));
	}
	free(indices);
}

static void run_shape(struct job *job, choir_comm *comm, const struct shape *shape)
{
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm), n = choir_comm_size(comm);
	struct reference_pairs *inputs = calloc((size_t)n, sizeof *inputs), wanted, *mine = &inputs[rank];
	size_t ind_bytes = choir_dtype_bytes(shape->ind), val_bytes = choir_dtype_bytes(shape->val), ind_count,
	       val_count;
	struct sides m;
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;

	make_inputs(shape, n, inputs);
	reference_allreduce(inputs, n, shape->width, shape->val, shape->op, &wanted);
	ind_count = wanted.count + 3;
	val_count = (wanted.count + 3) * shape->width;
	memory_make(&m.send_ind, world->device, shape->device, mine->count * ind_bytes, ind_bytes);
	memory_make(&m.send_val, world->device, shape->device, mine->count * shape->width * val_bytes, val_bytes);
	memory_make(&m.recv_ind, world->device, shape->device, ind_count * ind_bytes, 2 * ind_bytes);
	memory_make(&m.recv_val, world->device, shape->device, val_count * val_bytes, 3 * val_bytes);
	store_indices(shape->ind, memory_payload(&m.send_ind), mine->ind, mine->count);
	memcpy(memory_payload(&m.send_val), mine->val, mine->count * shape->width * val_bytes);
	memory_push(&m.send_ind);
	memory_push(&m.send_val);
	call.options = shape->options;
	if (OK(choir_sparse_allreduce(comm, m.send_ind.buffer, mine->count, m.send_val.buffer,
	                              mine->count * shape->width, m.recv_ind.buffer, &ind_count, m.recv_val.buffer,
	                              &val_count, shape->ind, shape->val, shape->op, NULL, &call, &event)) &&
	    OK(choir_event_wait(event, -1)))
		check_result(world, rank, shape, &m, &wanted, ind_count, val_count);
	choir_event_release(event);
	memory_free(&m.send_ind);
	memory_free(&m.send_val);
	memory_free(&m.recv_ind);
	memory_free(&m.recv_val);
	for (int r = 0; r < n; r++)
		reference_free(&inputs[r]);
	free(inputs);
	reference_free(&wanted);
}

void case_sparse(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "sparse", &comm))
		return;
	for (int round = 0; round < 2; round++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			run_shape(job, comm, &shapes[s]);
	choir_comm_destroy(comm);
}
