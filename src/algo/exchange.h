/* SPDX-License-Identifier: MIT */
/* An exchange: an allreduce of one range in a group, by messages, as a part of a larger plan.  The flat network
 * algorithms chain exchanges; the hierarchical ones run one between the owners of a slice. */
#ifndef ALGO_EXCHANGE_H
#define ALGO_EXCHANGE_H

#include "algo/group.h"

struct exchange {
	struct plan *plan;
	struct group group;  /* two members or more */
	struct plan_ref own; /* this member's input, in memory that steps can read */
	struct plan_ref out; /* the result, in memory that steps can read and write; may be own */
	bool to_root;        /* only member `root` gets the whole result; only exchange_pairwise supports it */
	int root;
	bool own_raw; /* own is the caller's original, not a partial result (the same on all members) */
	uint64_t bytes, unit;
	uint64_t scratch; /* offset of kind->scratch(...) bytes that no other step uses during the exchange */
	uint32_t tag;     /* the first of kind->tags tags */
	plan_id after;    /* the step after which own, out and scratch may be accessed */
};

struct exchange_kind {
	/* Appends the steps; the step returned depends on all of them.  The REDUCE of the result is marked final. */
	plan_id (*build)(const struct exchange *exchange);
	/* The scratch bytes for a range of up to so many bytes. */
	uint64_t (*scratch)(int members, uint64_t bytes, uint64_t unit);
	/* The longest range whose messages are at most message_bytes. */
	uint64_t (*limit)(int members, uint64_t message_bytes);
	uint32_t (*tags)(int members);
	bool by_rank; /* if all ranks are members: in rank order, not node after node */
};

extern const struct exchange_kind exchange_ring, exchange_bidirectional_ring, exchange_recursive_doubling;
extern const struct exchange_kind exchange_halving_doubling, exchange_pairwise, exchange_broadcast;
extern const struct exchange_kind exchange_anticlockwise_ring, exchange_meet_in_middle_ring;
extern const struct exchange_kind exchange_quad_directional_ring;

/* exchange_chain: a whole allreduce over the network, or a reduce if kind supports it, chunk after chunk, several in
 * flight. */
choir_status exchange_chain(const struct algo_in *in, struct plan *plan, const struct exchange_kind *kind);

static inline struct plan_ref ref_plus(struct plan_ref ref, uint64_t off)
{
	ref.off += off;
	return ref;
}

/* The longest message in whole units. */
static inline uint64_t message_limit(const struct algo_in *in, uint64_t unit)
{
	return in->message_bytes > unit ? in->message_bytes / unit * unit : unit;
}

#endif
