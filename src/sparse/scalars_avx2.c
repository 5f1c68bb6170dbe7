/* SPDX-License-Identifier: MIT */
/* Compiled with AVX2, POPCNT and BMI (CMakeLists.txt): what two lists come to takes half the time. */
#ifdef __x86_64__
#define SCALARS_LOOPS scalars_avx2_loops
#include "sparse/scalars_table.inc"
#else
typedef int scalars_avx2_is_for_x86_64;
#endif
