/* SPDX-License-Identifier: MIT */
/* `choir-bench kernel ...`: the kernels have no public face, so a second program, which is linked to the library's own
 * objects instead of the library, measures them.  It takes the place of this one, before anything of OpenCL or MPI is
 * touched: no process ever holds two copies of the library. */
#ifndef BENCH_KERNEL_MODE_H
#define BENCH_KERNEL_MODE_H

#include "bench/args/args.h"

bool kernel_mode_asked(const struct args *args);

/* kernel_mode_run: with the same arguments.  Returns only if there is no such program: an exit status; the sentence
 * said if this process speaks. */
int kernel_mode_run(char **argv, bool says);

#endif
