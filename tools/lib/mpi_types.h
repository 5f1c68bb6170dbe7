/* SPDX-License-Identifier: MIT */
/* choir's types and operators in MPI's words. */
#ifndef LIB_MPI_TYPES_H
#define LIB_MPI_TYPES_H

#include <choir/types.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* mpi_type_of: narrow floats are moved as integers. */
static inline MPI_Datatype mpi_type_of(choir_dtype dtype)
{
	switch (dtype) {
	case CHOIR_I8:
		return MPI_INT8_T;
	case CHOIR_U8:
	case CHOIR_F8E4M3:
	case CHOIR_F8E5M2:
		return MPI_UINT8_T;
	case CHOIR_I16:
		return MPI_INT16_T;
	case CHOIR_U16:
	case CHOIR_F16:
	case CHOIR_BF16:
		return MPI_UINT16_T;
	case CHOIR_I32:
		return MPI_INT32_T;
	case CHOIR_U32:
		return MPI_UINT32_T;
	case CHOIR_I64:
		return MPI_INT64_T;
	case CHOIR_U64:
		return MPI_UINT64_T;
	case CHOIR_F32:
		return MPI_FLOAT;
	case CHOIR_F64:
		return MPI_DOUBLE;
	case CHOIR_BOOL:
		return MPI_C_BOOL;
	case CHOIR_F32_I32:
		return MPI_FLOAT_INT;
	case CHOIR_F64_I32:
		return MPI_DOUBLE_INT;
	case CHOIR_I32_I32:
		return MPI_2INT;
	case CHOIR_I64_I32:
		return MPI_LONG_INT;
	default:
		return MPI_DATATYPE_NULL;
	}
}

/* mpi_op_of: mean is a sum, for mpi_divide to divide.  MPI_OP_NULL: MPI has no such operator. */
static inline MPI_Op mpi_op_of(choir_dtype dtype, choir_op op)
{
	int boolean = dtype == CHOIR_BOOL;

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
	case CHOIR_OP_LOGICAL_XOR:
		return MPI_LXOR;
	case CHOIR_OP_MINLOC:
		return MPI_MINLOC;
	case CHOIR_OP_MAXLOC:
		return MPI_MAXLOC;
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

/* mpi_divide: count elements by n. */
static inline void mpi_divide(choir_dtype dtype, void *data, size_t count, int n)
{
#define DIVIDE(type)                                                                                                   \
	for (size_t i = 0; i < count; i++)                                                                             \
		((type *)data)[i] /= (type)n;                                                                          \
	break
	switch (dtype) {
	case CHOIR_I8:
		DIVIDE(int8_t);
	case CHOIR_U8:
		DIVIDE(uint8_t);
	case CHOIR_I16:
		DIVIDE(int16_t);
	case CHOIR_U16:
		DIVIDE(uint16_t);
	case CHOIR_I32:
		DIVIDE(int32_t);
	case CHOIR_U32:
		DIVIDE(uint32_t);
	case CHOIR_I64:
		DIVIDE(int64_t);
	case CHOIR_U64:
		DIVIDE(uint64_t);
	case CHOIR_F32:
		DIVIDE(float);
	case CHOIR_F64:
		DIVIDE(double);
	default:
		break;
	}
#undef DIVIDE
}

#endif
