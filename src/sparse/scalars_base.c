/* SPDX-License-Identifier: MIT */
#define SCALARS_LOOPS scalars_base_loops
#include "sparse/scalars_table.inc"
