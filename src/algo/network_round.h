/* SPDX-License-Identifier: MIT */
/* For the estimates of Note [network costs]: the time of a round, and which ranks are on other nodes. */
#ifndef ALGO_NETWORK_ROUND_H
#define ALGO_NETWORK_ROUND_H

#include "algo/network_ns.h"
#include "base/arithmetic.h"

/* The costs of plan_costs_default in ns. */
#define LATENCY       30000
#define OVERHEAD      2000 /* each end of a message */
#define WIRE_PER_BYTE 8
#define LOCAL_MESSAGE 1000 /* between ranks of one node */
#define NEAR_SEND     250  /* the sender's part of that */

/* Of a message between two ranks of a node, where a byte takes about 1/64 of its time on the wire. */
static inline uint64_t near_ns(uint64_t bytes)
{
	return LOCAL_MESSAGE + bytes * WIRE_PER_BYTE / 64;
}

/* The time of a round in which a rank sends and receives so many messages and its node's link carries wire_bytes. */
static inline uint64_t round_of(uint64_t sends, uint64_t receives, uint64_t wire_bytes)
{
	uint64_t work = max_u64((sends + receives) * OVERHEAD, LATENCY + (1 + max_u64(sends, receives)) * OVERHEAD);

	return max_u64(work, LATENCY + 2 * OVERHEAD + wire_bytes * WIRE_PER_BYTE);
}

/* Are two places in node order, counted round, on different nodes? */
static inline bool is_far(const struct network_call *c, uint64_t a, uint64_t b)
{
	const struct layout *layout = c->layout;

	return layout->node_of[layout->node_ranks[a % c->n]] != layout->node_of[layout->node_ranks[b % c->n]];
}

/* Each rank sends so many bytes to each other one. */
static inline uint64_t to_all(const struct network_call *c, uint64_t bytes)
{
	return round_of(c->n - 1, c->n - 1, c->per_node * (c->n - c->per_node) * bytes);
}

/* network_crossings: the most of so many successive hops of a ring in node order that lead to another node. */
uint64_t network_crossings(const struct network_call *call, uint64_t hops);

#endif
