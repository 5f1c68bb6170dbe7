/* SPDX-License-Identifier: MIT */
/* What tests of the doorbell have in common. */
#ifndef TESTS_NET_BELLS_H
#define TESTS_NET_BELLS_H

#include "node/bell.h"
#include "support.h"

#include <sched.h>
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

struct table { /* two players who take turns */
	_Atomic uint32_t turns[2];
	struct bell_address address[2];
	_Atomic uint32_t here[2];
	uint32_t rounds;
};

/* Each process announces its bell in shared memory, as through a bootstrap. */
static inline struct bell *meet(struct table *table, int me)
{
	struct bell *theirs = NULL;

	REQUIRE(bell_mine_address(&table->address[me]) == CHOIR_SUCCESS);
	atomic_store(&table->here[me], 1);
	while (atomic_load(&table->here[!me]) == 0)
		sched_yield();
	REQUIRE(bell_open(&table->address[!me], &theirs) == CHOIR_SUCCESS);
	return theirs;
}

static inline int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
