/* SPDX-License-Identifier: MIT */
/* Tags of sends and recvs, and a recorded sequence, over MPI's transport: ring 3's calls. */
#include "mpi/cases.h"
#include "world/chained.h"
#include "world/tag_calls.h"

static void run(struct job *job, const char *name, world_fn fn)
{
	choir_comm *comm;

	if (!job_comms(job, 1, name, &comm))
		return;
	fn(&job->world, job->rank, comm, NULL);
	choir_comm_destroy(comm);
}

void case_tags(struct job *job)
{
	run(job, "tags", tags_in_other_order);
	run(job, "many tags", tags_many);
}

void case_sequences(struct job *job)
{
	run(job, "sequences", chained);
}
