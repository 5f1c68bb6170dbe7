/* SPDX-License-Identifier: MIT */
/* Lists of tensors and padded blocks: MPI is the oracle, one call of it for each tensor. */
#include "lib/mpi_types.h"
#include "lib/values.h"
#include "mpi/cases.h"
#include "world/memory.h"

#include <stdlib.h>
#include <string.h>

enum form { SCATTERED, GATHERED, SPREAD, REDUCED, SCATTERED_PADDED, GATHERED_PADDED, N_FORMS };
enum { TENSORS = 8 };

static const char *const names[N_FORMS] = { "reduce_scatter_multi", "allgather_multi",       "broadcast_multi",
	                                    "reduce_multi",         "reduce_scatter_padded", "allgather_padded" };
static const choir_dtype dtypes[TENSORS] = { CHOIR_I32, CHOIR_F32, CHOIR_I64, CHOIR_I16,
	                                     CHOIR_F64, CHOIR_F32, CHOIR_I32, CHOIR_BF16 };
static const size_t counts[TENSORS] = { 1003, 41, 7, 1, 30000, 0, 260, 500 };

struct list {
	struct job *job;
	enum form form;
	choir_op op;
	int root;
	struct memory send[TENSORS], recv[TENSORS];
	unsigned char *wanted[TENSORS];
	choir_tensor tensors[TENSORS];
	size_t n;
};

static bool reduces(enum form form)
{
	return form != GATHERED && form != SPREAD && form != GATHERED_PADDED;
}

static size_t padded_block(size_t count, int n)
{
	return (count + (size_t)n - 1) / (size_t)n;
}

/* What of `count` elements lies in rank r's block, without the padding. */
static int filled(size_t count, int n, int r)
{
	size_t block = padded_block(count, n), begin = block * (size_t)r;

	return begin >= count ? 0 : (int)(count - begin < block ? count - begin : block);
}

static size_t sent(enum form form, size_t count, int n)
{
	return form == SCATTERED ? count * (size_t)n : form == GATHERED_PADDED ? padded_block(count, n) : count;
}

static size_t received(enum form form, size_t count, int n)
{
	return form == GATHERED ? count * (size_t)n : form == SCATTERED_PADDED ? padded_block(count, n) : count;
}

/* Sums of narrow floats are not MPI's; it moves them. */
static choir_dtype dtype_of(const struct list *list, size_t i)
{
	return reduces(list->form) && dtypes[i] == CHOIR_BF16 ? CHOIR_U16 : dtypes[i];
}

static void make_tensor(struct list *list, size_t i)
{
	int n = list->job->size;
	choir_dtype dtype = dtype_of(list, i);
	size_t bytes = choir_dtype_bytes(dtype), to_send = sent(list->form, counts[i], n),
	       to_recv = received(list->form, counts[i], n);
	choir_device *device = list->job->world.device;

	memory_make(&list->send[i], device, i % 3 == 1, to_send * bytes, 0);
	memory_make(&list->recv[i], device, i % 3 == 1, to_recv * bytes, 0);
	for (size_t k = 0; k < to_send; k++) {
		int32_t number = (int32_t)((k * 7 + i + 13 * (size_t)list->job->rank) % 50);

		values_encode(dtype, &number, 1, memory_payload(&list->send[i]) + k * bytes);
	}
	memory_push(&list->send[i]);
	list->wanted[i] = calloc(to_recv + 1, bytes);
	list->tensors[i] = (choir_tensor){ list->send[i].buffer, list->recv[i].buffer, counts[i], dtype };
	list->n++;
}

/* MPI's own collective, on the host copy of the tensor. */
static void ask(struct list *list, size_t i)
{
	int n = list->job->size, count = (int)counts[i], *each = calloc((size_t)n, sizeof *each),
	    *offsets = calloc((size_t)n, sizeof *offsets);
	MPI_Datatype type = mpi_type_of(dtype_of(list, i));
	MPI_Op op = reduces(list->form) ? mpi_op_of(dtype_of(list, i), list->op) : MPI_OP_NULL;
	void *in = memory_payload(&list->send[i]), *out = list->wanted[i];
	MPI_Request request = MPI_REQUEST_NULL;

	for (int r = 0; r < n; r++) {
		each[r] = filled(counts[i], n, r);
		offsets[r] = r == 0 ? 0 : offsets[r - 1] + each[r - 1];
	}
	switch (list->form) {
	case SCATTERED:
		MPI_Ireduce_scatter_block(in, out, count, type, op, MPI_COMM_WORLD, &request);
		break;
	case GATHERED:
		MPI_Iallgather(in, count, type, out, count, type, MPI_COMM_WORLD, &request);
		break;
	case SPREAD:
		memcpy(out, in, list->send[i].bytes);
		MPI_Ibcast(out, count, type, list->root, MPI_COMM_WORLD, &request);
		break;
	case REDUCED:
		MPI_Ireduce(in, out, count, type, op, list->root, MPI_COMM_WORLD, &request);
		break;
	case SCATTERED_PADDED:
		MPI_Ireduce_scatter(in, out, each, type, op, MPI_COMM_WORLD, &request);
		break;
	default:
		MPI_Iallgatherv(in, each[list->job->rank], type, out, each, offsets, type, MPI_COMM_WORLD, &request);
	}
	job_await(list->job, &request);
	free(each);
	free(offsets);
}

