/* SPDX-License-Identifier: MIT */
/* broadcast by scatter and allgather: the root cuts the vector in n blocks; the blocks go down a binomial tree to their
 * ranks, and then round a ring to all.
 *
 * log2(n) + n - 1 rounds for each 8 message_bytes (n, if that is less); several of these in flight.  The
 * root sends 2(n-1)/n of the bytes, the others less: no rank receives a block that it has.  Any n > 1.  Blocks travel
 * one by one, each passed on as it arrives.  Barnett, Gupta, Payne, Shuler, van de Geijn & Watts, "Interprocessor
 * collective communication library", SHPCC 1994. */
#include "algo/build.h"
#include "algo/exchange.h"
#include "algo/pattern_block.h"
#include "algo/pattern_ring.h"
#include "algo/pattern_tree.h"

#define DEPTH         4
#define MOST_MESSAGES 8 /* in a chunk: bounds the scratch of large comms */
#define BINOMIAL      2

struct scatter_allgather {
	const struct algo_in *in;
	struct plan *plan;
	struct group group;
	struct chunks chunks;
	bool both_direct, staged;
	uint64_t unit, stage; /* stage: the first of DEPTH areas of a chunk each, for buffers that are not direct */
	int n, v, root;       /* v: this rank's virtual rank; root: the root's index in the group */
	plan_id done[DEPTH];
	/* of the chunk being built */
	uint32_t tag;
	uint64_t len;
	struct plan_ref home; /* the memory of the whole chunk */
	plan_id sent, got;    /* the last send and receive; both are chained */
};

static uint64_t off_of(const struct scatter_allgather *b, int block)
{
	return block_off(b->len, b->n, b->unit, block);
}

static void send_block(struct scatter_allgather *b, int v, uint32_t tag, int block, const char *label)
{
	uint64_t off = off_of(b, block), len = off_of(b, block + 1) - off;

	if (len)
		b->sent = plan_send(b->plan, group_rank_from(&b->group, b->root, v), b->tag + tag,
		                    ref_plus(b->home, off), len, (plan_id[]){ b->got, b->sent }, 2, label);
}

static void recv_block(struct scatter_allgather *b, int v, uint32_t tag, int block, const char *label)
{
	uint64_t off = off_of(b, block), len = off_of(b, block + 1) - off;

	if (len)
		b->got = plan_recv(b->plan, group_rank_from(&b->group, b->root, v), b->tag + tag,
		                   ref_plus(b->home, off), len, &b->got, 1, label);
}

/* Receives the blocks of this rank's subtree, the farthest first, and passes each on towards its rank. */
static void scatter(struct scatter_allgather *b)
{
	int parent = tree_parent(b->v, BINOMIAL);

	for (int block = b->n - 1; block >= b->v; block--) {
		if (!tree_holds(b->v, block))
			continue;
		if (b->v != 0)
			recv_block(b, parent, (uint32_t)block, block, "part in");
		if (block != b->v)
			send_block(b, tree_branch(b->v, block), (uint32_t)block, block, "part on");
	}
}

/* At step s the rank sends block v - s and receives block v - s - 1, except blocks that the scatter has delivered. */
static void gather(struct scatter_allgather *b)
{
	int next = ring_next(b->v, b->n), before = ring_before(b->v, b->n);

	for (int s = 0; s < b->n - 1; s++) {
		int out = ring_gather_send_block(b->v, s, b->n, 0), in = ring_gather_recv_block(b->v, s, b->n, 0);

		if (!tree_holds(next, out))
			send_block(b, next, (uint32_t)(b->n + out), out, "block on");
		if (!tree_holds(b->v, in))
			recv_block(b, before, (uint32_t)(b->n + in), in, "block in");
	}
}

/* The root receives no data, so the last rank of the ring reports each chunk to it: the root is at most DEPTH chunks
 * ahead. */
static void report(struct scatter_allgather *b)
{
	struct plan_ref nothing = plan_at(PLAN_SCRATCH, 0);
	uint32_t tag = b->tag + 2 * (uint32_t)b->n;

	if (b->v == b->n - 1)
		b->sent = plan_send(b->plan, group_rank_from(&b->group, b->root, 0), tag, nothing, 0,
		                    (plan_id[]){ b->got, b->sent }, 2, "through");
	if (b->v == 0)
		b->got = plan_recv(b->plan, group_rank_from(&b->group, b->root, b->n - 1), tag, nothing, 0, &b->got, 1,
		                   "through");
}

static void add_chunk(struct scatter_allgather *b, uint64_t k)
{
	const struct algo_in *in = b->in;
	uint64_t off = chunk_off(b->chunks, k), area = k % DEPTH;
	plan_id out = PLAN_NO_STEP;

	b->len = chunk_len(b->chunks, k);
	b->tag = (uint32_t)k * (2 * (uint32_t)b->n + 1);
	b->home = b->staged ? plan_at(PLAN_SCRATCH, b->stage + area * round_up(b->chunks.each, 64))
	                    : plan_at(b->v == 0 ? PLAN_SEND : PLAN_RECV, off);
	b->sent = b->got = b->done[area];
	if (b->v == 0 && b->staged)
		b->sent = b->got = plan_copy(b->plan, b->home, plan_at(PLAN_SEND, off), b->len, &b->got, 1, "stage in");
	scatter(b);
	gather(b);
	if (b->staged && (b->v != 0 || !in->in_place))
		out = plan_copy(b->plan, plan_at(PLAN_RECV, off), b->home, b->len, &b->got, 1, "stage out");
	report(b);
	b->done[area] = plan_join(b->plan, (plan_id[]){ b->sent, b->got, out }, 3, "chunk through");
}

choir_status broadcast_scatter_allgather(const struct algo_in *in, struct plan *plan)
{
	struct scatter_allgather b = { .in = in,
		                       .plan = plan,
		                       .group = group_all(in),
		                       .unit = block_unit(in->elem_bytes),
		                       .n = in->layout->n,
		                       .both_direct = in->send_direct && in->recv_direct };
	uint64_t message = message_limit(in, b.unit);

	b.chunks = chunks_of(in->bytes, message * min_u64((uint64_t)b.n, MOST_MESSAGES), b.unit);
	b.root = group_index_of(in->layout, in->root);
	b.v = ring_at(b.group.me - b.root, b.n);
	b.staged = b.v == 0 ? !b.both_direct : !in->recv_direct;
	if (b.staged)
		b.stage = plan_scratch(plan, min_u64(b.chunks.n, DEPTH) * round_up(b.chunks.each, 64));
	for (int i = 0; i < DEPTH; i++)
		b.done[i] = PLAN_NO_STEP;
	for (uint64_t k = 0; k < b.chunks.n; k++)
		add_chunk(&b, k);
	if (b.v == 0 && b.both_direct && !in->in_place && in->bytes)
		plan_copy(plan, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), in->bytes, NULL, 0, "own");
	return plan_finish(plan);
}
