/* SPDX-License-Identifier: MIT */
/* An allreduce of one range among a group by messages, as a part of larger plans: the flat network algorithms chain
 * such exchanges, the hierarchical ones run them between slice owners. */
#ifndef ALGO_EXCHANGE_H
#define ALGO_EXCHANGE_H

#include "algo/group.h"

struct exchange {
	struct plan *plan;
	struct group group;     /* two members or more */
	struct plan_ref own;    /* my input: memory that steps can read */
	struct plan_ref out;    /* where the result goes: memory that steps can read and write; may be own */
	bool to_root;           /* only member `root` gets the result, others a block of it (exchange_pairwise can) */
	int root;
	bool own_raw;           /* own is the caller's original, not a partial result (the same on all members) */
	uint64_t bytes, unit;
	uint64_t scratch;       /* offset of kind->scratch(...) bytes, mine alone until the exchange is done */
	uint32_t tag;           /* the first of kind->tags tags */
	plan_id after;          /* own, out and scratch may be touched after this step */
};

struct exchange_kind {
	/* Appends the steps; the number returned depends on all of them.  The result's REDUCE is marked final. */
	plan_id (*build)(const struct exchange *exchange);
	/* Scratch for up to that many bytes. */
	uint64_t (*scratch)(int members, uint64_t bytes, uint64_t unit);
	/* The longest range whose messages keep to message_bytes. */
	uint64_t (*limit)(int members, uint64_t message_bytes);
	uint32_t (*tags)(int members);
};

extern const struct exchange_kind exchange_ring, exchange_bidirectional_ring, exchange_recursive_doubling;
extern const struct exchange_kind exchange_halving_doubling, exchange_pairwise;

/* exchange_chain: a whole allreduce over the network, or a reduce if kind can: chunk after chunk, some on their way at
 * once. */
choir_status exchange_chain(const struct algo_in *in, struct plan *plan, const struct exchange_kind *kind);

static inline struct plan_ref ref_plus(struct plan_ref ref, uint64_t off)
{
	ref.off += off;
	return ref;
}

/* Messages end on whole units. */
static inline uint64_t message_limit(const struct algo_in *in, uint64_t unit)
{
	return in->message_bytes > unit ? in->message_bytes / unit * unit : unit;
}

#endif
