/* SPDX-License-Identifier: MIT */
/* How an algorithm is chosen: what the model takes where, and whose constants count. */
#include "sparse/algorithm.h"
#include "sparse/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* So many ranks on so many nodes, all with `pairs` f32 rows of indices below `span`. */
struct shape {
	int n, n_nodes;
	uint64_t pairs, width, span;
};

static struct sparse_facts facts_of(const struct shape *s)
{
	return (struct sparse_facts){ .pairs = s->pairs * (uint64_t)s->n,
		                      .most = s->pairs,
		                      .least = s->pairs,
		                      .width = s->width,
		                      .range = { 0, (int64_t)s->span - 1 },
		                      .algorithm = -1,
		                      .last = -1 };
}

static struct sparse_choice chosen(const struct shape *s, const struct sparse_facts *facts,
                                   const struct link_costs *costs, choir_dtype dtype)
{
	struct sparse_choice choice;
	struct world world;
	struct cost cost;

	world_init(&world, s->n, s->n_nodes, NULL);
	cost = cost_of(facts, &world.layout, dtype, CHOIR_OP_SUM);
	assert_int_equal(sparse_method_choose(facts, &cost, costs, CHOIR_COALESCE_REGULAR, &choice), CHOIR_SUCCESS);
	world_fini(&world);
	return choice;
}

static void expect(const struct shape *s, const struct link_costs *costs, choir_dtype dtype, const char *name)
{
	struct sparse_facts facts = facts_of(s);
	struct sparse_choice choice = chosen(s, &facts, costs, dtype);

	if (strcmp(choice.method->name, name) != 0)
		fail_msg("%d ranks on %d nodes, %llu pairs of width %llu below %llu: %s, not %s", s->n, s->n_nodes,
		         (unsigned long long)s->pairs, (unsigned long long)s->width, (unsigned long long)s->span,
		         choice.method->name, name);
}

/* Dense where nearly all indices come, as T says: 2 n v against k p + K v + n/8; and never where its range is out of
 * all proportion. */
