/* SPDX-License-Identifier: MIT */
/* Note [network costs].  The choice is the algorithm with the least estimated time, by closed forms of the cost model
 * (plan/plan_cost.h) with its default costs: latency, overhead of a message, bytes on the wire that the ranks of a node
 * share.  Copies, reductions and steps are left out: next to the wire they are short.  The arithmetic is in whole
 * nanoseconds, so every rank comes to the same choice; tests/plan/test_default.c compares the choices with the model.
 */
#include "algo/network_ns.h"

#include "algo/pattern_block.h"
#include "base/arithmetic.h"

#include <stdbool.h>

/* The costs of plan_costs_default in ns. */
#define LATENCY       30000
#define OVERHEAD      2000 /* each end of a message */
#define WIRE_PER_BYTE 8
#define LOCAL_MESSAGE 1000 /* between ranks of one node */
#define NEAR_SEND     250  /* the sender's part of that */

static uint64_t log2_up(uint64_t n)
{
	uint64_t rounds = 0;

	while ((UINT64_C(1) << rounds) < n)
		rounds++;
	return rounds;
}

static uint64_t power_within(uint64_t n)
{
	uint64_t core = 1;

	while (core * 2 <= n)
		core *= 2;
	return core;
}

/* The time of a round in which a rank sends and receives so many messages and its node's link carries wire_bytes. */
static uint64_t round_of(uint64_t sends, uint64_t receives, uint64_t wire_bytes)
{
	uint64_t work = max_u64((sends + receives) * OVERHEAD, LATENCY + (1 + max_u64(sends, receives)) * OVERHEAD);

	return max_u64(work, LATENCY + 2 * OVERHEAD + wire_bytes * WIRE_PER_BYTE);
}

static uint64_t doubling(const struct network_call *c, uint64_t members)
{
	uint64_t core = power_within(members);

	return (log2_up(core) + (core < members ? 2 : 0)) * round_of(1, 1, c->bytes);
}

static uint64_t halving_then_doubling(const struct network_call *c, uint64_t members)
{
	uint64_t core = power_within(members), ns = core < members ? 2 * round_of(1, 1, c->bytes) : 0;

	for (uint64_t part = 2; part <= core; part *= 2)
		ns += 2 * round_of(1, 1, c->bytes / part);
	return ns;
}

static uint64_t one_ring(const struct network_call *c, uint64_t members)
{
	return 2 * (members - 1) * round_of(1, 1, c->bytes / members);
}

static uint64_t two_rings(const struct network_call *c, uint64_t members)
{
	uint64_t block = c->bytes / members;

	return 2 * (members - 1) * max_u64(round_of(1, 1, block / 2), max_u64(block * WIRE_PER_BYTE, 4 * OVERHEAD));
}

/* Messages of empty blocks are not sent. */
static uint64_t pairs(const struct network_call *c, uint64_t members)
{
	uint64_t owners = min_u64(c->units, members), wire = c->bytes / members * (members - 1);

	return round_of(owners - 1, members - 1, wire) + round_of(members - 1, owners - 1, wire);
}

uint64_t network_ns_allreduce_doubling(const struct network_call *c)
{
	return doubling(c, c->nodes);
}

uint64_t network_ns_allreduce_halving(const struct network_call *c)
{
	return halving_then_doubling(c, c->nodes);
}

uint64_t network_ns_allreduce_one_ring(const struct network_call *c)
{
	return one_ring(c, c->nodes);
}

uint64_t network_ns_allreduce_two_rings(const struct network_call *c)
{
	return two_rings(c, c->nodes);
}

uint64_t network_ns_allreduce_pairs(const struct network_call *c)
{
	return pairs(c, c->nodes);
}

/* Each rank sends so many bytes to each other one. */
static uint64_t to_all(const struct network_call *c, uint64_t bytes)
{
	return round_of(c->n - 1, c->n - 1, c->per_node * (c->n - c->per_node) * bytes);
}

uint64_t network_ns_allreduce_to_all(const struct network_call *c)
{
	return to_all(c, c->bytes);
}

uint64_t network_ns_gather_to_all(const struct network_call *c)
{
	return to_all(c, c->block);
}

