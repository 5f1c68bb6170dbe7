/* SPDX-License-Identifier: MIT */
/* A thread's floating-point control word: rounding mode, flushing of subnormal numbers, traps.  Programs may change it
 * (-ffast-math does); reductions run under the default word, so that all ranks compute the same bits. */
#ifndef BASE_FLOAT_CONTROL_H
#define BASE_FLOAT_CONTROL_H

#include <stdint.h>

#if defined(__x86_64__)
#define FLOAT_CONTROL_BITS                                                                                             \
	UINT64_C(0xffc0) /* FTZ, rounding, trap masks, DAZ; the other bits of MXCSR are exception flags */
#define FLOAT_CONTROL_DEFAULT UINT64_C(0x1f80)

static inline uint64_t float_control_read(void)
{
	return __builtin_ia32_stmxcsr();
}

static inline void float_control_write(uint64_t word)
{
	__builtin_ia32_ldmxcsr((unsigned)word);
}
#elif defined(__aarch64__)
#define FLOAT_CONTROL_BITS                                                                                             \
	UINT64_C(0x7ff9f07) /* AHP, DN, FZ, RMode, FZ16, Len, Stride, traps, NEP, AH, FIZ of FPCR                      \
	                     */
#define FLOAT_CONTROL_DEFAULT UINT64_C(0)

static inline uint64_t float_control_read(void)
{
	uint64_t word;

	__asm__ volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
	return word;
}

static inline void float_control_write(uint64_t word)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(word) : "memory");
}
#else
#define FLOAT_CONTROL_BITS    UINT64_C(0)
#define FLOAT_CONTROL_DEFAULT UINT64_C(0)

static inline uint64_t float_control_read(void)
{
	return 0;
}

static inline void float_control_write(uint64_t word)
{
	(void)word;
}
#endif

/* float_control_begin: sets the default word and returns the old one for float_control_end.  The word is written only
 * if it differs, since writing is slow.  Arithmetic between the two calls belongs in a function that is not inlined. */
static inline uint64_t float_control_begin(void)
{
	uint64_t word = float_control_read();

	if ((word & FLOAT_CONTROL_BITS) != FLOAT_CONTROL_DEFAULT)
		float_control_write((word & ~FLOAT_CONTROL_BITS) | FLOAT_CONTROL_DEFAULT);
	return word;
}

static inline void float_control_end(uint64_t word)
{
	if ((word & FLOAT_CONTROL_BITS) != FLOAT_CONTROL_DEFAULT)
		float_control_write(word);
}

#endif
