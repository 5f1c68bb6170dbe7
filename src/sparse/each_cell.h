/* SPDX-License-Identifier: MIT */
/* The rows of a table [dtype][op] of loops, for every pair that is defined: EACH_CELL, made of the includer's
 * CELL(dtype, op). */
#ifndef SPARSE_EACH_CELL_H
#define SPARSE_EACH_CELL_H

#define EACH_DTYPES 13
#define EACH_OPS    12

#define EACH_OP(dtype)                                                                                                 \
	CELL(dtype, SUM), CELL(dtype, PROD), CELL(dtype, MIN), CELL(dtype, MAX), CELL(dtype, MEAN),                    \
	    CELL(dtype, SQUARE_ADD)
#define EACH_OP_BITS(dtype) EACH_OP(dtype), CELL(dtype, BAND), CELL(dtype, BOR), CELL(dtype, BXOR)
#define EACH_CELL \
	{ \
		[CHOIR_I8] = { EACH_OP_BITS(I8) }, \
		[CHOIR_U8] = { EACH_OP_BITS(U8) }, \
		[CHOIR_I16] = { EACH_OP_BITS(I16) }, \
		[CHOIR_U16] = { EACH_OP_BITS(U16) }, \
		[CHOIR_I32] = { EACH_OP_BITS(I32) }, \
		[CHOIR_U32] = { EACH_OP_BITS(U32) }, \
		[CHOIR_I64] = { EACH_OP_BITS(I64) }, \
		[CHOIR_U64] = { EACH_OP_BITS(U64) }, \
		[CHOIR_F16] = { EACH_OP(F16) }, \
		[CHOIR_BF16] = { EACH_OP(BF16) }, \
		[CHOIR_F32] = { EACH_OP(F32) }, \
		[CHOIR_F64] = { EACH_OP(F64) }, \
		[CHOIR_BOOL] = { EACH_OP_BITS(BOOL), CELL(BOOL, LOGICAL_AND), CELL(BOOL, LOGICAL_OR) }, \
	}

#endif
