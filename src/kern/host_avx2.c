/* SPDX-License-Identifier: MIT */
/* The host loops for x86-64 CPUs with AVX2 and F16C, called only on such CPUs. */
#ifdef __AVX2__
#define HOST_TWINS host_avx2_twins
#include "kern/host_table.h"
#else
typedef int host_avx2_is_not_for_this_cpu;
#endif
