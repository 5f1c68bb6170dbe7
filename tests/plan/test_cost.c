/* SPDX-License-Identifier: MIT */
/* The cost model against closed forms. */
#include "plan/cases.h"
#include "plan/plan_cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ALPHA      1e-5 /* seconds a message */
#define BETA       1e9  /* bytes a second */
#define GAMMA      4e9  /* bytes of sources a second */
#define COPY       8e9
#define FLAG       3e-7
#define SLOT_BYTES (1u << 20)

/* Only what is named costs. */
static const struct plan_costs bare = {
	.network = { .latency_s = ALPHA, .bytes_per_s = BETA },
	.node = { .latency_s = ALPHA, .bytes_per_s = BETA },
	.copy_bytes_per_s = 1e30,
	.reduce_bytes_per_s = 1e30,
	.slot_bytes_per_s = 1e30,
};

static int *nodes_of(int n, int per_node)
{
	int *node_of = calloc((size_t)n, sizeof *node_of);

	for (int r = 0; r < n; r++)
		node_of[r] = r / per_node;
	return node_of;
}

/* The plans of one rank after the other, so that n may be large. */
static struct plan_forecast forecast(enum collective collective, const char *name, int n, int per_node, uint64_t bytes,
                                     const struct plan_costs *costs)
{
	int *node_of = nodes_of(n, per_node);
	struct layout layout = layout_make(n, node_of);
	const struct algorithm *algorithm = algo_find(collective, name);
	struct plan_cost *cost;
	struct plan_forecast out;

	assert_non_null(algorithm);
	assert_int_equal(plan_cost_create(n, node_of, costs, &cost), CHOIR_SUCCESS);
	for (int r = 0; r < n; r++) {
		struct algo_in in = { .layout = &layout,
			              .me = r,
			              .collective = collective,
			              .elem_bytes = 4,
			              .bytes = bytes,
			              .send_direct = true,
			              .recv_direct = true,
			              .final_op = true,
			              .slot_bytes = SLOT_BYTES,
			              .message_bytes = 1u << 30 };
		struct plan plan;

		assert_null(algorithm->unfit(&in));
		plan_init(&plan, name, 4);
		assert_int_equal(algorithm->build(&in, &plan), CHOIR_SUCCESS);
		assert_int_equal(plan_cost_add(cost, r, &plan), CHOIR_SUCCESS);
		plan_fini(&plan);
	}
	assert_int_equal(plan_cost_run(cost, &out, NULL), CHOIR_SUCCESS);
	plan_cost_destroy(cost);
	layout_free(&layout);
	free(node_of);
	return out;
}

static double seconds(enum collective collective, const char *name, int n, int per_node, uint64_t bytes,
                      const struct plan_costs *costs)
{
	return forecast(collective, name, n, per_node, bytes, costs).seconds;
}

static void equals(double got, double want)
{
	if (fabs(got - want) > want * 1e-9 + 1e-15)
		fail_msg("%.12g s, not %.12g s", got, want);
}

static void ring_is_2_n_minus_1_steps(void **state)
{
	static const int ns[] = { 2, 3, 5, 8, 17, 64 };
	struct plan_costs adds = bare;

	(void)state;
	adds.reduce_bytes_per_s = GAMMA;
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
		int n = ns[i];
		double block = 64.0 * 1000, m = block * n, wire = 2 * (n - 1) * (ALPHA + m / (n * BETA));
		struct plan_forecast f = forecast(COLLECTIVE_ALLREDUCE, "ring", n, 1, (uint64_t)m, &bare);

		equals(f.seconds, wire);
		equals(seconds(COLLECTIVE_ALLREDUCE, "ring", n, 1, (uint64_t)m, &adds),
		       wire + (n - 1) * 2 * block / GAMMA);
		/* inside a node: the same rates were given */
		equals(seconds(COLLECTIVE_ALLREDUCE, "ring", n, n, (uint64_t)m, &bare), wire);
		assert_int_equal(f.messages, 2 * n * (n - 1));
		assert_int_equal(f.network_bytes, (uint64_t)(2 * (n - 1) * m));
		equals(seconds(COLLECTIVE_REDUCE_SCATTER, "ring", n, 1, (uint64_t)block, &bare),
		       (n - 1) * (ALPHA + block / BETA));
		equals(seconds(COLLECTIVE_ALLGATHER, "ring", n, 1, (uint64_t)block, &bare),
		       (n - 1) * (ALPHA + block / BETA));
	}
}

