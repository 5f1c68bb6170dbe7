/* SPDX-License-Identifier: MIT */
/* choir_allreduce_multi over processes, MPI being the oracle: it reduces all elements of a list at once, as
 * doubles, which hold all these values exactly. */
#include "mpi/cases.h"
#include "world/tensors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHARE = 2 << 20 };

static MPI_Op op_of(choir_op op)
{
	return op == CHOIR_OP_MAX ? MPI_MAX : op == CHOIR_OP_MIN ? MPI_MIN : op == CHOIR_OP_PROD ? MPI_PROD : MPI_SUM;
}

static size_t elements_of(const struct tensors *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		n += set->list[i].count;
	return n;
}

/* What MPI makes of the inputs is what must come out. */
static void ask(struct job *job, struct tensors *set, choir_op op, size_t shift)
{
	size_t n = elements_of(set), at = 0;
	double *values = malloc((n + 1) * sizeof *values);
	MPI_Request request;
	int32_t number;

	for (size_t i = 0; i < set->n; i++) {
		struct collective_shape shape;
		struct collective_data data = tensors_data(set, i, op, shift, &shape);
		struct values v = collective_values(&data);

		for (size_t k = 0; k < set->list[i].count; k++) {
			values_of(&v, set->rank, data.shift + k, 1, &number);
			values[at++] = number * values_factor(op);
		}
	}
	MPI_Iallreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, op_of(op), MPI_COMM_WORLD, &request);
	job_await(job, &request);
	at = 0;
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->list[i].count; k++, at++) {
			number = (int32_t)(op == CHOIR_OP_MEAN ? values[at] / set->size : values[at]);
			if (set->list[i].dtype == CHOIR_BOOL)
				number = number != 0;
			values_encode(set->list[i].dtype, &number, 1,
			              set->wanted_at[i] + k * choir_dtype_bytes(set->list[i].dtype));
		}
	free(values);
}

/* Twice: the second time the list is known.  The name of the algorithm, if the shape asks for an event. */
static void run(struct job *job, choir_comm *comm, const struct tensors_shape *s, struct tensors_share share,
                const char *algorithm)
{
	struct world *world = &job->world;
	struct tensors *set = malloc(sizeof *set);
	int rank = choir_comm_rank(comm);

	tensors_make(set, comm, world->device, s, share);
	for (size_t again = 0; again < 2; again++) {
		tensors_fill(set, s->op, 1000 * again);
		ask(job, set, s->op, 1000 * again);
		if (OK(tensors_call(set, comm, s)) && !tensors_are_right(set))
			world_fail(world, rank, "%zu tensors of %zu to %zu, memory %d, %s, call %zu: other than MPI's",
			           s->n, s->low, s->high, (int)s->where, choir_op_name(s->op), again);
		if (algorithm != NULL && strncmp(set->algorithm, algorithm, strlen(algorithm)) != 0)
			world_fail(world, rank, "%zu tensors of %zu to %zu, memory %d went by %s", s->n, s->low,
			           s->high, (int)s->where, set->algorithm);
	}
	tensors_free(set);
	free(set);
}

static void in_all_memory(struct job *job, choir_comm *comm, struct tensors_share share)
{
	static const struct {
		struct tensors_shape shape;
		const char *algorithm; /* how its name begins, on one node of several ranks; NULL = any */
	} rows[] = {
		{ { .n = 24, .low = 1, .high = 900, .where = TENSORS_HOST, .op = CHOIR_OP_SUM, .one_type = -1 }, NULL },
		{ { .n = 24,
		    .low = 1,
		    .high = 900,
		    .where = TENSORS_MIXED,
		    .op = CHOIR_OP_MEAN,
		    .one_type = -1,
		    .with_event = true },
		  NULL },
		{ { .n = 24,
		    .low = 1,
		    .high = 900,
		    .where = TENSORS_DEVICE,
		    .op = CHOIR_OP_PREMUL_SUM,
		    .one_type = -1 },
		  NULL },
		{ { .n = 50, .low = 1, .high = 3000, .where = TENSORS_SHARE, .op = CHOIR_OP_SUM, .one_type = -1 },
		  NULL },
		{ { .n = 50,
		    .low = 1,
		    .high = 3000,
		    .where = TENSORS_SHARE,
		    .op = CHOIR_OP_PREMUL_SUM,
		    .one_type = CHOIR_F16 },
		  NULL },
		{ { .n = 50,
		    .low = 1,
		    .high = 3000,
		    .where = TENSORS_SHARE,
		    .op = CHOIR_OP_MEAN,
		    .one_type = CHOIR_F32,
		    .with_event = true },
		  "direct" },
		{ { .n = 50,
		    .low = 1,
		    .high = 90,
		    .where = TENSORS_SHARE,
		    .op = CHOIR_OP_SUM,
		    .one_type = CHOIR_F32,
		    .with_event = true },
		  "direct" },
		{ { .n = 50,
		    .low = 1,
		    .high = 90,
		    .where = TENSORS_SHARE_HOST,
		    .op = CHOIR_OP_SUM,
		    .one_type = CHOIR_F32,
		    .with_event = true },
		  "oneshot" },
		{ { .n = 24,
		    .low = 500,
		    .high = 900,
		    .where = TENSORS_SHARE_HOST,
		    .op = CHOIR_OP_SUM,
		    .one_type = CHOIR_F32,
		    .with_event = true },
		  "twoshot" },
		{ { .n = 50,
		    .low = 1,
		    .high = 900,
		    .where = TENSORS_SHARE_HOST,
		    .op = CHOIR_OP_MAX,
		    .one_type = -1,
		    .in_group = true },
		  NULL },
	};
	/* kernels go through slots */
	bool one_node = choir_comm_nodes(comm) == 1 && job->size > 1 && getenv("CHOIR_REDUCE") == NULL;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tensors_shape s = rows[i].shape;

		s.kept = (i + (size_t)job->rank) % 2 == 0;
		run(job, comm, &s, share, one_node ? rows[i].algorithm : NULL);
	}
}

