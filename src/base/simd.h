/* SPDX-License-Identifier: MIT */
/* A loop written once and compiled several times: its body, EITHER_WAY, for any processor of the kind that the library
 * is built for, and again inside functions for a target, such as WITH_AVX2, which are called where HAS_AVX2. */
#ifndef BASE_SIMD_H
#define BASE_SIMD_H

#ifdef __x86_64__
#define WITH_AVX2 __attribute__((target("avx2")))
#define HAS_AVX2  __builtin_cpu_supports("avx2")
#else
#define WITH_AVX2
#define HAS_AVX2 0
#endif
#define EITHER_WAY static inline __attribute__((always_inline))

#endif