/* Half way round each way; both directions share a node's one outgoing link here, so only latency gains. */
static void meeting_is_half_the_rounds(void **state)
{
	(void)state;
	for (int n = 2; n <= 17; n++) {
		equals(seconds(COLLECTIVE_ALLREDUCE, "meet_in_middle_ring", n, 1, 0, &bare), 0);
		assert_true(seconds(COLLECTIVE_ALLREDUCE, "meet_in_middle_ring", n, 1, 64u * (uint64_t)n, &bare) <
		            (2 * (n / 2) + 0.5) * ALPHA);
		assert_true(seconds(COLLECTIVE_ALLGATHER, "meet_in_middle_ring", n, 1, 64, &bare) <
		            (n / 2 + 0.5) * ALPHA);
		assert_true(seconds(COLLECTIVE_REDUCE_SCATTER, "meet_in_middle_ring", n, 1, 64, &bare) <
		            (n / 2 + 0.5) * ALPHA);
		assert_true(seconds(COLLECTIVE_ALLREDUCE, "broadcast", n, 1, 64, &bare) < 1.5 * ALPHA);
		assert_true(seconds(COLLECTIVE_ALLGATHER, "broadcast", n, 1, 64, &bare) < 1.5 * ALPHA);
	}
}

static void doubling_is_log_n_steps(void **state)
{
	(void)state;
	for (int k = 1; k < 8; k++) {
		equals(seconds(COLLECTIVE_ALLREDUCE, "recursive_doubling", 1 << k, 1, 6400, &bare),
		       k * (ALPHA + 6400 / BETA));
		equals(seconds(COLLECTIVE_BARRIER, "dissemination", 1 << k, 1, 0, &bare), k * ALPHA);
		equals(seconds(COLLECTIVE_BARRIER, "dissemination", (1 << k) + 1, 1, 0, &bare), (k + 1) * ALPHA);
	}
}

static void oneshot_is_a_copy_a_flag_and_a_sum(void **state)
{
	struct plan_costs costs = bare;

	(void)state;
	costs.copy_bytes_per_s = COPY;
	costs.reduce_bytes_per_s = GAMMA;
	costs.flag_s = FLAG;
	for (int n = 2; n < 9; n++)
		equals(seconds(COLLECTIVE_ALLREDUCE, "oneshot", n, n, 40000, &costs),
		       40000 / COPY + FLAG + n * 40000 / GAMMA);
	costs.step_s = 1e-7; /* put, publish, reduce; an AWAIT costs nothing */
	equals(seconds(COLLECTIVE_ALLREDUCE, "oneshot", 4, 4, 40000, &costs),
	       40000 / COPY + FLAG + 4 * 40000 / GAMMA + 3e-7);
}

/* Plans written by hand: from[i] sends bytes[i] to to[i], all at once. */
static double sends(int n, const int *node_of, const struct plan_costs *costs, size_t n_sends, const int *from,
                    const int *to, uint64_t bytes)
{
	struct plan_cost *cost;
	struct plan_forecast f;

	assert_int_equal(plan_cost_create(n, node_of, costs, &cost), CHOIR_SUCCESS);
	for (int r = 0; r < n; r++) {
		struct plan plan;

		plan_init(&plan, "by hand", 1);
		for (size_t i = 0; i < n_sends; i++)
			if (from[i] == r)
				plan_send(&plan, to[i], (uint32_t)i, plan_at(PLAN_SEND, 0), bytes, NULL, 0, "send");
		for (size_t i = 0; i < n_sends; i++)
			if (to[i] == r)
				plan_recv(&plan, from[i], (uint32_t)i, plan_at(PLAN_RECV, 0), bytes, NULL, 0, "recv");
		assert_int_equal(plan_finish(&plan), CHOIR_SUCCESS);
		assert_int_equal(plan_cost_add(cost, r, &plan), CHOIR_SUCCESS);
		plan_fini(&plan);
	}
	assert_int_equal(plan_cost_run(cost, &f, NULL), CHOIR_SUCCESS);
	plan_cost_destroy(cost);
	return f.seconds;
}

