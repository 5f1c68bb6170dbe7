/* SPDX-License-Identifier: MIT */
/* relax: a moment of a spinning thread, kind to the other one of its core. */
#ifndef EXEC_RELAX_H
#define EXEC_RELAX_H

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
