/* SPDX-License-Identifier: MIT */
/* Note [network costs].  The choice is the algorithm with the least estimated time, by closed forms of the cost model
 * (plan/plan_cost.h) with its default costs: latency, overhead of a message, bytes on the wire that the ranks of a node
 * share.  Copies, reductions and steps are left out: next to the wire they are short.  The arithmetic is in whole
 * nanoseconds, so every rank comes to the same choice; tests/plan/test_default.c compares the choices with the model.
 */
#include "algo/network_ns.h"

#include "algo/pattern_block.h"
#include "algo/pattern_hypercube.h"
#include "algo/pattern_tree.h"
#include "base/arithmetic.h"

#include <stdbool.h>

/* The costs of plan_costs_default in ns. */
#define LATENCY       30000
#define OVERHEAD      2000 /* each end of a message */
#define WIRE_PER_BYTE 8
#define LOCAL_MESSAGE 1000 /* between ranks of one node */
#define NEAR_SEND     250  /* the sender's part of that */

#define MOST_ROUNDS 32

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

/* Of a message between two ranks of a node, where a byte takes about 1/64 of its time on the wire. */
static uint64_t near(uint64_t bytes)
{
	return LOCAL_MESSAGE + bytes * WIRE_PER_BYTE / 64;
}

/* Are two places in node order, counted round, on different nodes? */
static bool is_far(const struct network_call *c, uint64_t a, uint64_t b)
{
	const struct layout *layout = c->layout;

	return layout->node_of[layout->node_ranks[a % c->n]] != layout->node_of[layout->node_ranks[b % c->n]];
}

