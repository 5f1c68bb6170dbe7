/* SPDX-License-Identifier: MIT */
#include "world/repeated_memory.h"

#include "exec/comm.h"
#include "world/gate.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 515 /* beyond where shared buffers are used as they are */, BLOCKS = 3, SENTINEL = -77 };

static int32_t given_by(int rank, size_t i, int round)
{
	return 5000 * (rank + 1) + (int32_t)i + 3 * round;
}

enum kind { ALLREDUCE, IN_PLACE, REDUCE, BROADCAST, ALLGATHER, ALLTOALL, REDUCE_SCATTER, KINDS };

struct both {
	int32_t in[BLOCKS * COUNT], out[BLOCKS * COUNT];
};

static choir_status call_of(choir_comm *comm, enum kind kind, choir_buffer in, choir_buffer out)
{
	switch (kind) {
	case ALLREDUCE:
		return choir_allreduce(comm, in, out, COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	case IN_PLACE:
		return choir_allreduce(comm, out, out, COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	case REDUCE:
		return choir_reduce(comm, in, out, COUNT, CHOIR_I32, CHOIR_OP_SUM, 0, NULL, NULL);
	case BROADCAST:
		return choir_broadcast(comm, in, out, COUNT, CHOIR_I32, 1, NULL, NULL);
	case ALLGATHER:
		return choir_allgather(comm, in, out, COUNT, CHOIR_I32, NULL, NULL);
	case ALLTOALL:
		return choir_alltoall(comm, in, out, COUNT, CHOIR_I32, NULL, NULL);
	default:
		return choir_reduce_scatter(comm, in, out, COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	}
}

static int32_t wanted_at(enum kind kind, int rank, int n, size_t i, int round)
{
	size_t block = i / COUNT;
	int32_t sum = 0;

	if (kind == ALLGATHER && block < (size_t)n)
		return given_by((int)block, i % COUNT, round);
	if (kind == ALLTOALL && block < (size_t)n)
		return given_by((int)block, (size_t)rank * COUNT + i % COUNT, round);
	if (block > 0 || kind == ALLGATHER || kind == ALLTOALL || (kind == REDUCE && rank != 0))
		return SENTINEL;
	if (kind == BROADCAST)
		return given_by(1, i, round);
	for (int from = 0; from < n; from++)
		sum += given_by(from, kind == REDUCE_SCATTER ? (size_t)rank * COUNT + i : i, round);
	return sum;
}

static void fill(struct both *b, enum kind kind, int rank, int round)
{
	for (size_t i = 0; i < BLOCKS * COUNT; i++) {
		b->in[i] = given_by(rank, i, round);
		b->out[i] = kind == IN_PLACE && i < COUNT ? b->in[i] : SENTINEL;
	}
}

static bool is_right(const struct both *b, enum kind kind, int rank, int n, int round)
{
	for (size_t i = 0; i < BLOCKS * COUNT; i++)
		if (b->out[i] != wanted_at(kind, rank, n, i, round) ||
		    (kind != IN_PLACE && b->in[i] != given_by(rank, i, round)))
			return false;
	return true;
}

/* As soon as a call is over its buffers are the caller's: he writes to them at once, while peers may still be in it. */
static void written_at_once(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct both b;

	(void)unused;
	for (int kind = 0; kind < KINDS; kind++)
		for (int round = 0; round < 40; round++) {
			fill(&b, (enum kind)kind, rank, round);
			OK(call_of(comm, (enum kind)kind, choir_host(b.in), choir_host(b.out)));
			if (kind != IN_PLACE) /* once more while all are here */
				OK(call_of(comm, (enum kind)kind, choir_host(b.in), choir_host(b.out)));
			CHECK(is_right(&b, (enum kind)kind, rank, world->n, round));
		}
}

/* The same call again and again, while the others' buffers are now here, now there.  Of where they were the contents
 * are another round's. */
static void peers_move(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct both b[2];

	(void)unused;
	for (int kind = 0; kind < KINDS; kind++)
		for (int round = 0; round < 12; round++) {
			int here = rank == 0 ? 0 : round / 3 % 2;

			fill(&b[!here], (enum kind)kind, rank, round + 100);
			fill(&b[here], (enum kind)kind, rank, round);
			OK(call_of(comm, (enum kind)kind, choir_host(b[here].in), choir_host(b[here].out)));
			CHECK(is_right(&b[here], (enum kind)kind, rank, world->n, round));
		}
}

/* Handles come back as those of other memory, elsewhere. */
static void mems_die(struct world *world, int rank, choir_comm *comm, void *unused)
{
	cl_context context = choir_device_context(world->device);
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(context, choir_device_id(world->device), NULL, NULL);
	struct both b;

	(void)unused;
	for (int round = 0; round < 30; round++) {
		cl_mem in, out;

		fill(&b, ALLREDUCE, rank, round);
		in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, COUNT * sizeof *b.in + 2048 * (size_t)(round % 3),
		                    b.in, NULL);
		out = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR,
		                     COUNT * sizeof *b.out + 2048 * (size_t)((round + 1) % 3), b.out, NULL);
		for (int k = 0; k < 3; k++)
			OK(call_of(comm, ALLREDUCE, choir_mem(in, 0), choir_mem(out, 0)));
		CHECK(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, COUNT * sizeof *b.out, b.out, 0, NULL, NULL) ==
		      CL_SUCCESS);
		CHECK(is_right(&b, ALLREDUCE, rank, world->n, round));
		clReleaseMemObject(in);
		clReleaseMemObject(out);
	}
	clReleaseCommandQueue(queue);
}

/* After some calls that were the same, rank 1's is shorter. */
static void shorter(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct both b;

	(void)unused;
	fill(&b, ALLREDUCE, rank, 0);
	for (int round = 0; round < 4; round++)
		OK(call_of(comm, ALLREDUCE, choir_host(b.in), choir_host(b.out)));
	if (rank == 0)
		IS(call_of(comm, ALLREDUCE, choir_host(b.in), choir_host(b.out)), CHOIR_MISMATCH);
	else
		SAYS(choir_allreduce(comm, choir_host(b.in), choir_host(b.out), COUNT - 1, CHOIR_I32, CHOIR_OP_SUM,
		                     NULL, NULL),
		     CHOIR_MISMATCH, "515 x i32|514 x i32");
	/* sticky, for a call that was right */
	IS(call_of(comm, ALLREDUCE, choir_host(b.in), choir_host(b.out)), CHOIR_MISMATCH);
}

void test_repeated_memory(void **state)
{
	(void)state;
	for (int n = 1; n <= BLOCKS; n++)
		line_up_run(n, 0, 20000, n > 1 ? written_at_once : mems_die, NULL);
	for (int n = 2; n <= BLOCKS; n++)
		line_up_run(n, 0, 20000, peers_move, NULL);
	line_up_run(2, 0, 20000, mems_die, NULL);
	line_up_run(2, 0, 20000, shorter, NULL);
}
