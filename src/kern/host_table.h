/* SPDX-License-Identifier: MIT */
/* All host loops and their table for one CPU level: HOST_TWINS names the table.  One .c file for each level includes
 * it. */
#include "kern/host_twin.h"

#define HOST_FAN 4           /* sources of a pass */
#define HOST_PART_BYTES 4096 /* of partial results: they stay in the first-level cache */

#define HOST_INLINE inline __attribute__((always_inline))

#ifdef __clang__
#define HOST_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HOST_INDEPENDENT _Pragma("GCC ivdep")
#endif

#include "kern/host_line.h"

#define DTYPE I8
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE U8
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE I16
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE U16
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE I32
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE U32
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE I64
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE U64
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE F16
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE BF16
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE F32
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE F64
#include "kern/host_dtype.h"
#undef DTYPE
#define DTYPE BOOL
#include "kern/host_dtype.h"
#undef DTYPE

#define CELL(dtype, op)                                                                                                \
	[CHOIR_OP_##                                                                                                   \
	    op] = { op_##dtype##_##op##_reduce, op_##dtype##_##op##_reduce_lines, op_##dtype##_##op##_write_identity }
/* bits: the unsigned type whose loops give dtype's bits where the sign makes no difference. */
#define CELLS(dtype, bits)                                                                                             \
	CELL(bits, SUM), CELL(bits, PROD), CELL(dtype, MIN), CELL(dtype, MAX), CELL(dtype, MEAN),                      \
	    CELL(bits, SQUARE_ADD), CELL(bits, LOCAL)
#define CELLS_REAL(dtype) CELLS(dtype, dtype), CELL(dtype, PREMUL_SUM)
#define CELLS_BITS(dtype, bits) CELLS(dtype, bits), CELL(bits, BAND), CELL(bits, BOR), CELL(bits, BXOR)

const host_twins HOST_TWINS[HOST_DTYPES] = {
	[CHOIR_I8] = { CELLS_BITS(I8, U8) },
	[CHOIR_U8] = { CELLS_BITS(U8, U8) },
	[CHOIR_I16] = { CELLS_BITS(I16, U16) },
	[CHOIR_U16] = { CELLS_BITS(U16, U16) },
	[CHOIR_I32] = { CELLS_BITS(I32, U32) },
	[CHOIR_U32] = { CELLS_BITS(U32, U32) },
	[CHOIR_I64] = { CELLS_BITS(I64, U64) },
	[CHOIR_U64] = { CELLS_BITS(U64, U64) },
	[CHOIR_F16] = { CELLS_REAL(F16) },
	[CHOIR_BF16] = { CELLS_REAL(BF16) },
	[CHOIR_F32] = { CELLS_REAL(F32) },
	[CHOIR_F64] = { CELLS_REAL(F64) },
	[CHOIR_BOOL] = { CELLS_BITS(BOOL, BOOL), CELL(BOOL, LOGICAL_AND), CELL(BOOL, LOGICAL_OR) },
};
