/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "case_columns.h"

#include <string.h>

const struct bench_case bench_cases[] = {
	{ .name = "allreduce",
	  .about = "everyone gets the reduction",
	  .reduces = true,
	  .same_output = true,
	  .can_be_in_place = true,
	  .by_elements = true,
	  .bus_rounds = 2,
	  .shape = shape_whole,
	  .span = span_reduced,
	  .run = collective_allreduce,
	  .mpi = mpi_allreduce },
	{ .name = "reduce_scatter",
	  .about = "everyone gets a block of the reduction",
	  .reduces = true,
	  .can_be_in_place = true,
	  .bus_rounds = 1,
	  .shape = shape_scatter,
	  .span = span_reduced_block,
	  .run = collective_reduce_scatter,
	  .mpi = mpi_reduce_scatter },
	{ .name = "reduce_scatterv",
	  .about = "the same with uneven blocks",
	  .reduces = true,
	  .can_be_in_place = true,
	  .bus_rounds = 1,
	  .shape = shape_scatterv,
	  .span = span_reduced_block,
	  .run = collective_reduce_scatterv,
	  .mpi = mpi_reduce_scatterv },
	{ .name = "allgather",
	  .about = "everyone gets everyone's block",
	  .same_output = true,
	  .can_be_in_place = true,
	  .bus_rounds = 1,
	  .shape = shape_gather,
	  .span = span_gathered,
	  .run = collective_allgather,
	  .mpi = mpi_allgather },
	{ .name = "allgatherv",
	  .about = "the same with uneven blocks",
	  .same_output = true,
	  .can_be_in_place = true,
	  .bus_rounds = 1,
	  .shape = shape_gatherv,
	  .span = span_gatheredv,
	  .run = collective_allgatherv,
	  .mpi = mpi_allgatherv },
	{ .name = "alltoall",
	  .about = "everyone has a block for everyone",
	  .can_be_in_place = true,
	  .bus_rounds = 1,
	  .shape = shape_alltoall,
	  .span = span_exchanged,
	  .run = collective_alltoall,
	  .mpi = mpi_alltoall },
	{ .name = "alltoallv",
	  .about = "the same with uneven blocks",
	  .bus_rounds = 1,
	  .shape = shape_alltoallv,
	  .span = span_exchangedv,
	  .run = collective_alltoallv,
	  .mpi = mpi_alltoallv },
	{ .name = "broadcast",
	  .about = "everyone gets what the root has",
	  .root_sends = true,
	  .same_output = true,
	  .can_be_in_place = true,
	  .by_elements = true,
	  .shape = shape_whole,
	  .span = span_of_root,
	  .run = collective_broadcast,
	  .mpi = mpi_broadcast },
	{ .name = "reduce",
	  .about = "the root gets the reduction",
	  .reduces = true,
	  .same_output = true,
	  .can_be_in_place = true,
	  .by_elements = true,
	  .shape = shape_whole,
	  .span = span_reduced_at_root,
	  .run = collective_reduce,
	  .mpi = mpi_reduce },
	{ .name = "barrier", .about = "no data", .shape = shape_none, .run = collective_barrier, .mpi = mpi_barrier },
	{ .name = "sendrecv",
	  .about = "to the next rank, from the one before",
	  .asks = "send",
	  .by_elements = true,
	  .shape = shape_whole,
	  .span = span_of_previous,
	  .run = collective_sendrecv,
	  .mpi = mpi_sendrecv },
};
const int n_bench_cases = sizeof bench_cases / sizeof *bench_cases;

const struct bench_case *case_find(const char *name)
{
	for (int i = 0; i < n_bench_cases; i++)
		if (strcmp(bench_cases[i].name, name) == 0)
			return &bench_cases[i];
	return NULL;
}

choir_status case_run(const struct job *job, choir_buffer send, choir_buffer recv, const choir_call *call,
                      choir_event **event_p)
{
	const struct collective_args args = { .comm = job->comm,
		                              .send = send,
		                              .recv = recv,
		                              .count = job->count,
		                              .send_counts = job->send_counts,
		                              .recv_counts = job->recv_counts,
		                              .dtype = job->dtype,
		                              .op = job->op,
		                              .root = job->root };

	return job->what->run(&args, call, event_p);
}

double case_bus_factor(const struct bench_case *what, int n)
{
	return what->bus_rounds > 0 ? what->bus_rounds * (n - 1.0) / n : 1;
}

bool case_has_output(const struct job *job, int rank)
{
	struct job there = *job;
	struct span span;

	there.rank = rank;
	return job->what->span != NULL && job->what->span(&there, 0, &span);
}