static void ranks_of_a_node_share_its_ways(void **state)
{
	struct plan_costs costs = bare;
	const double wire = 1e6 / BETA;

	(void)state;
	/* two ranks of a node to two of another: one way out, one way in, filled one after the other */
	equals(sends(4, (int[]){ 0, 0, 1, 1 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 2, 3 }, 1000000), ALPHA + 2 * wire);
	/* to different nodes, from different nodes: alone on one side only */
	equals(sends(4, (int[]){ 0, 0, 1, 2 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 2, 3 }, 1000000), ALPHA + 2 * wire);
	equals(sends(4, (int[]){ 1, 2, 0, 0 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 2, 3 }, 1000000), ALPHA + 2 * wire);
	/* nothing shared, and both directions of one way */
	equals(sends(4, (int[]){ 0, 1, 2, 3 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 2, 3 }, 1000000), ALPHA + wire);
	equals(sends(2, (int[]){ 0, 1 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 1, 0 }, 1000000), ALPHA + wire);
	/* inside a node each rank has a way of its own */
	equals(sends(4, (int[]){ 0, 0, 0, 0 }, &bare, 2, (int[]){ 0, 1 }, (int[]){ 2, 3 }, 1000000), ALPHA + wire);
	/* what both ends pay */
	costs.network.overhead_s = 1e-6;
	costs.network.copies = 1;
	costs.copy_bytes_per_s = COPY;
	equals(sends(2, (int[]){ 0, 1 }, &costs, 1, (int[]){ 0 }, (int[]){ 1 }, 1000000),
	       ALPHA + wire + 2e-6 + 2e6 / COPY);
}

/* Ready steps are done in the plan's order: the message leaves after the copies before it, not after those behind. */
static void steps_go_in_order(void **state)
{
	struct plan_costs costs = bare;
	struct plan_cost *cost;
	struct plan_forecast f;
	struct plan plans[2];
	double finish[2];

	(void)state;
	costs.copy_bytes_per_s = COPY;
	for (int r = 0; r < 2; r++)
		plan_init(&plans[r], "by hand", 1);
	for (int i = 0; i < 10; i++) {
		if (i == 6)
			plan_send(&plans[0], 1, 1, plan_at(PLAN_SEND, 0), 1000, NULL, 0, "send");
		plan_copy(&plans[0], plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), 8000, NULL, 0, "copy");
	}
	plan_recv(&plans[1], 0, 1, plan_at(PLAN_RECV, 0), 1000, NULL, 0, "recv");
	assert_int_equal(plan_cost_create(2, (int[]){ 0, 1 }, &costs, &cost), CHOIR_SUCCESS);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(plan_finish(&plans[r]), CHOIR_SUCCESS);
		assert_int_equal(plan_cost_add(cost, r, &plans[r]), CHOIR_SUCCESS);
		plan_fini(&plans[r]);
	}
	assert_int_equal(plan_cost_run(cost, &f, finish), CHOIR_SUCCESS);
	equals(finish[0], 10 * 8000 / COPY);
	equals(finish[1], 6 * 8000 / COPY + ALPHA + 1000 / BETA);
	plan_cost_destroy(cost);
}

static void hierarchy_pays_where_nodes_are_wide(void **state)
{
	double flat, hier;

	(void)state;
	flat = seconds(COLLECTIVE_ALLREDUCE, "ring", 32, 8, 1 << 20, &plan_costs_default);
	hier = seconds(COLLECTIVE_ALLREDUCE, "hier_ring", 32, 8, 1 << 20, &plan_costs_default);
	assert_true(hier < flat);
}

