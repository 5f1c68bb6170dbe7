/* SPDX-License-Identifier: MIT */
/* Compiled with POPCNT and BMI (CMakeLists.txt). */
#ifdef __x86_64__
#define SCALARS_LOOPS scalars_popcount_loops
#include "sparse/scalars_table.inc"
#else
typedef int scalars_popcount_is_for_x86_64;
#endif
