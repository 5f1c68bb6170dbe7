/* SPDX-License-Identifier: MIT */
/* Note [network costs].  The choice is the algorithm with the least estimated time.  The estimates are closed forms of
 * the cost model (plan/plan_cost.h), or walks over the layout, with its default costs: latency, overhead of a message,
 * bytes on the wire that the ranks of a node share.  Copies, reductions and steps are left out: next to the wire they
 * are short.  The arithmetic is in whole nanoseconds, so every rank comes to the same choice; tests/plan/test_default.c
 * compares the choices with the model. */
#include "algo/network_ns.h"

#include "algo/network_round.h"
#include "algo/pattern_hypercube.h"

static uint64_t log2_up(uint64_t n)
{
	uint64_t rounds = 0;

	while ((UINT64_C(1) << rounds) < n)
		rounds++;
	return rounds;
}

static uint64_t doubling(const struct network_call *c, uint64_t members)
{
	uint64_t core = (uint64_t)hypercube_core((int)members);

	return (log2_up(core) + (core < members ? 2 : 0)) * round_of(1, 1, c->bytes);
}

static uint64_t halving_then_doubling(const struct network_call *c, uint64_t members)
{
	uint64_t core = (uint64_t)hypercube_core((int)members), ns = core < members ? 2 * round_of(1, 1, c->bytes) : 0;

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

uint64_t network_ns_allreduce_to_all(const struct network_call *c)
{
	return to_all(c, c->bytes);
}

/* Two rounds: from every rank to every owner, whatever their nodes, and back.  The owners are the first ranks, so the
 * first node's link carries most: to one of its owners after the other, while each takes what has come. */
uint64_t network_ns_all_pairs(const struct network_call *c)
{
	uint64_t far = c->far, owners = min_u64(c->units, c->n), far_owners = min_u64(owners, far),
		 near_owners = min_u64(owners, c->per_node), wire = (c->n - c->per_node) * (c->bytes / owners);

	return round_of(far_owners, far, wire) + (near_owners - 1) * max_u64(wire * WIRE_PER_BYTE, OVERHEAD) +
	       round_of(far, far_owners, near_owners * wire);
}
