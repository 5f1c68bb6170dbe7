/* SPDX-License-Identifier: MIT */
#include "mpi_kit.h"

#include "bench/ranks/world.h"
#include "lib/mpi_types.h"

#include <limits.h>
#include <stdio.h>

const char *mpi_kit_open(const struct job *job, struct collective_mpi *mpi)
{
	if (!job->world->has_mpi)
		return "without mpiexec there is no MPI to compare with";
	if (job->bytes / job->elem_bytes > INT_MAX) /* the whole, so that all ranks say the same */
		return "more elements than an int counts";
	collective_mpi_init(mpi, &job->shape, &job->layout, job->rank);
	mpi->comm = job->world->comm;
	mpi->type = mpi_type_of(job->dtype);
	mpi->op = MPI_OP_NULL;
	if (mpi->type == MPI_DATATYPE_NULL)
		return "MPI has no such type";
	if (!job->what->reduces)
		return NULL;
	if (job->dtype == CHOIR_F16 || job->dtype == CHOIR_BF16 || job->dtype == CHOIR_F8E4M3 ||
	    job->dtype == CHOIR_F8E5M2)
		return "MPI does not reduce 16-bit and 8-bit floats";
	mpi->op = mpi_op_of(job->dtype, job->op);
	return mpi->op == MPI_OP_NULL ? "MPI has no such operator" : NULL;
}

int mpi_kit_run(const struct job *job, struct collective_mpi *mpi, void *send, void *recv)
{
	struct collective_shape shape = job->shape;
	struct span span;

	if (job_by_elements(job)) /* it may be a piece of the job */
		shape.count = mpi->layout->count;
	if (collective_mpi_call(mpi, send, recv, NULL) != MPI_SUCCESS) {
		fprintf(stderr, "choir-bench: rank %d: MPI failed in %s\n", job->rank, job->what->name);
		return EXIT_WRONG;
	}
	if (job->what->reduces && job->op == CHOIR_OP_MEAN && collective_span(&shape, job->rank, 0, &span))
		mpi_divide(job->dtype, recv, span.count, job->n);
	return EXIT_FINE;
}
