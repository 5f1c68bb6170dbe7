/* SPDX-License-Identifier: MIT */
/* Of calls with a root, and of lines of ranks: Note [network costs] in network_ns.c. */
#include "algo/network_round.h"
#include "algo/pattern_tree.h"

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
		int child = tree_child(v, i, radix, n);
		uint64_t bytes = is_packed ? (uint64_t)tree_size(child, n) * c->block : c->bytes;
		bool far = is_far(c, (uint64_t)(c->root + v), (uint64_t)(c->root + child));

		sent += far ? max_u64(OVERHEAD, bytes * WIRE_PER_BYTE) : near_ns(bytes);
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

static uint64_t pieces_of(const struct network_call *c)
{
	return max_u64(1, (c->bytes + c->message - 1) / c->message);
}

/* A piece along all ranks, one link after another. */
static uint64_t line(const struct network_call *c)
{
	uint64_t piece = c->bytes / pieces_of(c);

	return (c->nodes - 1) * round_of(1, 1, piece) + (c->n - c->nodes) * near_ns(piece);
}

/* Pieces follow each other along all nodes. */
uint64_t network_ns_chain(const struct network_call *c)
{
	uint64_t pieces = pieces_of(c);

	return line(c) + (pieces - 1) * (c->bytes / pieces) * WIRE_PER_BYTE;
}

/* The root sends all blocks; then the last block goes round the ring, or the ring's links carry all blocks. */
uint64_t network_ns_scatter_then_ring(const struct network_call *c)
{
	uint64_t far = c->bytes / c->nodes * (c->nodes - 1), block = c->bytes / c->n;
	uint64_t crossing = network_crossings(c, c->n - 1);
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

	return ns + (far_owners > 0 ? round_of(1, far_owners, far_owners * block) : near_ns(block));
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
