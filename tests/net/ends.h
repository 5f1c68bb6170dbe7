/* SPDX-License-Identifier: MIT */
/* Both ends of a shared-memory transport in one process, driven by hand, so that every step is known. */
#ifndef TESTS_NET_ENDS_H
#define TESTS_NET_ENDS_H

#include "net/shm.h"
#include "support.h"

enum { RING = 4096, WHOLE = RING / 4 }; /* the longest message of a zero-copy receive */

struct ends {
	void *memory;
	choir_transport *t[2]; /* 0 sends, 1 receives */
	int released;
};

static inline void no_wake(void *ctx, int peer)
{
	(void)ctx, (void)peer;
}

static inline void count_release(void *ctx)
{
	++*(int *)ctx;
}

static inline void open_ends(struct ends *ends)
{
	*ends = (struct ends){ .memory = shared_zeroes(shm_bytes(2, RING)) };
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    shm_create(ends->memory, i, 2, RING, NULL, no_wake, count_release, &ends->released, &ends->t[i]),
		    CHOIR_SUCCESS);
}

static inline void close_ends(struct ends *ends)
{
	for (int i = 0; i < 2; i++)
		ends->t[i]->ops->destroy(ends->t[i]);
	assert_int_equal(ends->released, 2);
	munmap(ends->memory, shm_bytes(2, RING));
}

#endif
