/* SPDX-License-Identifier: MIT */
/* Rings: in which order they visit the ranks, and how far a sender is ahead. */
#include "plan/cases.h"

#include "algo/pattern_order.h"
#include "algo/ring_lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOT_BYTES = 4096, MESSAGE_BYTES = 256, PIECES = 100, AHEAD = 8, N_METHODS = 5 };

static const char *const methods[N_METHODS] = { "ring", "anticlockwise_ring", "bidirectional_ring",
	                                        "meet_in_middle_ring", "quad_directional_ring" };

/* Does any step of rank 0 send to a rank that neither follows nor precedes it? */
static bool sends_elsewhere(const struct world *world)
{
	const struct plan *plan = &world->plans[0];

	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == PLAN_SEND_MSG && plan->steps[i].peer != 1 &&
		    plan->steps[i].peer != world->n - 1)
			return true;
	return false;
}

/* Empty ones, and some of several messages. */
static void uneven_blocks(int n, uint64_t *blocks)
{
	for (int r = 0; r < n; r++)
		blocks[r] = r % 3 == 1 ? 0 : 4 * (uint64_t)(r * 97 % 251);
}

/* Rings in each order that a number of ranks has. */
static void rings_in_every_order(void **state)
{
	static const enum collective collectives[] = { COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE_SCATTER,
		                                       COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTERV,
		                                       COLLECTIVE_ALLGATHERV };
	struct check_case c = { .elem_bytes = 4, .bytes = 1000, .slot_bytes = SLOT_BYTES, .message_bytes = 256 };
	int node_of[CASE_MAX_RANKS];
	uint64_t blocks[CASE_MAX_RANKS];

	(void)state;
	c.node_of = node_of;
	for (c.n = 2; c.n <= 17; c.n++)
		for (size_t i = 0; i < 5 * N_METHODS; i++)
			for (c.order = ORDER_AUTO; c.order < N_RING_ORDERS; c.order++) {
				const struct algorithm *algorithm =
				    algo_find(collectives[i / N_METHODS], methods[i % N_METHODS]);
				struct world world;

				if (!order_fits((enum ring_order)c.order, c.n))
					continue;
				case_layout(1, c.n, node_of);
				uneven_blocks(c.n, blocks);
				c.block_bytes = i < 3 * N_METHODS ? NULL : blocks;
				c.in_place = (i + (size_t)c.n) % 2;
				c.send_staged = c.recv_staged = (i + (size_t)c.order) % 3 == 0;
				assert_true(checker_build(algorithm, &c, &world));
				if (!checker_verify(&world) || !checker_run(&world, 1))
					fail_msg("%s, order %d of %d: %s", algorithm->name, c.order, c.n, world.why);
				if (i % N_METHODS == 0 && c.n == 16)
					assert_int_equal(sends_elsewhere(&world),
					                 c.order != ORDER_AUTO && c.order != ORDER_PERIPHERY);
				world_free(&world);
			}
}

static int messages_of(const struct plan *plan)
{
	int messages = 0;

	for (uint32_t i = 0; i < plan->n_steps; i++)
		messages += plan->steps[i].kind == PLAN_SEND_MSG;
	return messages;
}

/* Two ranks of a node have one link: each method sends what one ring does, where others have rings of their own. */
static void two_ranks_are_one_ring(void **state)
{
	static const enum collective collectives[] = { COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE_SCATTER,
		                                       COLLECTIVE_ALLGATHER };
	static const int rings[N_METHODS] = { 1, 1, 2, 1, 4 };
	static const struct {
		int n, layout;
		bool one;
	} rows[] = { { 2, 0, true }, { 2, 1, false }, { 5, 0, false }, { 5, 1, false } };
	struct check_case c = { .elem_bytes = 4, .bytes = 8192, .slot_bytes = SLOT_BYTES, .message_bytes = 8192 };
	int node_of[CASE_MAX_RANKS];

	(void)state;
	c.node_of = node_of;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < 3 * N_METHODS; k++) {
			enum collective collective = collectives[k / N_METHODS];
			int rounds = (collective == COLLECTIVE_ALLREDUCE ? 2 : 1) * (rows[i].n - 1);
			struct world world;

			c.n = rows[i].n;
			case_layout(rows[i].layout, c.n, node_of);
			assert_true(checker_build(algo_find(collective, methods[k % N_METHODS]), &c, &world));
			assert_int_equal(messages_of(&world.plans[0]),
			                 rows[i].one ? rounds : rounds * rings[k % N_METHODS]);
			world_free(&world);
		}
}

/* How long the messages of a pair of rings are: no part but the last is below 512 bytes. */
static void rings_cut_no_short_parts(void **state)
{
	static const uint64_t lens[][3] = { { 64, 64, 0 },      { 512, 512, 0 },   { 516, 512, 4 },
		                            { 1024, 512, 512 }, { 1028, 1024, 4 }, { 4096, 2048, 2048 } };

	(void)state;
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
		for (int part = 0; part < 2; part++) {
			struct ring_lane lane = { .part = part, .parts = 2 };

			assert_int_equal(lane_len(&lane, lens[i][0], 64), lens[i][part + 1]);
		}
}

/* Messages do not pile up at a late rank: of its own block a ring sends some, then one for each that came. */
static void rings_wait_for_messages(void **state)
{
	struct layout layout = layout_make(2, (int[]){ 0, 1 });
	struct algo_in in = { .layout = &layout,
		              .collective = COLLECTIVE_ALLGATHER,
		              .elem_bytes = 4,
		              .bytes = PIECES * MESSAGE_BYTES,
		              .send_direct = true,
		              .recv_direct = true,
		              .slot_bytes = SLOT_BYTES,
		              .message_bytes = MESSAGE_BYTES };
	uint32_t receives[PIECES];
	int sends = 0, received = 0;
	struct plan plan;

	(void)state;
	plan_init(&plan, "ring", 4);
	assert_int_equal(algo_find(COLLECTIVE_ALLGATHER, "ring")->build(&in, &plan), CHOIR_SUCCESS);
	for (uint32_t i = 0; i < plan.n_steps; i++) {
		const struct plan_step *step = &plan.steps[i];

		if (step->kind == PLAN_RECV_MSG)
			receives[received++] = i;
		if (step->kind != PLAN_SEND_MSG)
			continue;
		/* piece k waits for message k - AHEAD */
		assert_int_equal(step->n_deps, sends >= AHEAD);
		if (sends >= AHEAD)
			assert_int_equal(plan.deps[step->dep_first], receives[sends - AHEAD]);
		sends++;
	}
	assert_int_equal(sends, PIECES);
	assert_int_equal(received, PIECES);
	plan_fini(&plan);
	layout_free(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rings_in_every_order),
		                            cmocka_unit_test(two_ranks_are_one_ring),
		                            cmocka_unit_test(rings_cut_no_short_parts),
		                            cmocka_unit_test(rings_wait_for_messages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
