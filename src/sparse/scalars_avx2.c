/* SPDX-License-Identifier: MIT */
/* Compiled with AVX2, POPCNT and BMI (CMakeLists.txt): the fold of two lists is faster with them. */
#ifdef __x86_64__
#define SCALARS_LOOPS scalars_avx2_loops
#include "sparse/scalars_table.inc"
#else
typedef int scalars_avx2_is_for_x86_64;
#endif
