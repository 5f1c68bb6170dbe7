/* SPDX-License-Identifier: MIT */
/* Of collectives that move a block for each rank, and of scans: Note [network costs] in network_ns.c. */
#include "algo/network_round.h"
#include "algo/pattern_hypercube.h"

#define MOST_ROUNDS 32

/* The most of so many successive hops of a ring in node order that lead to another node. */
uint64_t network_crossings(const struct network_call *c, uint64_t hops)
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

uint64_t network_ns_gather_to_all(const struct network_call *c)
{
	return to_all(c, c->longest);
}

uint64_t network_ns_block_ring(const struct network_call *c)
{
	uint64_t crossing = network_crossings(c, c->n - 1), local = c->n - 1 - crossing;
	uint64_t path = crossing * round_of(1, 1, c->block) + local * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

/* Half of the hops each way, at the same time; both ways share the node's link. */
uint64_t network_ns_block_meeting(const struct network_call *c)
{
	uint64_t hops = c->n / 2, crossing = network_crossings(c, hops), each = c->per_node == 1 ? 2 : 1;
	uint64_t path = crossing * round_of(each, each, 2 * c->block) + (hops - crossing) * 2 * LOCAL_MESSAGE;

	return max_u64(path, round_of(1, 1, (c->n - 1) * c->block));
}

uint64_t network_ns_block_pairs(const struct network_call *c)
{
	return round_of(c->far, c->far, c->per_node * (c->n - c->per_node) * c->longest);
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

static int node_of_member(const struct network_call *c, uint64_t id)
{
	return c->layout->node_of[hypercube_member((int)id, (int)c->n)];
}

/* The slowest chain of messages, one a round: from each rank to the rank at the round's distance after it or, if
 * is_cube, from each member of a hypercube to the one whose id differs in that bit.  Only so many ranks of a node as
 * the distance have partners on other nodes. */
static uint64_t slowest_chain(const struct network_call *c, const struct round *rounds, int n_rounds, bool is_cube)
{
	uint64_t members = is_cube ? (uint64_t)hypercube_core((int)c->n) : c->n, slowest = 0;

	for (uint64_t first = 0; first < members; first++) {
		uint64_t at = first, ns = 0;

		for (int k = 0; k < n_rounds; k++) {
			uint64_t d = rounds[k].distance, to = is_cube            ? at ^ d
			                                      : at + d < members ? at + d
			                                                         : at + d - members;
			bool far = is_cube ? node_of_member(c, at) != node_of_member(c, to)
			                   : c->layout->node_of[at] != c->layout->node_of[to];

			ns +=
			    far ? round_of(1, 1, min_u64(d, c->per_node) * rounds[k].bytes) : near_ns(rounds[k].bytes);
			at = to;
		}
		slowest = max_u64(slowest, ns);
	}
	return slowest;
}

/* The extras of the hypercube give all bytes to their neighbours first and get a block at last. */
static uint64_t extras(const struct network_call *c)
{
	uint64_t extras = c->n - (uint64_t)hypercube_core((int)c->n);
	bool far = false;

	for (uint64_t i = 0; i < extras; i++)
		far |= c->layout->node_of[2 * i] != c->layout->node_of[2 * i + 1];
	if (extras == 0)
		return 0;
	return far ? round_of(1, 1, c->bytes) + round_of(1, 1, c->block) : near_ns(c->bytes) + near_ns(c->block);
}

uint64_t network_ns_block_halving(const struct network_call *c)
{
	uint64_t core = (uint64_t)hypercube_core((int)c->n);
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
