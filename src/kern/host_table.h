/* SPDX-License-Identifier: MIT */
/* All host loops and their table for one CPU level: HOST_TWINS names the table.  One .c file for each level includes
 * it. */
#include "kern/host_twin.h"

#define HOST_FAN        4    /* sources of a pass */
#define HOST_PART_BYTES 4096 /* of partial results: they stay in the first-level cache */

#define HOST_INLINE inline __attribute__((always_inline))

#ifdef __clang__
#define HOST_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HOST_INDEPENDENT _Pragma("GCC ivdep")
#endif

#include "kern/host_line.h"

#define EACH_OP      "kern/host_dtype.h"
#define EACH_PAIR_OP "kern/host_pair.h"
#include "kern/each_dtype.inc"

#define CELL(dtype, op)                                                                                                \
	[CHOIR_OP_##                                                                                                   \
	    op] = { op_##dtype##_##op##_reduce, op_##dtype##_##op##_reduce_lines, op_##dtype##_##op##_write_identity }
/* Signed integers take the loops of their unsigned type where the sign makes no difference. */
#define UNSIGNED_I8                  U8
#define UNSIGNED_I16                 U16
#define UNSIGNED_I32                 U32
#define UNSIGNED_I64                 U64
#define CELLS_SIGNED(dtype)          CELLS_OF_SIGNED(dtype, UNSIGNED_##dtype)
#define CELLS_OF_SIGNED(dtype, bits) CELLS_OF_INTEGER(dtype, bits), CELL(bits, LOCAL)
#define CELLS_UNSIGNED(dtype)        CELLS_OF_INTEGER(dtype, dtype), CELL(dtype, LOCAL)
#define CELLS_BOOL(dtype)            CELLS_OF_INTEGER(dtype, dtype), CELL(dtype, LOCAL)
#define CELLS_REAL(dtype)            CELLS_OF_NUMBER(dtype, dtype), CELL(dtype, LOCAL), CELL(dtype, PREMUL_SUM)
#define CELLS_NARROW(dtype)          CELLS_REAL(dtype)
#define CELLS_PAIR(dtype)            CELL(dtype, MINLOC), CELL(dtype, MAXLOC), CELL(dtype, LOCAL)

const host_twins HOST_TWINS[N_DTYPES] = {
#include "kern/each_cell.inc"
};
