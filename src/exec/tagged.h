/* SPDX-License-Identifier: MIT */
/* Tags of send and recv: the calls of a pair are numbered apart for each tag, and the number and the tag are the key of
 * their messages.  So a recv takes the next message of its source and tag, whatever else has come.  The tag in a
 * message's header is another one: that of the plan's step, which tells the messages of a call apart. */
#ifndef EXEC_TAGGED_H
#define EXEC_TAGGED_H

#include "base/error.h"
#include "net/wire.h"

#include <stddef.h>
#include <stdint.h>

/* The calls so far of one pair with one tag other than 0. */
struct tagged_counts {
	struct tagged_counts *next;
	int peer;
	uint32_t tag;
	uint64_t sent, received;
};

/* All of a rank, by peer and tag; an entry stays where it is.  Zero-initialised: empty. */
struct tagged {
	struct tagged_counts **buckets; /* [n_buckets], a power of two */
	size_t n_buckets, n;
};

void tagged_fini(struct tagged *tagged);

/* tagged_find: the counts of that pair and tag, made if there are none.  NO_MEMORY. */
choir_status tagged_find(struct tagged *tagged, int peer, uint32_t tag, struct tagged_counts **out_p);

/* tagged_copy: those of a pair, as messages carry them, -1: of all pairs; at most `most`.  Returns how many there are.
 */
size_t tagged_copy(const struct tagged *tagged, int peer, struct wire_tagged *out, size_t most);

/* The key of a message of a pair: WIRE_PAIR, the tag, the low half of the number. */
static inline uint64_t tagged_key(uint32_t tag)
{
	return WIRE_PAIR | (uint64_t)tag << 32;
}

static inline uint32_t tagged_tag(uint64_t key)
{
	return (uint32_t)(key >> 32) & INT32_MAX;
}

#endif
