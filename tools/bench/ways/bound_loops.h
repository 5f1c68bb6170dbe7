/* SPDX-License-Identifier: MIT */
/* The bare loops of --vs bound: one pass over the sources, written to one or several destinations. */
#ifndef BENCH_BOUND_LOOPS_H
#define BENCH_BOUND_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

/* nt: non-temporal stores; a fence follows the last.  Any alignment. */
void bound_copy(char *const *dst, int n_dst, const char *src, size_t bytes, bool nt);
void bound_sum(float *const *dst, int n_dst, const float *const *src, int n_src, size_t count, bool nt);

#endif