static void the_model_takes(void **state)
{
	static const struct {
		struct shape s;
		choir_dtype dtype;
		const char *name;
	} rows[] = {
		{ { 4, 4, 10, 1, 1000000 }, CHOIR_F32, "allgather" },
		{ { 2, 2, 4096, 64, 43056 }, CHOIR_F32, "allgather" },
		{ { 4, 4, 294000, 1, 14700000 }, CHOIR_F32, "split" },
		{ { 4, 4, 4000000, 1, 4000000 }, CHOIR_F32, "dense" },
		{ { 4, 4, 900, 16, 1000 }, CHOIR_F32, "dense" },
		{ { 4, 4, 100000, 128, UINT64_C(1) << 40 }, CHOIR_F32, "allgather" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect(&rows[i].s, &link_costs_default, rows[i].dtype, rows[i].name);
}

/* A dearer message moves the border between few rounds and few bytes. */
static void constants_decide(void **state)
{
	static const struct shape s = { 4, 4, 40000, 1, 100000 };
	struct link_costs costs = link_costs_default;

	(void)state;
	expect(&s, &costs, CHOIR_F32, "split");
	costs.ns[LINK_NODE][COST_ALPHA] = 1e9F; /* another link's */
	expect(&s, &costs, CHOIR_F32, "split");
	costs.ns[LINK_NETWORK][COST_ALPHA] = 1e9F;
	expect(&s, &costs, CHOIR_F32, "allgather");
	costs.ns[LINK_NETWORK][COST_ALPHA] = 0;
	costs.ns[LINK_NETWORK][COST_MERGE] = 0;
	costs.ns[LINK_NETWORK][COST_BETA] = 0;
	expect(&s, &costs, CHOIR_F32, "allgather"); /* copies nothing */
}

static void times_are_sums(void **state)
{
	static const struct shape s = { 4, 2, 1000, 8, 100000 };
	struct link_costs costs = { .ns = { [LINK_NETWORK] = { [COST_ALPHA] = 1000,
		                                               [COST_BETA] = 2,
		                                               [COST_SIGMA] = 0.5F,
		                                               [COST_MERGE] = 3,
		                                               [COST_FOLD] = 0.25F } } };
	struct sparse_facts facts = facts_of(&s);
	struct sparse_choice choice;
	const struct work *work = &choice.work;

	(void)state;
	facts.algorithm = sparse_method_find("split");
	choice = chosen(&s, &facts, &costs, CHOIR_F32);
	/* Two ranks a node share its link. */
	assert_true(choice.ns == 1000 * work->messages + 2 * 2 * work->received + 0.5 * work->copied +
	                             3 * work->merged + 0.25 * work->folded);
	assert_true(work->messages > 0 && work->received > 0 && work->copied > 0 && work->merged == 1000 &&
	            work->folded == 32000);
}

/* Who has nothing receives all that the others gather, and who has most has most to scatter: bytes of the busiest link
 * decide, not those of the mean rank. */
static void skew_moves_the_border(void **state)
{
	static const struct shape s = { 4, 4, 26000, 64, 10000000 };
	static const struct {
		uint64_t most, least;
		double growth;
		const char *name;
	} rows[] = {
		{ 26000, 26000, 2.8, "split" },
		{ 80000, 8000, 2.8, "allgather" },
		{ 26000, 26000, 3.6, "allgather" },
		{ 34667, 0, 3.6, "split" },
	};
	struct sparse_facts facts = facts_of(&s);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		facts.most = rows[i].most;
		facts.least = rows[i].least;
		facts.growth = rows[i].growth;
		facts.last = -1;
		assert_string_equal(chosen(&s, &facts, &link_costs_default, CHOIR_F32).method->name, rows[i].name);
	}
}

/* Frequent indices stand at the beginning: the first region is on all ranks alike and short, and a link carries all but
 * it. */
static void short_regions_weigh_on_links(void **state)
{
	static const struct shape s = { 4, 4, 1600, 1, 100000 };
	static const uint64_t even[] = { 0, 25000, 50000, 75000, 100000 }, uneven[] = { 0, 400, 10000, 40000, 100000 };
	struct sparse_facts facts = facts_of(&s);
	struct world world;
	struct cost cost;

	(void)state;
	world_init(&world, s.n, s.n_nodes, NULL);
	cost = cost_of(&facts, &world.layout, CHOIR_F32, CHOIR_OP_SUM);
	cost_cut(&cost, even);
	assert_true(cost.gathers > 0.7499 && cost.gathers < 0.7501);
	cost_cut(&cost, uneven);
	assert_true(cost.gathers > 0.920 && cost.gathers < 0.922); /* 400 beside 1503, 1568 and 1584 */
	world_fini(&world);
}

/* Ranks of a node share its link: the longest list is no more than what the node's ranks can have. */
static void link_bytes_are_exact(void **state)
{
	static const struct shape flat = { 4, 4, 1000, 1, 100000 }, full = { 4, 2, 1000, 1, 100000 };
	struct sparse_facts facts = facts_of(&flat);
	struct world world;
	struct cost cost;

	(void)state;
	facts.most = 3000;
	facts.least = 100;
	world_init(&world, flat.n, flat.n_nodes, NULL);
	cost = cost_of(&facts, &world.layout, CHOIR_F32, CHOIR_OP_SUM);
	assert_true(cost_gathered(&cost) == 3900 && cost_scattered(&cost) == 2250);
	world_fini(&world);
	world_init(&world, full.n, full.n_nodes, NULL);
	cost = cost_of(&facts, &world.layout, CHOIR_F32, CHOIR_OP_SUM);
	assert_true(cost_gathered(&cost) == 3900 && cost_scattered(&cost) == 1500);
	world_fini(&world);
}

static void different_rules_are_told(void **state)
{
	struct sparse_header all[3] = { { .algorithm = -1, .costs = link_costs_default },
		                        { .algorithm = -1, .costs = link_costs_default },
		                        { .algorithm = -1, .costs = link_costs_default } };
	struct sparse_facts facts;

	(void)state;
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_SUCCESS);
	all[2].costs.ns[LINK_NETWORK][COST_BETA] = 9.25F;
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_MISMATCH);
	if (strstr(choir_last_error(), "costs: network beta=8.5 on rank 0, beta=9.25 on rank 2") == NULL)
		fail_msg("\"%s\"", choir_last_error());
}