static choir_status call_list(struct list *list, choir_comm *comm)
{
	const choir_tensor *t = list->tensors;

	switch (list->form) {
	case SCATTERED:
		return choir_reduce_scatter_multi(comm, t, list->n, list->op, NULL, NULL);
	case GATHERED:
		return choir_allgather_multi(comm, t, list->n, NULL, NULL);
	case SPREAD:
		return choir_broadcast_multi(comm, t, list->n, list->root, NULL, NULL);
	case REDUCED:
		return choir_reduce_multi(comm, t, list->n, list->op, list->root, NULL, NULL);
	case SCATTERED_PADDED:
		return choir_reduce_scatter_padded_multi(comm, t, list->n, list->op, NULL, NULL);
	default:
		return choir_allgather_padded_multi(comm, t, list->n, NULL, NULL);
	}
}

/* A padded tensor alone; the other forms alone are the oracle's of oracle.c. */
static choir_status call_padded(struct list *list, choir_comm *comm, const choir_tensor *t)
{
	if (list->form == SCATTERED_PADDED)
		return choir_reduce_scatter_padded(comm, t->send, t->recv, t->count, t->dtype, list->op, NULL, NULL);
	return choir_allgather_padded(comm, t->send, t->recv, t->count, t->dtype, NULL, NULL);
}

static void compare(struct list *list, size_t i, const char *how)
{
	struct memory *recv = &list->recv[i];
	const unsigned char *got = memory_payload(recv);

	memory_pull(recv);
	for (size_t b = 0; b < recv->bytes; b++)
		if (got[b] != list->wanted[i][b]) {
			world_fail(&list->job->world, list->job->rank,
			           "%s, %s, tensor %zu: byte %zu differs from MPI's", names[list->form], how, i, b);
			return;
		}
	if (!memory_sentinels_stand(recv))
		world_fail(&list->job->world, list->job->rank, "%s, %s, tensor %zu: it wrote round its output",
		           names[list->form], how, i);
	memset(memory_payload(recv), SENTINEL, recv->bytes);
	memory_push(recv);
}

static void run(struct list *list, choir_comm *comm)
{
	struct world *world = &list->job->world;
	int rank = list->job->rank;
	bool has_result = list->form != REDUCED || rank == list->root;

	for (size_t i = 0; i < TENSORS; i++) {
		make_tensor(list, i);
		ask(list, i);
	}
	if (world_is(world, rank, call_list(list, comm), CHOIR_SUCCESS, names[list->form]))
		for (size_t i = 0; i < TENSORS && has_result; i++)
			compare(list, i, "as a list");
	for (size_t i = 0; i < TENSORS && list->form >= SCATTERED_PADDED; i++)
		if (world_is(world, rank, call_padded(list, comm, &list->tensors[i]), CHOIR_SUCCESS, names[list->form]))
			compare(list, i, "alone");
	for (size_t i = 0; i < TENSORS; i++) {
		memory_free(&list->send[i]);
		memory_free(&list->recv[i]);
		free(list->wanted[i]);
	}
}

void case_lists(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "lists", &comm))
		return;
	for (enum form form = 0; form < N_FORMS; form++)
		for (int k = 0; k < (reduces(form) ? 3 : 1); k++) {
			struct list list = { .job = job,
				             .form = form,
				             .op = k == 0   ? CHOIR_OP_SUM
				                   : k == 1 ? CHOIR_OP_MIN
				                            : CHOIR_OP_MAX,
				             .root = (k + 1) % job->size };

			run(&list, comm);
		}
	choir_comm_destroy(comm);
}
