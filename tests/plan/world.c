/* SPDX-License-Identifier: MIT */
#include "plan/checker.h"

#include <stdlib.h>
#include <string.h>

struct layout layout_make(int n, const int *node_of)
{
	struct layout l = { .n = n };
	int *node = calloc((size_t)n, sizeof(int)), *place = calloc((size_t)n, sizeof(int)),
	    *ranks = calloc((size_t)n, sizeof(int));
	int *size = calloc((size_t)n + 1, sizeof(int)), *first = calloc((size_t)n + 2, sizeof(int));

	for (int r = 0; r < n; r++) {
		node[r] = node_of ? node_of[r] : 0;
		place[r] = size[node[r]]++;
		if (node[r] >= l.n_nodes)
			l.n_nodes = node[r] + 1;
	}
	l.min_node_size = n;
	for (int i = 0; i < l.n_nodes; i++) {
		first[i + 1] = first[i] + size[i];
		l.min_node_size = size[i] < l.min_node_size ? size[i] : l.min_node_size;
		l.max_node_size = size[i] > l.max_node_size ? size[i] : l.max_node_size;
	}
	for (int r = 0; r < n; r++)
		ranks[first[node[r]] + place[r]] = r;
	l.node_of = node, l.local_rank_of = place, l.node_size = size, l.node_first = first, l.node_ranks = ranks;
	return l;
}

void layout_free(struct layout *l)
{
	free((void *)l->node_of);
	free((void *)l->local_rank_of);
	free((void *)l->node_size);
	free((void *)l->node_first);
	free((void *)l->node_ranks);
	*l = (struct layout){ 0 };
}

/* Displacements of what rank me receives: blocks in an order that begins with block me, seven elements between them. */
static void displace(struct world *world, const struct check_case *c, int me)
{
	uint64_t at = 3 * c->elem_bytes;
	bool matrix = collective_of_pairs(world->algorithm->collective);

	for (int i = 0; i < c->n; i++) {
		int block = (me + i) % c->n;

		world->displacements[me * c->n + block] = at;
		at += (c->block_bytes ? c->block_bytes[matrix ? block * c->n + me : block] : c->bytes) +
		      7 * c->elem_bytes;
	}
}

/* And of what all ranks send: the last block first, five elements behind each. */
static void displace_send(struct world *world, const struct check_case *c)
{
	for (int from = 0; from < c->n; from++) {
		uint64_t at = 0;

		for (int to = c->n - 1; to >= 0; to--) {
			world->send_displacements[from * c->n + to] = at;
			at += c->block_bytes[from * c->n + to] + 5 * c->elem_bytes;
		}
	}
}

/* The offsets of the blocks one after another, which the library gives to reduce_scatterv. */
static const uint64_t *packed(struct world *world, const struct check_case *c, int me)
{
	uint64_t *off = world->displacements + (size_t)me * (size_t)c->n, at = 0;

	for (int r = 0; r < c->n; r++) {
		off[r] = at;
		at += c->block_bytes[r];
	}
	return off;
}

static uint64_t block_off(const struct algo_in *in, int rank)
{
	uint64_t off = 0;

	if (in->block_off)
		return in->block_off[rank];
	for (int r = 0; r < rank; r++)
		off += in->block_bytes ? in->block_bytes[r] : in->bytes;
	return off;
}

/* Calls whose result lies where peers may still read: no plan reaches into shared buffers then. */
static bool replaces(const struct check_case *c, enum collective collective)
{
	return c->in_place && (collective == COLLECTIVE_ALLTOALL || c->in_place_start);
}

static struct algo_in input_of(struct world *world, const struct check_case *c, enum collective collective, int me)
{
	bool staged = !c->odd_staged || me % 2 == 1;
	struct algo_in in = {
		.layout = &world->layout,
		.me = me,
		.collective = collective,
		.elem_bytes = c->elem_bytes,
		.bytes = c->bytes,
		.block_bytes = c->block_bytes,
		.root = c->root,
		.in_place = c->in_place,
		.send_direct = !(c->send_staged && staged),
		.recv_direct = !(c->recv_staged && staged),
		.final_op = true,
		.slot_bytes = c->slot_bytes,
		.command_bytes = c->send_staged ? 512 : 0,
		.message_bytes = c->message_bytes,
		.order = c->order,
		.scaled = c->scaled,
		.lists = c->lists,
	};
	bool inner;