/* They travel with the header: every rank ends with the same sentence, and the comm with it. */
static void different_rules_end_the_call(void **state)
{
	struct test_case c = { .seed = 3,
		               .n = 2,
		               .n_nodes = 2,
		               .ind_dtype = CHOIR_I32,
		               .val_dtype = CHOIR_F32,
		               .op = CHOIR_OP_SUM,
		               .width = 1,
		               .most_pairs = 50,
		               .range = 100,
		               .way = RECEIVES };
	struct link_costs costs[2] = { link_costs_default, link_costs_default };
	struct world_rank ranks[2];
	struct side sides[2];
	struct world world;
	uint64_t seed = c.seed;

	(void)state;
	memset(ranks, 0, sizeof ranks);
	costs[1].ns[LINK_SHARED][COST_ALPHA] = 5;
	world_init(&world, 2, 2, case_devices[PLAIN]);
	world.costs = costs;
	for (int r = 0; r < 2; r++) {
		case_fill(&sides[r], &c, r, &seed, case_devices[PLAIN]);
		ranks[r].call = case_call(&sides[r], &c, 100);
	}
	world_run(&world, ranks);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(ranks[r].status, CHOIR_MISMATCH);
		assert_false(ranks[r].failure_is_local);
		if (strstr(ranks[r].error, "shared alpha=8000 on rank 0, alpha=5 on rank 1") == NULL)
			fail_msg("\"%s\"", ranks[r].error);
		case_free(&sides[r]);
	}
	world_fini(&world);
}

/* Where the times of two algorithms cross, a call keeps what the last one took, within a tenth; and only what this call
 * may take. */
static void near_ties_are_kept(void **state)
{
	struct shape s = { 4, 4, 0, 1, 0 };
	struct sparse_facts facts;
	int allgather = sparse_method_find("allgather"), split = sparse_method_find("split"), held = 0;

	(void)state;
	for (s.pairs = 100; s.pairs < 100000; s.pairs += s.pairs / 50) {
		struct sparse_choice fresh, kept[2];

		s.span = 4 * s.pairs;
		facts = facts_of(&s);
		fresh = chosen(&s, &facts, &link_costs_default, CHOIR_F32);
		for (int i = 0; i < 2; i++) {
			facts.last = i == 0 ? allgather : split;
			kept[i] = chosen(&s, &facts, &link_costs_default, CHOIR_F32);
			assert_true(kept[i].ns <= 1.1 * fresh.ns && kept[i].kept == (kept[i].method != fresh.method));
		}
		held += kept[0].method != kept[1].method;
	}
	assert_true(held > 3 && held < 40); /* near the crossing, and nowhere else */
	s.pairs = 100;
	s.span = 1000000;
	facts = facts_of(&s);
	facts.last = sparse_method_find("recursive_doubling"); /* would round floats differently */
	assert_string_equal(chosen(&s, &facts, &link_costs_default, CHOIR_F32).method->name, "allgather");
	facts.last = 1000;
	assert_string_equal(chosen(&s, &facts, &link_costs_default, CHOIR_F32).method->name, "allgather");
}

/* The result's size is guessed, or grows as last time; no less than the longest list, no more than all pairs or
 * indices. */
static void growth_is_clamped(void **state)
{
	static const struct shape s = { 4, 4, 1000, 1, 1000000 };
	static const struct {
		double growth, distinct;
		uint64_t span;
	} rows[] = {
		{ 2.5, 2500, 1000000 },
		{ 0.5, 1000, 1000000 },
		{ 9, 4000, 1000000 },
		{ 3, 2000, 2000 },
	};
	struct sparse_facts facts = facts_of(&s);
	struct world world;
	struct cost cost;

	(void)state;
	world_init(&world, s.n, s.n_nodes, NULL);
	cost = cost_of(&facts, &world.layout, CHOIR_F32, CHOIR_OP_SUM);
	assert_true(cost.distinct > 3990 && cost.distinct < 4000);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		facts.growth = rows[i].growth;
		facts.range.hi = (int64_t)rows[i].span - 1;
		assert_true(cost_of(&facts, &world.layout, CHOIR_F32, CHOIR_OP_SUM).distinct == rows[i].distinct);
	}
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_takes),
		cmocka_unit_test(constants_decide),
		cmocka_unit_test(times_are_sums),
		cmocka_unit_test(skew_moves_the_border),
		cmocka_unit_test(short_regions_weigh_on_links),
		cmocka_unit_test(link_bytes_are_exact),
		cmocka_unit_test(different_rules_are_told),
		cmocka_unit_test(different_rules_end_the_call),
		cmocka_unit_test(near_ties_are_kept),
		cmocka_unit_test(growth_is_clamped),
	};

	return cmocka_run_group_tests(tests, case_open, case_close);
}
