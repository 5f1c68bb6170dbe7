/* SPDX-License-Identifier: MIT */
/* An operator of the caller's own that is not commutative, over processes: MPI_Op_create is the oracle. */
#include "mpi/cases.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 3000 };

/* Products of 2 x 2 matrices of 16-bit integers, packed, row by row. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t out = 0;

	for (int row = 0; row < 2; row++)
		for (int column = 0; column < 2; column++) {
			uint32_t left = (uint16_t)(a >> (32 * row)), right = (uint16_t)(a >> (32 * row + 16));
			uint32_t top = (uint16_t)(b >> (16 * column)), bottom = (uint16_t)(b >> (32 + 16 * column));

			out |= (uint64_t)(uint16_t)(left * top + right * bottom) << (32 * row + 16 * column);
		}
	return out;
}

static void fold(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((uint64_t *)acc)[i] = multiply(((uint64_t *)acc)[i], ((const uint64_t *)src)[i]);
}

/* inout = in op inout. */
static void mpi_fold(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *count; i++)
		((uint64_t *)inout)[i] = multiply(((uint64_t *)in)[i], ((uint64_t *)inout)[i]);
}

struct asked {
	uint64_t *send, *recv, *wanted;
	choir_op op;
	MPI_Op mpi;
};

static void compare(struct job *job, const char *what, choir_status st, const struct asked *asked, size_t count)
{
	struct world *world = &job->world;

	world_is(world, job->rank, st, CHOIR_SUCCESS, what);
	if (memcmp(asked->recv, asked->wanted, count * 8) != 0)
		world_fail(world, job->rank, "%s by an operator of the caller's: not what MPI gets", what);
}

static void reduce(struct job *job, choir_comm *comm, const struct asked *asked)
{
	choir_buffer send = choir_host(asked->send), recv = choir_host(asked->recv);
	int each = COUNT / job->size, root = job->size - 1;

	MPI_Allreduce(asked->send, asked->wanted, COUNT, MPI_UINT64_T, asked->mpi, MPI_COMM_WORLD);
	compare(job, "allreduce", choir_allreduce(comm, send, recv, COUNT, CHOIR_U64, asked->op, NULL, NULL), asked,
	        COUNT);
	MPI_Reduce(asked->send, asked->wanted, COUNT, MPI_UINT64_T, asked->mpi, root, MPI_COMM_WORLD);
	compare(job, "reduce", choir_reduce(comm, send, recv, COUNT, CHOIR_U64, asked->op, root, NULL, NULL), asked,
	        COUNT);
	MPI_Reduce_scatter_block(asked->send, asked->wanted, each, MPI_UINT64_T, asked->mpi, MPI_COMM_WORLD);
	compare(job, "reduce_scatter",
	        choir_reduce_scatter(comm, send, recv, (size_t)each, CHOIR_U64, asked->op, NULL, NULL), asked,
	        (size_t)each);
	MPI_Scan(asked->send, asked->wanted, COUNT, MPI_UINT64_T, asked->mpi, MPI_COMM_WORLD);
	compare(job, "scan", choir_scan(comm, send, recv, COUNT, CHOIR_U64, asked->op, NULL, NULL), asked, COUNT);
	MPI_Exscan(asked->send, asked->wanted, COUNT, MPI_UINT64_T, asked->mpi, MPI_COMM_WORLD);
	compare(job, "exscan", choir_exscan(comm, send, recv, COUNT, CHOIR_U64, asked->op, NULL, NULL), asked,
	        job->rank > 0 ? COUNT : 0);
}

void case_op(struct job *job)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	struct asked asked = { calloc(COUNT, 8), calloc(COUNT, 8), calloc(COUNT, 8), -1, MPI_OP_NULL };
	choir_comm *comm;

	config.name = "matrices";
	config.fold = fold;
	config.commutative = 0;
	if (!world_is(&job->world, job->rank, choir_op_create(&config, &asked.op), CHOIR_SUCCESS, "choir_op_create") ||
	    !job_comms(job, 1, "op", &comm))
		return;
	for (size_t i = 0; i < COUNT; i++)
		asked.send[i] = (i + 3) * UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(2 * job->rank + 1);
	MPI_Op_create(mpi_fold, 0, &asked.mpi);
	reduce(job, comm, &asked);
	MPI_Op_free(&asked.mpi);
	choir_comm_destroy(comm);
	choir_op_destroy(asked.op);
	free(asked.send);
	free(asked.recv);
	free(asked.wanted);
}
