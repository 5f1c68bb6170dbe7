/* SPDX-License-Identifier: MIT */
/* The host loops for x86-64 CPUs with AVX-512 (F, BW, VL, DQ) and F16C, called only on such CPUs. */
#ifdef __AVX512BW__
#define HOST_TWINS host_avx512_twins
#include "kern/host_table.h"
#else
typedef int host_avx512_is_not_for_this_cpu;
#endif
