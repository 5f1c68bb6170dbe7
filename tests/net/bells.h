/* SPDX-License-Identifier: MIT */
/* What tests of the doorbell have in common. */
#ifndef TESTS_NET_BELLS_H
#define TESTS_NET_BELLS_H

#include "node/bell.h"
#include "support.h"

#include <stdatomic.h>
#include <time.h>

/* Sleeps until *word is at least value. */
static inline void await(struct bell *mine, _Atomic uint32_t *word, uint32_t value)
{
	while (atomic_load_explicit(word, memory_order_acquire) < value) {
		uint32_t seen = bell_arm(mine, BELL_ANY);

		if (atomic_load_explicit(word, memory_order_relaxed) >= value)
			bell_disarm(mine);
		else
			bell_sleep(mine, seen, -1);
	}
}

static inline int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
