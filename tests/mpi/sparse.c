/* SPDX-License-Identifier: MIT */
/* sparse_allreduce against the plain reference, bit for bit: unsorted duplicates, empty ranks, both algorithms, host
 * and cl_mem. */
#include "mpi/cases.h"
#include "world/sparse_flight.h"

static const struct sparse_call calls[] = {
	{ 1, 0, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, 16, 200, 300, 3, true, .options = "algorithm=allgather" },
	{ 2, 0, CHOIR_I64, CHOIR_F32, CHOIR_OP_SUM, 16, 200, 300, 3, true, .options = "algorithm=split" },
	{ 3, 0, CHOIR_I64, CHOIR_F64, CHOIR_OP_MEAN, 3, 50, 100, 3, false, .options = NULL },
	{ 4, 0, CHOIR_I32, CHOIR_F16, CHOIR_OP_SUM, 5, 1000000, 257, 3, true, .options = NULL },
	{ 5, 0, CHOIR_I32, CHOIR_BF16, CHOIR_OP_MAX, 1, 30, 64, 3, false, .options = "algorithm=split" },
	{ 6, 0, CHOIR_I32, CHOIR_F32, CHOIR_OP_MIN, 8, 100000, 5000, 3, true, .options = NULL },
	{ 7, 0, CHOIR_I64, CHOIR_F32, CHOIR_OP_PROD, 2, 10, 20, 3, false, .options = "algorithm=allgather" },
	{ 8, 0, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, 4, 100, 0, 3, false, .options = NULL }, /* all ranks are empty */
};

void case_sparse(struct job *job)
{
	choir_comm *comm;

	if (!job_comms(job, 1, "sparse", &comm))
		return;
	for (uint64_t round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
			struct sparse_call call = calls[i];

			call.n = choir_comm_size(comm);
			call.seed += 100 * round;
			sparse_call_make(&call); /* every rank makes all ranks' inputs */
			sparse_flight_run(&job->world, choir_comm_rank(comm), comm, &call, RECEIVES);
			sparse_call_free(&call);
		}
	choir_comm_destroy(comm);
}