/* Every algorithm: more bytes never take less time, and a message to nobody is not waited for in silence. */
static void more_bytes_take_longer(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		static const uint64_t sizes[] = { 0, 4, 64 * 6, 4096 * 6, 65536 * 6, 1 << 21 };
		double last = 0;

		if (algorithms[i].collective != COLLECTIVE_ALLREDUCE &&
		    algorithms[i].collective != COLLECTIVE_BROADCAST)
			continue;
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			int n = strcmp(algorithms[i].name, "single") == 0 ? 1 : 6,
			    per_node = strncmp(algorithms[i].name, "hier", 4) == 0 ? 2 : n;
			struct layout layout = layout_make(
			    n, (int[]){ 0, 0, per_node == 2, per_node == 2, 2 * (per_node == 2), 2 * (per_node == 2) });
			struct algo_in in = { .layout = &layout,
				              .collective = algorithms[i].collective,
				              .elem_bytes = 4,
				              .bytes = sizes[s],
				              .send_direct = true,
				              .recv_direct = true,
				              .slot_bytes = SLOT_BYTES,
				              .message_bytes = 1u << 30 };
			bool fits = !algorithms[i].unfit(&in);
			double now = 0;

			layout_free(&layout);
			if (!fits)
				continue;
			now = seconds(algorithms[i].collective, algorithms[i].name, n, per_node, sizes[s],
			              &plan_costs_default);
			if (now < last * 0.999)
				fail_msg("%s/%s: %lu bytes in %g s, fewer in %g s",
				         collective_name(algorithms[i].collective), algorithms[i].name,
				         (unsigned long)sizes[s], now, last);
			last = now;
		}
	}
}

static void a_thousand_nodes(void **state)
{
	double block = 6400, m = block * 1000;
	struct plan_forecast f = forecast(COLLECTIVE_ALLREDUCE, "ring", 1000, 1, (uint64_t)m, &bare);

	(void)state;
	equals(f.seconds, 2 * 999 * (ALPHA + block / BETA));
	assert_int_equal(f.messages, 2 * 999 * 1000);
}

static void what_cannot_end_is_said(void **state)
{
	struct plan_costs costs = plan_costs_default;
	struct plan_cost *cost;
	struct plan_forecast f = { .seconds = 7 };
	struct plan plan;

	(void)state;
	assert_int_equal(plan_cost_create(2, (int[]){ 0, 1 }, &costs, &cost), CHOIR_SUCCESS);
	plan_init(&plan, "lone", 1);
	plan_recv(&plan, 1, 3, plan_at(PLAN_RECV, 0), 8, NULL, 0, "never comes");
	assert_int_equal(plan_finish(&plan), CHOIR_SUCCESS);
	assert_int_equal(plan_cost_add(cost, 0, &plan), CHOIR_SUCCESS);
	assert_int_equal(plan_cost_run(cost, &f, NULL), CHOIR_MISMATCH);
	assert_non_null(strstr(choir_last_error(), "rank 0 waits for ever"));
	assert_true(f.seconds == 7);
	plan_cost_destroy(cost);
	plan_fini(&plan);
	plan_cost_destroy(NULL);
}

static void costs_are_checked(void **state)
{
	struct plan_costs costs = plan_costs_default;

	(void)state;
	assert_int_equal(plan_costs_check(&costs), CHOIR_SUCCESS);
	assert_int_equal(plan_costs_check(&bare), CHOIR_SUCCESS);
	costs.network.bytes_per_s = 0;
	assert_int_equal(plan_costs_check(&costs), CHOIR_ARGUMENT);
	assert_non_null(strstr(choir_last_error(), "the network's rate is 0"));
	costs = plan_costs_default;
	costs.flag_s = -1;
	assert_int_equal(plan_costs_check(&costs), CHOIR_ARGUMENT);
	costs.flag_s = NAN;
	assert_int_equal(plan_costs_check(&costs), CHOIR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_is_2_n_minus_1_steps),
		cmocka_unit_test(meeting_is_half_the_rounds),
		cmocka_unit_test(doubling_is_log_n_steps),
		cmocka_unit_test(oneshot_is_a_copy_a_flag_and_a_sum),
		cmocka_unit_test(ranks_of_a_node_share_its_ways),
		cmocka_unit_test(steps_go_in_order),
		cmocka_unit_test(hierarchy_pays_where_nodes_are_wide),
		cmocka_unit_test(more_bytes_take_longer),
		cmocka_unit_test(a_thousand_nodes),
		cmocka_unit_test(what_cannot_end_is_said),
		cmocka_unit_test(costs_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
