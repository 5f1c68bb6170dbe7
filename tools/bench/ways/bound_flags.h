/* SPDX-License-Identifier: MIT */
/* How the bare loops of --vs bound wait for each other: a word a rank in shared memory, raised at each meeting. */
#ifndef BENCH_BOUND_FLAGS_H
#define BENCH_BOUND_FLAGS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

enum { BOUND_LINE = 64, BOUND_SPINS = 2000 };

struct bound_flag {
	_Alignas(BOUND_LINE) _Atomic uint32_t value;
};

struct bound_flags {
	struct bound_flag *flag; /* [n], zeroed when the first rank comes */
	int rank, n;
	uint32_t generation;
};

static inline void bound_flags_meet(struct bound_flags *flags)
{
	uint32_t mine = ++flags->generation;

	atomic_store_explicit(&flags->flag[flags->rank].value, mine, memory_order_release);
	for (int r = 0; r < flags->n; r++)
		for (unsigned spins = 0;
		     (int32_t)(atomic_load_explicit(&flags->flag[r].value, memory_order_acquire) - mine) < 0; spins++)
			if (spins > BOUND_SPINS)
				sched_yield();
}

#endif
