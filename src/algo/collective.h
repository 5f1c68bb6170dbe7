/* SPDX-License-Identifier: MIT */
/* The collectives: what their buffers hold and what sets them apart, one row each in collective.def. */
#ifndef ALGO_COLLECTIVE_H
#define ALGO_COLLECTIVE_H

#include <choir/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum collective {
#define COLLECTIVE(name, text, send, recv, traits) COLLECTIVE_##name,
#include "algo/collective.def"
#undef COLLECTIVE
	N_COLLECTIVES
};

/* The contents of a buffer: the call's elements once, or a block for each rank; at the root alone, or on every rank. */
enum extent { EXTENT_NOTHING, EXTENT_ONE, EXTENT_ALL, EXTENT_ONE_AT_ROOT, EXTENT_ALL_AT_ROOT };

enum trait {
	TRAIT_REDUCES = 1,     /* takes an operator */
	TRAIT_ROOTED = 2,      /* takes a root or a peer */
	TRAIT_UNEVEN = 4,      /* a v form: blocks have counts of their own */
	TRAIT_PEERS_WRITE = 8, /* plans on shared memory write to peers' RECVs (PLAN_PEER_RECV) */
	TRAIT_PREFIX = 128,    /* each rank gets the fold of the ranks up to it: no final expression */
	TRAIT_PAIR = 16,       /* send and recv */
	TRAIT_NEVER_IN_PLACE = 32,
	TRAIT_NO_PLAN = 64, /* a script, which learns its sizes on the way */
};

struct collective_traits {
	const char *name;
	enum extent send, recv;
	unsigned traits;
};
extern const struct collective_traits collective_table[N_COLLECTIVES];

/* collective_name: "unknown" for no collective.  collective_parse: ARGUMENT for an unknown name.
 * collective_parse_form: also a padded form, which is a collective's whose count is that of all blocks together. */
const char *collective_name(enum collective collective);
choir_status collective_parse(const char *text, enum collective *out);
choir_status collective_parse_form(const char *text, enum collective *out, bool *padded_p);

static inline bool collective_has(enum collective collective, enum trait trait)
{
	return (collective_table[collective].traits & trait) != 0;
}

static inline bool collective_sends_blocks(enum collective collective)
{
	enum extent extent = collective_table[collective].send;

	return extent == EXTENT_ALL || extent == EXTENT_ALL_AT_ROOT;
}

static inline bool collective_recvs_blocks(enum collective collective)
{
	enum extent extent = collective_table[collective].recv;

	return extent == EXTENT_ALL || extent == EXTENT_ALL_AT_ROOT;
}

/* collective_send_is_inner: in place SEND is this rank's block of RECV.  collective_recv_is_inner: RECV is this rank's
 * block of SEND. */
static inline bool collective_send_is_inner(enum collective collective)
{
	return collective_recvs_blocks(collective) && !collective_sends_blocks(collective);
}

static inline bool collective_recv_is_inner(enum collective collective)
{
	return collective_sends_blocks(collective) && !collective_recvs_blocks(collective);
}

/* collective_of_pairs: each rank has a block for each other one: counts are a matrix. */
static inline bool collective_of_pairs(enum collective collective)
{
	return collective_sends_blocks(collective) && collective_recvs_blocks(collective);
}

/* collective_holds: how many times the call's elements that buffer of a rank holds. */
static inline uint64_t collective_holds(enum extent extent, int n, bool is_root)
{
	switch (extent) {
	case EXTENT_ONE:
		return 1;
	case EXTENT_ALL:
		return (uint64_t)n;
	case EXTENT_ONE_AT_ROOT:
		return is_root;
	case EXTENT_ALL_AT_ROOT:
		return is_root ? (uint64_t)n : 0;
	default:
		return 0;
	}
}

#endif
