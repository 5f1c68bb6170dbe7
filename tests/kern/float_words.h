/* SPDX-License-Identifier: MIT */
/* Floating-point control words that a program may have set. */
#ifndef TESTS_KERN_FLOAT_WORDS_H
#define TESTS_KERN_FLOAT_WORDS_H

#include "base/float_control.h"

/* Subnormal operands and results flushed; rounding down, up, to zero; both. */
#if defined(__x86_64__)
enum { FLOAT_WORDS = 5 };
static const uint64_t float_words[FLOAT_WORDS] = { 0x9fc0, 0x3f80, 0x5f80, 0x7f80, 0xffc0 };
#elif defined(__aarch64__)
enum { FLOAT_WORDS = 5 };
static const uint64_t float_words[FLOAT_WORDS] = { 0x1080000, 0x800000, 0x400000, 0xc00000, 0x1c80000 };
#else
enum { FLOAT_WORDS = 1 };
static const uint64_t float_words[FLOAT_WORDS] = { 0 };
#endif

#endif