/* Of the n - 1 hops in node order one in per_node crosses the network. */
uint64_t network_ns_block_ring(const struct network_call *c)
{
	uint64_t crossing = (c->n - 1 + c->per_node - 1) / c->per_node, local = c->n - 1 - crossing;
	uint64_t path = crossing * round_of(1, 1, c->block) + local * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

/* Half of the hops each way, at the same time; both ways share the node's link. */
uint64_t network_ns_block_meeting(const struct network_call *c)
{
	uint64_t hops = c->n / 2, crossing = (hops + c->per_node - 1) / c->per_node, each = c->per_node == 1 ? 2 : 1;
	uint64_t path = crossing * round_of(each, each, 2 * c->block) + (hops - crossing) * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

uint64_t network_ns_block_pairs(const struct network_call *c)
{
	uint64_t far = c->n - c->per_node;

	return round_of(far, far, c->per_node * far * c->block);
}

/* Each rank sends to all after it, the next ones first: the ranks of a node send to the last one at the same time. */
uint64_t network_ns_prefix_pairs(const struct network_call *c)
{
	return max_u64(network_ns_block_pairs(c), LATENCY + c->n * OVERHEAD);
}

/* Halves over distances within a node do not use the wire. */
uint64_t network_ns_block_halving(const struct network_call *c)
{
	uint64_t core = power_within(c->n), ns = 0;

	if (core < c->n)
		ns += round_of(1, 1, c->per_node * c->bytes) + round_of(1, 1, c->per_node * c->block);
	for (uint64_t part = 2; part <= core; part *= 2)
		ns += core / part >= c->per_node ? round_of(1, 1, c->per_node * c->bytes / part) : LOCAL_MESSAGE;
	return ns;
}

uint64_t network_ns_block_doubling(const struct network_call *c)
{
	uint64_t ns = 0;

	for (uint64_t distance = 1; distance < c->n; distance *= 2)
		ns += distance >= c->per_node ? round_of(1, 1, c->per_node * distance * c->block) : LOCAL_MESSAGE;
	return ns;
}

/* The time of a round of distance d.  Up to d = per_node only d of a node's ranks send to another node. */
static uint64_t bruck_round(const struct network_call *c, uint64_t d, uint64_t blocks)
{
	uint64_t wire = min_u64(d, c->per_node) * blocks * c->block;

	return d == 1 || d >= c->per_node ? round_of(1, 1, wire) : LOCAL_MESSAGE + wire * WIRE_PER_BYTE;
}

uint64_t network_ns_gather_bruck(const struct network_call *c)
{
	uint64_t ns = 0;

	for (uint64_t d = 1; d < c->n; d *= 2)
		ns += bruck_round(c, d, min_u64(d, c->n - d));
	return ns;
}

uint64_t network_ns_exchange_bruck(const struct network_call *c)
{
	uint64_t ns = 0;

	for (uint64_t d = 1; d < c->n; d *= 2) {
		uint64_t over = c->n % (2 * d), blocks = c->n / (2 * d) * d + (over > d ? over - d : 0);

		ns += bruck_round(c, d, blocks);
	}
	return ns;
}

uint64_t network_ns_scatter_from_root(const struct network_call *c)
{
	uint64_t far = c->n - c->per_node;

	return round_of(far, 0, far * c->block) + (c->per_node - 1) * NEAR_SEND;
}

uint64_t network_ns_gather_to_root(const struct network_call *c)
{
	return round_of(0, c->n - 1, (c->n - c->per_node) * c->block);
}

/* A rank's subtree in one message; the ranks of a node are neighbours. */
uint64_t network_ns_packed_tree(const struct network_call *c)
{
	uint64_t ns = 0;

	for (uint64_t d = 1; d < c->n; d *= 2) {
		uint64_t bytes = min_u64(d, c->n - d) * c->block;

		ns += d >= c->per_node ? round_of(1, 1, bytes) : LOCAL_MESSAGE + bytes * WIRE_PER_BYTE / 64;
	}
	return ns;
}

/* The time of a subtree whose root sends all bytes to its children at distances of `step`, the farthest first.
 * full: time of a child's subtree; last: of the farthest child's, which may be smaller. */
static uint64_t subtree(const struct network_call *c, uint64_t step, uint64_t children, uint64_t full, uint64_t last)
{
	uint64_t each = max_u64(OVERHEAD, c->bytes * WIRE_PER_BYTE), sent = 0, ns = 0;

	for (uint64_t child = children; child >= 1; child--) {
		bool far = child * step >= c->per_node;

		sent += far ? each : LOCAL_MESSAGE;
		ns = max_u64(ns, sent + (far ? LATENCY + 2 * OVERHEAD : 0) + (child == children ? last : full));
	}
	return max_u64(ns, sent + (children == 0 ? last : full));
}

/* How many messages of such a tree leave the root's node: its other ranks may have children elsewhere too. */
static uint64_t leave_root_node(const struct network_call *c, uint64_t radix)
{
	uint64_t n_far = 0;

	for (uint64_t rank = 0; rank < c->per_node; rank++)
		for (uint64_t step = 1; step < c->n && rank % (step * radix) == 0; step *= radix)
			for (uint64_t child = 1; child < radix && rank + child * step < c->n; child++)
				n_far += rank + child * step >= c->per_node;
	return n_far;
}

static uint64_t tree(const struct network_call *c, uint64_t radix)
{
	uint64_t full = 0, last = 0;

	for (uint64_t step = 1; step < c->n; step *= radix) {
		uint64_t size = (c->n - 1) % (step * radix) + 1; /* of the last subtree */

		last = subtree(c, step, (size - 1) / step, full, last);
		full = subtree(c, step, radix - 1, full, full);
	}
	return max_u64(last, round_of(0, 0, leave_root_node(c, radix) * c->bytes));
}

uint64_t network_ns_tree_of_two(const struct network_call *c)
{
	return tree(c, 2);
}

uint64_t network_ns_tree_of_four(const struct network_call *c)
{
	return tree(c, 4);
}

/* Pieces follow each other along all nodes; within a node a byte takes about 1/64 of its time on the wire. */
uint64_t network_ns_chain(const struct network_call *c)
{
	uint64_t pieces = max_u64(1, (c->bytes + c->message - 1) / c->message), piece = c->bytes / pieces;
	uint64_t local = (c->n - c->nodes) * (LOCAL_MESSAGE + piece * WIRE_PER_BYTE / 64);

	return (c->nodes - 1) * round_of(1, 1, piece) + local + (pieces - 1) * piece * WIRE_PER_BYTE;
}

/* The root sends all blocks; then the last block goes round the ring, or the ring's links carry all blocks. */
uint64_t network_ns_scatter_then_ring(const struct network_call *c)
{
	uint64_t far = c->bytes / c->nodes * (c->nodes - 1), block = c->bytes / c->n;
	uint64_t path = (c->nodes - 1) * round_of(1, 1, block) + (c->n - c->nodes) * LOCAL_MESSAGE;

	return round_of(0, 0, far) + max_u64(path, (c->n - 1) * block * WIRE_PER_BYTE);
}

uint64_t network_ns_pairs_then_gather(const struct network_call *c)
{
	uint64_t far = c->n - c->per_node, owners = min_u64(c->units, c->n), block = c->bytes / c->n;
	uint64_t ns = round_of(min_u64(owners, far), far, c->per_node * far * block);

	return owners > 1 ? ns + round_of(1, min_u64(owners, far), far * block) : ns;
}

/* Two rounds in which every rank has a message for every other one, whatever their nodes. */
uint64_t network_ns_all_pairs(const struct network_call *c)
{
	uint64_t far = c->n - c->per_node, owners = min_u64(c->units, c->n),
		 wire = c->per_node * far * (c->bytes / c->n);
	uint64_t far_owners = min_u64(owners, far);

	return round_of(far_owners, far, wire) + round_of(far, far_owners, wire);
}

/* Pieces along all ranks, one link after another; local: between two ranks of one node. */
static uint64_t line(const struct network_call *c)
{
	uint64_t pieces = max_u64(1, (c->bytes + c->message - 1) / c->message), piece = c->bytes / pieces;

	return (c->nodes - 1) * round_of(1, 1, piece) +
	       (c->n - c->nodes) * (LOCAL_MESSAGE + piece * WIRE_PER_BYTE / 64);
}

/* The links of inner nodes carry all bytes in both directions. */
uint64_t network_ns_line_and_back(const struct network_call *c)
{
	uint64_t carried = c->bytes - min_u64(c->bytes, c->message);

	return 2 * line(c) + (c->nodes > 2 ? 2 : 1) * carried * WIRE_PER_BYTE;
}

/* The link of a root between the ends of the line carries sums and results. */
uint64_t network_ns_line_and_root(const struct network_call *c)
{
	uint64_t carried = c->bytes - min_u64(c->bytes, c->message);

	return line(c) + round_of(1, 1, min_u64(c->bytes, c->message)) +
	       (c->root_inside ? 2 : 1) * carried * WIRE_PER_BYTE;
}
