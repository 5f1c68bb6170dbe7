/* SPDX-License-Identifier: MIT */
#include "world/repeated_many.h"

#include "exec/prepared.h"
#include "world/gate.h"

enum { CALLS = 300, NEW_CALLS = 2000, ROUNDS = 6, ALIKE = 5, ALIKE_ROUNDS = 1000 };

static int32_t given[NEW_CALLS], got[NEW_CALLS];

static void reduce_each(struct world *world, int rank, choir_comm *comm, int n, int round)
{
	for (int i = 0; i < n; i++) {
		given[i] = 1000 * round + i;
		got[i] = -1;
		OK(choir_allreduce(comm, choir_host(&given[i]), choir_host(&got[i]), 1, CHOIR_I32, CHOIR_OP_SUM, NULL,
		                   NULL));
		CHECK(got[i] == given[i]);
	}
}

static int count_kept(const choir_comm *comm)
{
	int n = 0;

	for (uint32_t i = 0; i <= comm->engine.cache.last; i++)
		n += comm->engine.cache.entries[i].prepared != NULL;
	return n;
}

/* A few calls may push each other out. */
static void come_back(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++)
		reduce_each(world, rank, comm, CALLS, round);
	CHECK(count_kept(comm) > CALLS - CALLS / 20 && count_kept(comm) <= CALLS);
}

static void are_new(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	reduce_each(world, rank, comm, NEW_CALLS, 0);
	CHECK(comm->engine.cache.last == PREPARED_FIRST - 1 && count_kept(comm) > PREPARED_FIRST / 2);
}

/* --- calls on the same buffers --- */

struct buffers {
	int32_t in[4 * ALIKE], out[4 * ALIKE];
};

typedef choir_status (*alike_fn)(choir_comm *comm, struct buffers *b, int i);

static choir_status by_lists(choir_comm *comm, struct buffers *b, int i)
{
	size_t counts[] = { 1 + (size_t)i, 1 + (size_t)i };

	return choir_alltoallv(comm, choir_host(b->in), counts, NULL, choir_host(b->out), counts, NULL, CHOIR_I32, NULL,
	                       NULL);
}

static choir_status by_places(choir_comm *comm, struct buffers *b, int i)
{
	static const size_t counts[] = { 1, 1 };
	size_t places[] = { 0, 1 + (size_t)i };

	return choir_allgatherv(comm, choir_host(b->in), 1, choir_host(b->out), counts, places, CHOIR_I32, NULL, NULL);
}

static choir_status by_dtype_and_op(choir_comm *comm, struct buffers *b, int i)
{
	static const choir_dtype dtypes[] = { CHOIR_I32, CHOIR_U32, CHOIR_F32, CHOIR_I32, CHOIR_F32 };
	static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_SUM, CHOIR_OP_SUM, CHOIR_OP_MAX, CHOIR_OP_MIN };

	return choir_allreduce(comm, choir_host(b->in), choir_host(b->out), 1, dtypes[i], ops[i], NULL, NULL);
}

static choir_status by_options(choir_comm *comm, struct buffers *b, int i)
{
	static const char *const options[] = { "chunk_bytes=4096", "chunk_bytes=8192", "algorithm=oneshot",
		                               "order=ranks", "algorithm=twoshot" };
	choir_call call = CHOIR_CALL_INIT;

	call.options = options[i];
	return choir_allreduce(comm, choir_host(b->in), choir_host(b->out), 1, CHOIR_I32, CHOIR_OP_SUM, &call, NULL);
}

static choir_status by_factor(choir_comm *comm, struct buffers *b, int i)
{
	choir_call call = CHOIR_CALL_INIT;

	call.factor = 1 / (1.0 + i);
	return choir_allreduce(comm, choir_host(b->in), choir_host(b->out), 1, CHOIR_F32, CHOIR_OP_PREMUL_SUM, &call,
	                       NULL);
}

static choir_status by_tensors(choir_comm *comm, struct buffers *b, int i)
{
	choir_tensor tensors[] = { { choir_host(b->in), choir_host(b->out), 1, CHOIR_I32 },
		                   { choir_host(b->in + 1), choir_host(b->out + 1), 1 + (size_t)i, CHOIR_I32 } };

	return choir_allreduce_multi(comm, tensors, 2, CHOIR_OP_SUM, NULL, NULL);
}

/* Rank 1 receives blocks of different lengths. */
static choir_status by_recv_count(choir_comm *comm, struct buffers *b, int i)
{
	int peer = 1 - choir_comm_rank(comm);

	return choir_sendrecv(comm, choir_host(b->in), peer == 1 ? 1 + (size_t)i : 1, peer, choir_host(b->out),
	                      peer == 1 ? 1 : 1 + (size_t)i, peer, CHOIR_I32, NULL, NULL);
}

/* Are all found at last?  A call that another thread's drive keeps from inline execution may be prepared anew, so one
 * round of all ranks is enough. */
static void alike(struct world *world, int rank, choir_comm *comm, void *fn)
{
	const struct prepared *latest;
	struct buffers b = { .in = { 0 } };
	int32_t found = 0;

	for (int round = 0; round < ALIKE_ROUNDS && found == 0; round++) {
		latest = comm->engine.cache.latest;
		for (int i = 0; i < ALIKE; i++)
			OK((*(const alike_fn *)fn)(comm, &b, i));
		found = comm->engine.cache.latest == latest;
		OK(choir_allreduce(comm, choir_host(&found), choir_host(&found), 1, CHOIR_I32, CHOIR_OP_MIN, NULL,
		                   NULL));
	}
	CHECK(found == 1);
}

void test_repeated_many(void **state)
{
	static const alike_fn alikes[] = { by_lists,  by_places,  by_dtype_and_op, by_options,
		                           by_factor, by_tensors, by_recv_count };

	(void)state;
	line_up_run(1, 0, 20000, come_back, NULL);
	line_up_run(1, 0, 20000, are_new, NULL);
	for (size_t i = 0; i < sizeof alikes / sizeof *alikes; i++)
		line_up_run(2, 0, 20000, alike, (void *)&alikes[i]);
}
