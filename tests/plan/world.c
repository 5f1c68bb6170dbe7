/* SPDX-License-Identifier: MIT */
#include "plan/checker.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct layout layout_make(int n, const int *node_of)
{
	struct layout l = { .n = n };
	int *node = calloc((size_t)n, sizeof(int)), *place = calloc((size_t)n, sizeof(int)), *ranks = calloc((size_t)n, sizeof(int));
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
	l.node_of = node, l.place_of = place, l.node_size = size, l.node_first = first, l.node_ranks = ranks;
	return l;
}

void layout_free(struct layout *l)
{
	free((void *)l->node_of);
	free((void *)l->place_of);
	free((void *)l->node_size);
	free((void *)l->node_first);
	free((void *)l->node_ranks);
	*l = (struct layout){ 0 };
}

bool world_fail(struct world *world, int rank, long id, const char *format, ...)
{
	int used = snprintf(world->why, sizeof world->why, "%s/%s n=%d rank %d",
	                    world->algorithm ? collective_name(world->algorithm->collective) : "?",
	                    world->algorithm ? world->algorithm->name : "?", world->n, rank);
	va_list args;

	if (id >= 0 && world->plans[rank].steps[id].label)
		used += snprintf(world->why + used, sizeof world->why - (size_t)used, " step %ld (%s)", id, world->plans[rank].steps[id].label);
	used += snprintf(world->why + used, sizeof world->why - (size_t)used, ": ");
	va_start(args, format);
	vsnprintf(world->why + used, sizeof world->why - (size_t)used, format, args);
	va_end(args);
	return false;
}

/* Displacements of rank me: blocks in an order that begins with block me, seven elements between them. */
static void displace(struct world *world, const struct check_case *c, int me)
{
	uint64_t at = 3 * c->elem_bytes;

	for (int i = 0; i < c->n; i++) {
		int block = (me + i) % c->n;

		world->displacements[me * c->n + block] = at;
		at += (c->block_bytes ? c->block_bytes[block] : c->bytes) + 7 * c->elem_bytes;
	}
}

static uint64_t gather_off(const struct algo_in *in, int rank)
{
	uint64_t off = 0;

	if (in->block_off)
		return in->block_off[rank];
	for (int r = 0; r < rank; r++)
		off += in->block_bytes ? in->block_bytes[r] : in->bytes;
	return off;
}

static struct algo_in input_of(struct world *world, const struct check_case *c, enum collective collective, int me)
{
	struct algo_in in = {
		.layout = &world->layout, .me = me, .collective = collective, .elem_bytes = c->elem_bytes, .bytes = c->bytes,
		.block_bytes = c->block_bytes, .root = c->root, .in_place = c->in_place, .send_direct = !c->send_staged,
		.recv_direct = !c->recv_staged, .final_op = true, .slot_bytes = c->slot_bytes, .message_bytes = c->message_bytes,
	};

	if (c->displaced) {
		displace(world, c, me);
		in.block_off = world->displacements + (size_t)me * (size_t)c->n;
	}
	if (c->in_place && (collective == COLLECTIVE_ALLGATHER || collective == COLLECTIVE_ALLGATHERV))
		in.in_place_off = gather_off(&in, me);
	if (c->in_place && collective == COLLECTIVE_REDUCE_SCATTER && !c->in_place_start)
		in.in_place_off = c->bytes * (uint64_t)me;
	return in;
}

/* p2p: rank 0 sends to rank root, the others have nothing to do. */
static const struct algorithm *role_of(const struct algorithm *algorithm, struct algo_in *in, int root)
{
	if (algorithm->collective != COLLECTIVE_SEND && algorithm->collective != COLLECTIVE_RECV)
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
		if ((role ? role->build(&world->ins[r], &world->plans[r]) : plan_finish(&world->plans[r])) != CHOIR_SUCCESS)
			return world_fail(world, r, -1, "builder failed: %s", choir_last_error());
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
	layout_free(&world->layout);
	memset(world, 0, sizeof *world);
}

/* Row or column of the alltoallv matrix. */
static uint64_t pair_sum(const struct algo_in *in, int rank, bool row)
{
	uint64_t sum = 0;
	size_t n = (size_t)in->layout->n;

	for (size_t i = 0; i < n; i++)
		sum += in->block_bytes[row ? (size_t)rank * n + i : i * n + (size_t)rank];
	return sum;
}

uint64_t world_send_bytes(const struct world *world, int rank)
{
	const struct algo_in *in = &world->ins[rank];

	switch (in->collective) {
	case COLLECTIVE_REDUCE_SCATTER:
		return in->bytes * (uint64_t)world->n;
	case COLLECTIVE_ALLGATHERV:
		return in->block_bytes ? in->block_bytes[rank] : in->bytes;
	case COLLECTIVE_ALLTOALLV:
		return pair_sum(in, rank, true);
	case COLLECTIVE_BROADCAST:
		return rank == in->root ? in->bytes : 0;
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_RECV:
		return 0;
	default:
		return in->bytes;
	}
}

uint64_t world_recv_bytes(const struct world *world, int rank)
{
	const struct algo_in *in = &world->ins[rank];
	uint64_t extent = 0;

	switch (in->collective) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLGATHERV:
		for (int r = 0; r < world->n; r++) {
			uint64_t end = gather_off(in, r) + (in->block_bytes ? in->block_bytes[r] : in->bytes);

			extent = end > extent ? end : extent;
		}
		return extent;
	case COLLECTIVE_ALLTOALLV:
		return pair_sum(in, rank, false);
	case COLLECTIVE_REDUCE:
		return rank == in->root ? in->bytes : 0;
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_SEND:
		return 0;
	default:
		return in->bytes;
	}
}

struct access access_of(const struct world *world, int rank, struct plan_ref ref, uint64_t len, uint32_t id, bool write)
{
	const struct algo_in *in = &world->ins[rank];
	struct access a = { .id = id, .off = ref.off, .len = len, .write = write };
	enum plan_buf buf = ref.buf;

	if (in->in_place && buf == PLAN_RECV && in->collective == COLLECTIVE_REDUCE_SCATTER) {
		buf = PLAN_SEND;
		a.off += in->in_place_off;
	} else if (in->in_place && buf == PLAN_SEND && in->collective != COLLECTIVE_REDUCE_SCATTER) {
		/* A non-root of a reduce has no RECV: its SEND stands alone, under either name. */
		buf = PLAN_RECV;
		a.off += in->in_place_off;
	}
	a.space = (uint32_t)(buf == PLAN_SLOT ? ref.peer : rank) * 4 + (uint32_t)buf;
	return a;
}
