/* SPDX-License-Identifier: MIT */
/* order=ranks over MPI's transport: the bits of MPI's gather and a fold on one rank, by every algorithm that keeps the
 * order and in any cut into calls; without it another algorithm has other bits. */
#include "mpi/cases.h"
#include "seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20000, MOST_CUTS = 4, OPTION_BYTES = MATRIX_OPTION_BYTES + 32 };

struct asked {
	float *send, *recv, *all, *wanted;
};

/* Values whose sums depend on their order. */
static void fill(struct job *job, struct asked *asked)
{
	uint64_t random = random_mix((uint64_t)job->rank + 1);

	for (int i = 0; i < COUNT; i++) {
		uint64_t bits = random_next(&random);

		asked->send[i] = (float)(bits >> 44) * (float)(1 << bits % 12) * (bits & 4096 ? 1.0f : -1.0f);
	}
	MPI_Allgather(asked->send, COUNT, MPI_FLOAT, asked->all, COUNT, MPI_FLOAT, MPI_COMM_WORLD);
	memcpy(asked->wanted, asked->all, COUNT * sizeof(float));
	for (int r = 1; r < job->size; r++)
		for (int i = 0; i < COUNT; i++)
			asked->wanted[i] += asked->all[(size_t)r * COUNT + (size_t)i];
}

/* In so many calls, of which the status of the first that fails is returned. */
static choir_status sum(choir_comm *comm, const struct asked *asked, const char *options, int n_cuts)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_status st = CHOIR_SUCCESS;
	size_t from = 0;

	call.options = options;
	memset(asked->recv, 0, COUNT * sizeof(float));
	for (int cut = 1; cut <= n_cuts && st == CHOIR_SUCCESS; cut++) {
		size_t to = cut == n_cuts ? COUNT : (size_t)cut * 701 + (size_t)(cut % 2);

		st = choir_allreduce(comm, choir_host(asked->send + from), choir_host(asked->recv + from), to - from,
		                     CHOIR_F32, CHOIR_OP_SUM, &call, NULL);
		from = to;
	}
	return st;
}

static bool is_the_fold(const struct asked *asked)
{
	return memcmp(asked->recv, asked->wanted, COUNT * sizeof(float)) == 0;
}

static void every_algorithm(struct job *job, choir_comm *comm, const struct asked *asked)
{
	char names[MATRIX_OPTIONS][MATRIX_OPTION_BYTES], options[OPTION_BYTES];
	size_t n = matrix_options(comm, "allreduce", names), ran = 0;

	for (size_t o = 0; o < n; o++)
		for (int cuts = 1; cuts <= MOST_CUTS; cuts++) {
			choir_status st;

			snprintf(options, sizeof options, "order=ranks, %s", names[o]);
			st = sum(comm, asked, options, cuts);
			if (o > 0 && (st == CHOIR_UNSUPPORTED || st == CHOIR_ARGUMENT)) /* unfit, or in another order */
				continue;
			ran++;
			if (world_is(&job->world, job->rank, st, CHOIR_SUCCESS, options) && !is_the_fold(asked))
				world_fail(&job->world, job->rank, "%s in %d calls: not the fold's bits", options,
				           cuts);
		}
	/* by the rules' choice, pairwise, broadcast and rank_chain at least */
	if (ran < (job->size == 1 ? 1 : 4) * MOST_CUTS)
		world_fail(&job->world, job->rank, "order=ranks: only %zu sums ran", ran);
}

void case_order(struct job *job)
{
	struct asked asked = { calloc(COUNT, sizeof(float)), calloc(COUNT, sizeof(float)),
		               calloc((size_t)job->size * COUNT, sizeof(float)), calloc(COUNT, sizeof(float)) };
	choir_comm *comm;

	if (!job_comms(job, 1, "order", &comm))
		return;
	fill(job, &asked);
	every_algorithm(job, comm, &asked);
	if (job->size > 2 &&
	    world_is(&job->world, job->rank, sum(comm, &asked, "algorithm=ring", 1), CHOIR_SUCCESS,
	             "a sum by a ring") &&
	    is_the_fold(&asked))
		world_fail(&job->world, job->rank, "a ring has the fold's bits too: the values show no order");
	choir_comm_destroy(comm);
	free(asked.send);
	free(asked.recv);
	free(asked.all);
	free(asked.wanted);
}
