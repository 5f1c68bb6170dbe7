/* SPDX-License-Identifier: MIT */
#define ROWS_LOOPS rows_base_loops
#include "sparse/rows_table.inc"
