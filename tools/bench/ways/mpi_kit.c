/* SPDX-License-Identifier: MIT */
#include "mpi_kit.h"

#include "bench/ranks/world.h"

#include <limits.h>
#include <stdio.h>

static MPI_Datatype type_of(choir_dtype dtype)
{
	const MPI_Datatype types[] = {
		[CHOIR_I8] = MPI_INT8_T,    [CHOIR_U8] = MPI_UINT8_T,   [CHOIR_I16] = MPI_INT16_T,  [CHOIR_U16] = MPI_UINT16_T,
		[CHOIR_I32] = MPI_INT32_T,  [CHOIR_U32] = MPI_UINT32_T, [CHOIR_I64] = MPI_INT64_T,  [CHOIR_U64] = MPI_UINT64_T,
		[CHOIR_F16] = MPI_UINT16_T, [CHOIR_BF16] = MPI_UINT16_T, [CHOIR_F32] = MPI_FLOAT,   [CHOIR_F64] = MPI_DOUBLE,
		[CHOIR_BOOL] = MPI_C_BOOL,
	};

	return (size_t)dtype < sizeof types / sizeof *types ? types[dtype] : MPI_DATATYPE_NULL;
}

static MPI_Op op_of(choir_op op, bool boolean)
{
	switch (op) {
	case CHOIR_OP_SUM:
		return boolean ? MPI_LOR : MPI_SUM;
	case CHOIR_OP_MEAN:
		return boolean ? MPI_OP_NULL : MPI_SUM;
	case CHOIR_OP_PROD:
		return boolean ? MPI_LAND : MPI_PROD;
	case CHOIR_OP_MIN:
		return boolean ? MPI_LAND : MPI_MIN;
	case CHOIR_OP_MAX:
		return boolean ? MPI_LOR : MPI_MAX;
	case CHOIR_OP_LOGICAL_AND:
		return MPI_LAND;
	case CHOIR_OP_LOGICAL_OR:
		return MPI_LOR;
	case CHOIR_OP_BAND:
		return boolean ? MPI_LAND : MPI_BAND;
	case CHOIR_OP_BOR:
		return boolean ? MPI_LOR : MPI_BOR;
	case CHOIR_OP_BXOR:
		return boolean ? MPI_LXOR : MPI_BXOR;
	default:
		return MPI_OP_NULL;
	}
}

const char *mpi_kit_open(const struct job *job, struct mpi_kit *kit)
{
	if (!job->world->has_mpi)
		return "without mpiexec there is no MPI to compare with";
	if (job->bytes / job->elem_bytes > INT_MAX) /* the whole, so that all ranks say the same */
		return "more elements than an int counts";
	*kit = (struct mpi_kit){ .comm = job->world->comm, .type = type_of(job->dtype), .op = MPI_OP_NULL };
	if (kit->type == MPI_DATATYPE_NULL)
		return "MPI has no such type";
	if (!job->what->reduces)
		return NULL;
	if (job->dtype == CHOIR_F16 || job->dtype == CHOIR_BF16)
		return "MPI does not reduce 16-bit floats";
	kit->op = op_of(job->op, job->dtype == CHOIR_BOOL);
	return kit->op == MPI_OP_NULL ? "MPI has no such operator" : NULL;
}

#define DIVIDE(type)                                           \
	do {                                                   \
		type *x = data;                                \
		for (size_t i = 0; i < count; i++)             \
			x[i] = (type)(x[i] / (type)n);         \
	} while (0)

static void divide(choir_dtype dtype, void *data, size_t count, int n)
{
	switch (dtype) {
	case CHOIR_I8:
		DIVIDE(int8_t);
		break;
	case CHOIR_U8:
		DIVIDE(uint8_t);
		break;
	case CHOIR_I16:
		DIVIDE(int16_t);
		break;
	case CHOIR_U16:
		DIVIDE(uint16_t);
		break;
	case CHOIR_I32:
		DIVIDE(int32_t);
		break;
	case CHOIR_U32:
		DIVIDE(uint32_t);
		break;
	case CHOIR_I64:
		DIVIDE(int64_t);
		break;
	case CHOIR_U64:
		DIVIDE(uint64_t);
		break;
	case CHOIR_F32:
		DIVIDE(float);
		break;
	case CHOIR_F64:
		DIVIDE(double);
		break;
	default:
		break;
	}
}

int mpi_kit_run(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)
{
	struct span span;

	if (job->what->mpi(job, kit, send, recv) != MPI_SUCCESS) {
		fprintf(stderr, "choir-bench: rank %d: MPI failed in %s\n", job->rank, job->what->name);
		return EXIT_WRONG;
	}
	if (job->what->reduces && job->op == CHOIR_OP_MEAN && job->what->span(job, 0, &span))
		divide(job->dtype, recv, span.count, job->n);
	return EXIT_FINE;
}