static int node_of_member(const struct network_call *c, uint64_t id)
{
	return c->layout->node_of[hypercube_member((int)id, (int)c->n)];
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

/* The most of so many successive hops of a ring in node order that lead to another node. */
static uint64_t crossings(const struct network_call *c, uint64_t hops)
{
	uint64_t within = 0, most = 0;

	for (uint64_t i = 0; i < hops + c->n; i++) {
		within += is_far(c, i, i + 1);
		if (i >= hops)
			within -= is_far(c, i - hops, i - hops + 1);
		most = max_u64(most, within);
	}
	return most;
}

uint64_t network_ns_block_ring(const struct network_call *c)
{
	uint64_t crossing = crossings(c, c->n - 1), local = c->n - 1 - crossing;
	uint64_t path = crossing * round_of(1, 1, c->block) + local * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

/* Half of the hops each way, at the same time; both ways share the node's link. */
uint64_t network_ns_block_meeting(const struct network_call *c)
{
	uint64_t hops = c->n / 2, crossing = crossings(c, hops), each = c->per_node == 1 ? 2 : 1;
	uint64_t path = crossing * round_of(each, each, 2 * c->block) + (hops - crossing) * 2 * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

uint64_t network_ns_block_pairs(const struct network_call *c)
{
	return round_of(c->far, c->far, c->per_node * (c->n - c->per_node) * c->block);
}

/* Each rank sends to all after it, the next ones first: the ranks of a node send to the last one at the same time. */
uint64_t network_ns_prefix_pairs(const struct network_call *c)
{
	return max_u64(network_ns_block_pairs(c), LATENCY + c->n * OVERHEAD);
}

/* A round of partners at a distance. */
struct round {
	uint64_t distance, bytes;
};

/* The slowest chain of messages, one a round: from each rank to the rank at the round's distance after it or, if
 * is_cube, from each member of a hypercube to the one whose id differs in that bit.  Only so many ranks of a node as
 * the distance have partners on other nodes. */
static uint64_t slowest_chain(const struct network_call *c, const struct round *rounds, int n_rounds, bool is_cube)
{
	uint64_t members = is_cube ? power_within(c->n) : c->n, slowest = 0;

	for (uint64_t first = 0; first < members; first++) {
		uint64_t at = first, ns = 0;

		for (int k = 0; k < n_rounds; k++) {
			uint64_t d = rounds[k].distance, to = is_cube            ? at ^ d
			                                      : at + d < members ? at + d
			                                                         : at + d - members;
			bool far = is_cube ? node_of_member(c, at) != node_of_member(c, to)
			                   : c->layout->node_of[at] != c->layout->node_of[to];

			ns += far ? round_of(1, 1, min_u64(d, c->per_node) * rounds[k].bytes) : near(rounds[k].bytes);
			at = to;
		}
		slowest = max_u64(slowest, ns);
	}
	return slowest;
}

/* The extras of the hypercube give all bytes to their neighbours first and get a block at last. */
static uint64_t extras(const struct network_call *c)
{
	uint64_t extras = c->n - power_within(c->n);
	bool far = false;

	for (uint64_t i = 0; i < extras; i++)
		far |= c->layout->node_of[2 * i] != c->layout->node_of[2 * i + 1];
	if (extras == 0)
		return 0;
	return far ? round_of(1, 1, c->bytes) + round_of(1, 1, c->block) : near(c->bytes) + near(c->block);
}

uint64_t network_ns_block_halving(const struct network_call *c)
{
	uint64_t core = power_within(c->n);
	struct round rounds[MOST_ROUNDS];
	int n_rounds = 0;

	for (uint64_t part = 2; part <= core; part *= 2)
		rounds[n_rounds++] = (struct round){ core / part, c->bytes / part };
	return extras(c) + slowest_chain(c, rounds, n_rounds, true);
}

uint64_t network_ns_block_doubling(const struct network_call *c)
{
	struct round rounds[MOST_ROUNDS];
	int n_rounds = 0;

	for (uint64_t d = 1; d < c->n; d *= 2)
		rounds[n_rounds++] = (struct round){ d, d * c->block };
	return slowest_chain(c, rounds, n_rounds, true);
}

uint64_t network_ns_gather_bruck(const struct network_call *c)
{
	struct round rounds[MOST_ROUNDS];
	int n_rounds = 0;

	for (uint64_t d = 1; d < c->n; d *= 2)
		rounds[n_rounds++] = (struct round){ d, min_u64(d, c->n - d) * c->block };
	return slowest_chain(c, rounds, n_rounds, false);
}

uint64_t network_ns_exchange_bruck(const struct network_call *c)
{
	struct round rounds[MOST_ROUNDS];
	int n_rounds = 0;

	for (uint64_t d = 1; d < c->n; d *= 2) {
		uint64_t over = c->n % (2 * d), blocks = c->n / (2 * d) * d + (over > d ? over - d : 0);

		rounds[n_rounds++] = (struct round){ d, blocks * c->block };
	}
	return slowest_chain(c, rounds, n_rounds, false);
}

uint64_t network_ns_scatter_from_root(const struct network_call *c)
{
	uint64_t far = c->far_of_root;

	return round_of(far, 0, far * c->block) + (c->n - 1 - far) * NEAR_SEND;
}

uint64_t network_ns_gather_to_root(const struct network_call *c)
{
	return round_of(0, c->n - 1, c->far_of_root * c->block);
}

/* The time until the subtree of v, counted from the root in node order, has what v has.  To a child go all bytes, the
 * farthest first, or, if is_packed, the blocks of the child's subtree. */
static uint64_t subtree(const struct network_call *c, int v, int radix, bool is_packed)
{
	int n = (int)c->n;
	uint64_t sent = 0, ns = 0;

	for (int i = tree_children(v, radix, n) - 1; i >= 0; i--) {
		int child = tree_child(v, i, radix, n), size = child & -child;
		uint64_t bytes = is_packed ? (uint64_t)(size < n - child ? size : n - child) * c->block : c->bytes;
		bool far = is_far(c, (uint64_t)(c->root + v), (uint64_t)(c->root + child));

		sent += far ? max_u64(OVERHEAD, bytes * WIRE_PER_BYTE) : near(bytes);
		ns = max_u64(ns, sent + (far ? LATENCY + 2 * OVERHEAD : 0) + subtree(c, child, radix, is_packed));
	}
	return ns;
}

/* A rank's subtree in one message. */
uint64_t network_ns_packed_tree(const struct network_call *c)
{
	return subtree(c, 0, 2, true);
}

/* How many messages of such a tree leave the root's node: its other ranks may have children elsewhere too. */
static uint64_t leave_root_node(const struct network_call *c, int radix)
{
	uint64_t n_far = 0, root = (uint64_t)c->root;
	int n = (int)c->n;

	for (int v = 0; v < n; v++)
		for (int i = 0, child;
		     !is_far(c, root, root + (uint64_t)v) && (child = tree_child(v, i, radix, n)) >= 0; i++)
			n_far += is_far(c, root, root + (uint64_t)child);
	return n_far;
}

static uint64_t tree(const struct network_call *c, int radix)
{
	return max_u64(subtree(c, 0, radix, false), round_of(0, 0, leave_root_node(c, radix) * c->bytes));
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
	uint64_t crossing = crossings(c, c->n - 1);
	uint64_t path = crossing * round_of(1, 1, block) + (c->n - 1 - crossing) * LOCAL_MESSAGE;

	return round_of(0, 0, far) + max_u64(path, (c->n - 1) * block * WIRE_PER_BYTE);
}

/* The owners are the first ranks. */
static uint64_t owners_far_from_root(const struct network_call *c, uint64_t owners)
{
	int root_node = c->layout->node_of[c->layout->node_ranks[c->root]];
	uint64_t n_far = 0;

	for (uint64_t rank = 0; rank < owners; rank++)
		n_far += c->layout->node_of[rank] != root_node;
	return n_far;
}

uint64_t network_ns_pairs_then_gather(const struct network_call *c)
{
	uint64_t owners = min_u64(c->units, c->n), block = c->bytes / owners;
	uint64_t far_owners = owners_far_from_root(c, owners), wire = min_u64(c->per_node, owners) * block;
	/* an owner receives in rank order, while the link of its node delivers in another */
	uint64_t ns = LATENCY + (1 + c->far) * OVERHEAD + wire * (c->n - c->per_node) * WIRE_PER_BYTE;

	return ns + (far_owners > 0 ? round_of(1, far_owners, far_owners * block) : near(block));
}

/* Two rounds in which every rank has a message for every other one, whatever their nodes. */
uint64_t network_ns_all_pairs(const struct network_call *c)
{
	uint64_t far = c->far, owners = min_u64(c->units, c->n),
		 wire = c->per_node * (c->n - c->per_node) * (c->bytes / c->n);
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
