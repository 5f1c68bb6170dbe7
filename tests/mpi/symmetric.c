/* SPDX-License-Identifier: MIT */
/* Symmetric memory over processes: the table in it, all buffers of a call in one allocation; what is chosen, and what
 * is chosen instead where one rank gives other memory. */
#include "mpi/cases.h"
#include "quick.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHARE = 4 << 20, COUNT = 5003 };

/* The name of the algorithm that ran, checked for its result. */
static const char *sum_in(struct job *job, choir_comm *comm, choir_buffer send, choir_buffer recv, int32_t *in,
                          int32_t *out, choir_event **event_p)
{
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm), n = choir_comm_size(comm);

	for (int i = 0; i < COUNT; i++)
		in[i] = rank * 7 + i;
	memset(out, SENTINEL, COUNT * sizeof *out);
	*event_p = NULL;
	if (!OK(choir_allreduce(comm, send, recv, COUNT, CHOIR_I32, CHOIR_OP_SUM, NULL, event_p)) ||
	    !OK(choir_event_wait(*event_p, -1)))
		return "none";
	for (int i = 0; i < COUNT; i++)
		if (out[i] != n * (n - 1) / 2 * 7 + n * i) {
			world_fail(world, rank, "symmetric: element %d is %d", i, (int)out[i]);
			break;
		}
	return choir_event_algorithm(*event_p);
}

/* One rank's send or recv lies elsewhere: right all the same, and told. */
static void falls_back(struct job *job, choir_comm *comm, unsigned char *share, bool direct)
{
	static int32_t plain[COUNT];
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm);

	for (int odd = -1; odd < choir_comm_size(comm); odd++)
		for (int which = 0; which < 2; which++) {
			int32_t *in = rank == odd && which == 0 ? plain : (int32_t *)(share + 64 * rank + 4);
			int32_t *out = rank == odd && which == 1 ? plain : (int32_t *)(share + SHARE / 2 + 12 * rank);
			choir_event *event;
			const char *name = sum_in(job, comm, choir_host(in), choir_host(out), in, out, &event);
			bool was_direct = strncmp(name, "direct", 6) == 0;

			if (was_direct != (direct && odd < 0))
				world_fail(world, rank, "symmetric, rank %d gives plain memory: the algorithm was %s",
				           odd, name);
			choir_event_release(event);
		}
}

/* The same blocking call again and again, so that the call cache finds it (exec/call_cache.h), with other contents each
 * time; `odd` gives memory that peers do not reach. */
static void repeat(struct job *job, choir_comm *comm, unsigned char *share, int odd)
{
	enum { FEW = 1031, ROUNDS = 6 };
	static int32_t plain[FEW];
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm), n = choir_comm_size(comm);
	int32_t *in = rank == odd ? plain : (int32_t *)(share + 64 * rank), *out = (int32_t *)(share + SHARE / 2);

	for (int round = 0; round < ROUNDS; round++) {
		bool right = true;

		for (int i = 0; i < FEW; i++)
			in[i] = rank * 7 + i + 3 * round;
		OK(choir_allreduce(comm, choir_host(in), choir_host(out), FEW, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
		for (int i = 0; i < FEW; i++) {
			right &=
			    out[i] == n * (n - 1) / 2 * 7 + n * (i + 3 * round) && in[i] == rank * 7 + i + 3 * round;
			in[i] = out[i] = SENTINEL; /* mine again */
		}
		CHECK(right);
	}
}

/* Addresses come back, as those of other symmetric memory. */
static void repeat_in_new(struct job *job, choir_comm *comm)
{
	struct world *world = &job->world;
	int rank = choir_comm_rank(comm);
	unsigned char *first, *second;

	for (int round = 0; round < 3; round++) {
		if (!OK(choir_mem_alloc(comm, SHARE, (void **)&first, NULL)) ||
		    !OK(choir_mem_alloc(comm, SHARE, (void **)&second, NULL)))
			return;
		repeat(job, comm, second, -1);
		repeat(job, comm, first, -1);
		OK(choir_mem_free(comm, first));
		for (int odd = -1; odd < choir_comm_size(comm); odd++)
			repeat(job, comm, second, odd);
		if (!OK(choir_mem_alloc(comm, SHARE, (void **)&first, NULL)))
			return;
		repeat(job, comm, second, -1);
		OK(choir_mem_free(comm, second));
		repeat(job, comm, first, -1);
		OK(choir_mem_free(comm, first));
	}
}

/* Addresses are registered again, under other numbers. */
static void repeat_in_other_order(struct job *job, choir_comm *comm)
{
	struct world *world = &job->world;
	unsigned char *memory[2] = { memory_map_shared(SHARE), memory_map_shared(SHARE) };
	int rank = choir_comm_rank(comm);

	for (int round = 0; round < 4; round++) {
		OK(choir_mem_register(comm, memory[round % 2], SHARE));
		OK(choir_mem_register(comm, memory[1 - round % 2], SHARE));
		repeat(job, comm, memory[0], -1);
		OK(choir_mem_deregister(comm, memory[0]));
		OK(choir_mem_deregister(comm, memory[1]));
	}
	for (int i = 0; i < 2; i++)
		munmap(memory[i], SHARE);
}

static void in_child(struct job *job, choir_comm *comm, unsigned char *share)
{
	struct world *world = &job->world;
	int rank = job->rank;
	choir_comm *child;

	if (!OK(choir_comm_split(comm, 0, -rank, &child)))
		return;
	memory_use(share, NULL, SHARE, 24);
	matrix_roots(world, choir_comm_rank(child), child, NULL);
	memory_use(NULL, NULL, 0, 0);
	falls_back(job, child, share, false);
	OK(choir_comm_destroy(child));
}

void case_symmetric(struct job *job)
{
	struct world *world = &job->world;
	int rank = job->rank;
	unsigned char *share, *more;
	choir_comm *comm;
	cl_mem mem;

	if (!job_comms(job, 1, "symmetric", &comm) || !OK(choir_mem_alloc(comm, SHARE, (void **)&share, &mem)))
		return;
	/* another offset on every rank, none on a line of 64 */
	memory_use(share, mem, SHARE, 16 * (2 * (size_t)rank + 1));
	matrix_roots(world, rank, comm, NULL);
	if (choir_comm_nodes(comm) == 1) { /* else it is memory like any other */
		if (!quick_wanted())
			matrix_types(world, rank, comm, job->size > 2 ? &job->size : NULL);
		matrix_sizes(world, rank, comm, world);
	}
	memory_use(NULL, NULL, 0, 0);
	falls_back(job, comm, share, job->size > 1 && choir_comm_nodes(comm) == 1);
	in_child(job, comm, share);
	repeat_in_new(job, comm);
	repeat_in_other_order(job, comm);
	IS(choir_mem_alloc(comm, rank == 0 && job->size > 1 ? 64 : 65 * (size_t)(job->size > 1), (void **)&more, NULL),
	   job->size > 1 ? CHOIR_MISMATCH : CHOIR_ARGUMENT);
	OK(choir_mem_alloc(comm, SHARE, (void **)&more, NULL));
	OK(choir_mem_free(comm, share));
	falls_back(job, comm, more, job->size > 1 && choir_comm_nodes(comm) == 1);
	OK(choir_comm_destroy(comm)); /* and the second share */
}