	/* In every other case that may. */
	in.owns_copied = !in.send_direct && !in.recv_direct && !c->scaled && !c->lists &&
	                 (c->bytes / c->elem_bytes + (uint64_t)c->n) % 2 == 0;
	in.owns_reduced = in.owns_copied && (!c->in_place || c->n == 1) && collective_has(collective, TRAIT_REDUCES);
	in.shared = !c->send_staged && !c->recv_staged && !replaces(c, collective);
	if (c->send_staged && c->recv_staged && !c->odd_staged && !replaces(c, collective))
		in.device_bytes = c->device_bytes;
	if (c->displaced) {
		displace(world, c, me);
		in.send_off = collective == COLLECTIVE_ALLTOALLV ? world->send_displacements : NULL;
		*(collective == COLLECTIVE_ALLTOALLV ? &in.recv_off : &in.block_off) =
		    world->displacements + (size_t)me * (size_t)c->n;
	}
	if (collective == COLLECTIVE_REDUCE_SCATTERV)
		in.block_off = packed(world, c, me);
	inner = collective_send_is_inner(collective) || collective_recv_is_inner(collective);
	if (c->in_place && inner && !c->in_place_start)
		in.in_place_off = block_off(&in, me);
	return in;
}

/* p2p: rank 0 sends to rank root, the others have nothing to do. */
static const struct algorithm *role_of(const struct algorithm *algorithm, struct algo_in *in, int root)
{
	if (!collective_has(algorithm->collective, TRAIT_PAIR))
		return algorithm;
	in->collective = in->me == 0 ? COLLECTIVE_SEND : COLLECTIVE_RECV;
	in->root = in->me == 0 ? root : 0;
	if (in->me == 0 || in->me == root)
		return algo_find(in->collective, algorithm->name);
	in->bytes = 0;
	return NULL;
}

bool checker_build(const struct algorithm *algorithm, const struct check_case *c, struct world *world)
{
	*world = (struct world){ .n = c->n, .algorithm = algorithm, .layout = layout_make(c->n, c->node_of) };
	world->ins = calloc((size_t)c->n, sizeof *world->ins);
	world->plans = calloc((size_t)c->n, sizeof *world->plans);
	world->displacements = calloc((size_t)c->n * (size_t)c->n, sizeof *world->displacements);
	world->send_displacements = calloc((size_t)c->n * (size_t)c->n, sizeof *world->send_displacements);
	if (c->displaced && algorithm->collective == COLLECTIVE_ALLTOALLV)
		displace_send(world, c);
	for (int r = 0; r < c->n; r++) {
		const struct algorithm *role;
		const char *unfit;

		world->ins[r] = input_of(world, c, algorithm->collective, r);
		role = role_of(algorithm, &world->ins[r], c->root);
		plan_init(&world->plans[r], algorithm->name, c->elem_bytes);
		unfit = role ? role->unfit(&world->ins[r]) : NULL;
		if (unfit) {
			snprintf(world->why, sizeof world->why, "unfit: %s", unfit);
			return false;
		}
		if ((role ? role->build(&world->ins[r], &world->plans[r]) : plan_finish(&world->plans[r])) !=
		    CHOIR_SUCCESS) {
			snprintf(world->why, sizeof world->why, "%s, rank %d: builder failed: %s", algorithm->name, r,
			         choir_last_error());
			return false;
		}
	}
	return true;
}

void world_free(struct world *world)
{
	for (int r = 0; world->plans && r < world->n; r++)
		plan_fini(&world->plans[r]);
	free(world->plans);
	free(world->ins);
	free(world->displacements);
	free(world->send_displacements);
	layout_free(&world->layout);
	memset(world, 0, sizeof *world);
}