/* The same addresses are registered again, but not under the same number: a list that is known, or kept (by even
 * ranks), must be looked up again. */
static void registered_again(struct job *job, choir_comm *comm)
{
	struct world *world = &job->world;
	struct tensors_shape s = {
		.n = 20, .low = 200, .high = 900, .where = TENSORS_SHARE, .op = CHOIR_OP_SUM, .one_type = CHOIR_F32
	};
	struct tensors *set = malloc(sizeof *set);
	void *memory[2] = { memory_map_shared(SHARE), memory_map_shared(SHARE) };
	int rank = choir_comm_rank(comm);

	s.kept = rank % 2 == 0;
	for (size_t round = 0; round < 2; round++) {
		OK(choir_mem_register(comm, memory[round], SHARE));
		OK(choir_mem_register(comm, memory[1 - round], SHARE));
		if (round == 0)
			tensors_make(set, comm, world->device, &s, (struct tensors_share){ memory[1], SHARE });
		tensors_fill(set, s.op, 1000 * round);
		ask(job, set, s.op, 1000 * round);
		OK(tensors_call(set, comm, &s));
		CHECK(tensors_are_right(set));
		OK(choir_mem_deregister(comm, memory[0]));
		OK(choir_mem_deregister(comm, memory[1]));
	}
	tensors_free(set);
	for (int i = 0; i < 2; i++)
		munmap(memory[i], SHARE);
	free(set);
}

/* The even ranks repeat their call; the tensors of the odd ones lie elsewhere in every other round. */
static void peers_move(struct job *job, choir_comm *comm, unsigned char *share)
{
	enum { TENSORS = 5, MOST = 501, ROUNDS = 8 };
	static const size_t counts[TENSORS] = { 1, 90, MOST, 3, 200 };
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm), n = choir_comm_size(comm);

	for (int round = 0; round < ROUNDS; round++) {
		size_t half = rank % 2 * (round % 2);
		int32_t(*in)[2][MOST] = (int32_t(*)[2][MOST])(void *)(share + half * (SHARE / 2));
		choir_tensor list[TENSORS];
		bool right = true;

		memset(share, 0xb7, SHARE);
		for (size_t i = 0; i < TENSORS; i++) {
			list[i] = (choir_tensor){ .send = choir_host(in[i][0]),
				                  .recv = choir_host(in[i][1]),
				                  .count = counts[i],
				                  .dtype = CHOIR_I32 };
			for (size_t k = 0; k < counts[i]; k++)
				in[i][0][k] = (int32_t)(1000 * i + k) + rank + 10 * round;
		}
		OK(choir_allreduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, NULL, NULL));
		for (size_t i = 0; i < TENSORS; i++)
			for (size_t k = 0; k < counts[i]; k++)
				right &= in[i][1][k] == n * ((int32_t)(1000 * i + k) + 10 * round) + n * (n - 1) / 2;
		CHECK(right);
	}
}

void case_multi(struct job *job)
{
	struct world *world = &job->world;
	struct tensors_share share = { NULL, SHARE };
	int rank = job->rank;
	choir_comm *comm;

	if (!job_comms(job, 1, "multi", &comm))
		return;
	if (OK(choir_mem_alloc(comm, SHARE, &share.base, NULL))) {
		in_all_memory(job, comm, share);
		peers_move(job, comm, share.base);
	}
	registered_again(job, comm);
	OK(choir_comm_destroy(comm));
}
