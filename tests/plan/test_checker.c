/* SPDX-License-Identifier: MIT */
/* Who checks the checker: plans that are right are broken in one place, and it must say so. */
#include "plan/broken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void twoshot(struct world *world)
{
	struct check_case c = broken_usual(3, NULL);

	broken_build(COLLECTIVE_ALLREDUCE, "twoshot", &c, world);
	assert_true(broken_is_right(world));
}

static void far_twoshot(struct world *world)
{
	struct check_case c = broken_usual(3, NULL);

	c.send_staged = c.recv_staged = true;
	broken_build(COLLECTIVE_ALLREDUCE, "twoshot", &c, world);
	assert_true(broken_is_right(world));
}

static void ring(struct world *world)
{
	struct check_case c = broken_usual(3, (int[]){ 0, 1, 2 });

	broken_build(COLLECTIVE_ALLREDUCE, "ring", &c, world);
	assert_true(broken_is_right(world));
}

static void a_missing_dep(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	broken_drop_deps(&w.plans[1], broken_step(&w.plans[1], PLAN_REDUCE, 1));
	broken_wrong(&w, "not ordered");
	twoshot(&w); /* a put that does not wait until its area is free */
	broken_drop_deps(&w.plans[2], broken_step(&w.plans[2], PLAN_COPY, 12));
	broken_wrong(&w, "not ordered");
	ring(&w);
	broken_drop_deps(&w.plans[0], broken_step(&w.plans[0], PLAN_REDUCE, 0));
	broken_wrong(&w, "not ordered");
	twoshot(&w); /* a flag raised too early */
	broken_drop_deps(&w.plans[0], broken_step(&w.plans[0], PLAN_PUBLISH, 0));
	broken_wrong(&w, "not ordered");
	twoshot(&w);
	broken_drop_deps(&w.plans[0], broken_step(&w.plans[0], PLAN_PUBLISH, 1));
	broken_wrong(&w, "phase");
}

static void a_wrong_block(void **state)
{
	struct world w;

	(void)state;
	ring(&w);
	broken_step(&w.plans[1], PLAN_RECV_MSG, 3)->dst.off += 4;
	assert_false(broken_is_right(&w));
	world_free(&w);
	twoshot(&w);
	/* one rank twice, one not at all */
	w.plans[1].refs[broken_step(&w.plans[1], PLAN_REDUCE, 0)->src_first + 2].peer = 0;
	broken_wrong(&w, "wrong");
	twoshot(&w);
	broken_step(&w.plans[0], PLAN_COPY, 0)->dst.peer = 1;
	broken_wrong(&w, "writes the slot of rank 1");
	far_twoshot(&w);
	w.plans[1].shares_slots = false;
	broken_wrong(&w, "whose plan does not expect it");
	twoshot(&w);
	broken_step(&w.plans[0], PLAN_COPY, 0)->dst.off = 4090;
	broken_wrong(&w, "beyond");
	twoshot(&w);
	broken_step(&w.plans[0], PLAN_COPY, 0)->dst.off += 2;
	broken_wrong(&w, "cuts an element");
}

static void a_wrong_step_of_one_rank(void **state)
{
	struct check_case c = broken_usual(1, NULL);
	struct world w;

	(void)state;
	broken_build(COLLECTIVE_ALLREDUCE, "single", &c, &w);
	w.plans[0].steps[0].len += 4;
	broken_wrong(&w, "single, 1 rank: rank 0 step 0 (");
}

static void a_wrong_message(void **state)
{
	struct world w;

	(void)state;
	ring(&w);
	broken_step(&w.plans[1], PLAN_SEND_MSG, 2)->tag = 77;
	broken_wrong(&w, "has no send");
	ring(&w);
	broken_step(&w.plans[1], PLAN_SEND_MSG, 2)->tag = broken_step(&w.plans[1], PLAN_SEND_MSG, 1)->tag;
	broken_wrong(&w, "used twice");
	ring(&w);
	broken_step(&w.plans[1], PLAN_SEND_MSG, 2)->len -= 4;
	broken_wrong(&w, "bytes where");
	ring(&w);
	broken_step(&w.plans[1], PLAN_SEND_MSG, 2)->len = 10000;
	broken_wrong(&w, "a message of");
}

/* Each rank's first send waits for its first receive. */
static void a_cycle(void **state)
{
	struct check_case c = broken_usual(3, (int[]){ 0, 1, 2 });
	struct world w;

	(void)state;
	c.bytes = 400;
	broken_build(COLLECTIVE_ALLREDUCE, "ring", &c, &w);
	for (int r = 0; r < 3; r++) {
		struct plan *p = &w.plans[r];
		struct plan_step *send = broken_step(p, PLAN_SEND_MSG, 0), *recv = broken_step(p, PLAN_RECV_MSG, 0),
				 swap = *send;
		uint32_t before = (uint32_t)(send - p->steps);

		assert_int_equal(recv - p->steps, before + 1);
		*send = *recv;
		*recv = swap;
		send->n_deps = 0;
		/* An unused dep of the plan's to name the receive, now first. */
		recv->dep_first = broken_step(p, PLAN_REDUCE, 0)->dep_first;
		recv->n_deps = 1;
		p->deps[recv->dep_first] = before;
		assert_int_equal(plan_finish(p), CHOIR_SUCCESS);
	}
	broken_wrong(&w, "cycle");
}

static void wrong_marks(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	broken_step(&w.plans[1], PLAN_REDUCE, 0)->final = false;
	broken_wrong(&w, "wrong (partial, final wanted)");
	twoshot(&w);
	broken_step(&w.plans[1], PLAN_REDUCE, 0)->raw = PLAN_RAW_REST;
	broken_wrong(&w, "is raw where partial");
	ring(&w);
	broken_step(&w.plans[1], PLAN_REDUCE, 1)->raw = PLAN_RAW_ALL;
	broken_wrong(&w, "is partial where raw");
	ring(&w);
	broken_step(&w.plans[1], PLAN_REDUCE, 0)->final = true;
	broken_wrong(&w, "is final where partial");
	twoshot(&w);
	w.plans[1].writes_slot = false;
	broken_wrong(&w, "plan->writes_slot is not set");
	twoshot(&w);
	w.plans[1].slot_used = 0;
	broken_wrong(&w, "plan->slot_used is 0");
	twoshot(&w);
	w.plans[1].slot_used += 64; /* ranks must agree */
	broken_wrong(&w, "and rank 0's");
}

static void another_order_on_one_rank(void **state)
{
	struct check_case c = broken_usual(4, NULL);
	struct world w;
	struct plan_step *reduce;
	struct plan_ref first;

	(void)state;
	c.bytes = 400;
	broken_build(COLLECTIVE_ALLREDUCE, "oneshot", &c, &w);
	assert_true(broken_is_right(&w));
	reduce = broken_step(&w.plans[2], PLAN_REDUCE, 0);
	first = w.plans[2].refs[reduce->src_first];
	w.plans[2].refs[reduce->src_first] = w.plans[2].refs[reduce->src_first + 1];
	w.plans[2].refs[reduce->src_first + 1] = first;
	broken_wrong(&w, "another order");
}

static void flags_that_do_not_come(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	broken_step(&w.plans[1], PLAN_AWAIT, 2)->phase = 500;
	broken_wrong(&w, "never publishes");
	twoshot(&w);
	broken_step(&w.plans[1], PLAN_AWAIT, 0)->peer = 9;
	broken_wrong(&w, "not of its node");
	twoshot(&w);
	broken_step(&w.plans[1], PLAN_PUBLISH, 1)->phase = 1;
	broken_wrong(&w, "phase 1 after 1");
}

static void staging(void **state)
{
	struct check_case c = broken_usual(3, NULL);
	struct world w;

	(void)state;
	broken_build(COLLECTIVE_ALLREDUCE, "twoshot", &c, &w);
	for (int r = 0; r < 3; r++)
		w.ins[r].send_direct = false;
	broken_wrong(&w, "not direct");
	c.recv_staged = true;
	c.bytes = 400;
	broken_build(COLLECTIVE_ALLREDUCE, "oneshot", &c, &w);
	broken_step(&w.plans[0], PLAN_REDUCE, 0)->dst = plan_at(PLAN_RECV, 0);
	broken_wrong(&w, "not direct");
}

static void direct(struct world *world)
{
	struct check_case c = broken_usual(3, NULL);

	broken_build(COLLECTIVE_ALLREDUCE, "direct", &c, world);
	assert_true(broken_is_right(world));
}

/* The first further destination of rank's first reduction. */
static struct plan_ref *target_of(struct world *world, int rank)
{
	const struct plan_step *reduce = broken_step(&world->plans[rank], PLAN_REDUCE, 0);

	assert_true(reduce->n_more > 0);
	return &world->plans[rank].refs[reduce->more_first];
}

static void buffers_of_peers(void **state)
{
	struct world w;

	(void)state;
	direct(&w); /* says that it left its peers' buffers, and has not */
	broken_drop_deps(&w.plans[1], broken_step(&w.plans[1], PLAN_PUBLISH, 0));
	broken_wrong(&w, "which could be done already");
	direct(&w); /* is done before the others have left its buffers */
	broken_step(&w.plans[2], PLAN_AWAIT, 0)->peer = 2;
	broken_wrong(&w, "touches a buffer of rank 2, which could be done already");
	direct(&w); /* two write the same slice */
	target_of(&w, 0)->off = broken_step(&w.plans[1], PLAN_REDUCE, 0)->dst.off;
	broken_wrong(&w, "not ordered");
	direct(&w);
	w.plans[1].peers = false;
	broken_wrong(&w, "plan->peers is 0");
	direct(&w);
	target_of(&w, 0)->peer = 3;
	broken_wrong(&w, "not of its node");
	direct(&w);
	target_of(&w, 0)->buf = PLAN_PEER_SEND;
	broken_wrong(&w, "writes peer SEND");
	direct(&w);
	target_of(&w, 0)->off = 9000;
	broken_wrong(&w, "beyond 9000");
	direct(&w); /* the same destination twice, one result nowhere */
	*target_of(&w, 0) = broken_step(&w.plans[0], PLAN_REDUCE, 0)->dst;
	broken_wrong(&w, "overlap");
	direct(&w);
	w.ins[1].recv_direct = false;
	broken_wrong(&w, "not direct");
}

/* Which share of all deps is needed?  Every one dropped alone: either the checker objects or the dep was implied by
 * others. */
static void most_deps_matter(void **state)
{
	static const char *const names[] = { "oneshot",   "twoshot", "ring",  "recursive_doubling",
		                             "hier_ring", "hier_rd", "direct" };

	(void)state;
	for (size_t a = 0; a < sizeof names / sizeof *names; a++) {
		const struct algorithm *algorithm = algo_find(COLLECTIVE_ALLREDUCE, names[a]);
		bool hier = strncmp(names[a], "hier", 4) == 0;
		struct check_case c = broken_usual(4, hier ? (int[]){ 0, 0, 1, 1 } : NULL);
		unsigned total = 0, caught = 0;
		struct world w;

		if (!strcmp(names[a], "oneshot"))
			c.bytes = 4000;
		c.in_place = true;
		assert_true(checker_build(algorithm, &c, &w));
		for (uint32_t i = 0; i < w.plans[1].n_steps; i++) {
			struct plan_step *step = &w.plans[1].steps[i];

			for (uint32_t d = 0; d < step->n_deps; d++) {
				uint32_t *deps = w.plans[1].deps + step->dep_first, last = deps[step->n_deps - 1],
					 one = deps[d];

				deps[d] = last;
				step->n_deps--;
				assert_int_equal(plan_finish(&w.plans[1]), CHOIR_SUCCESS);
				total++;
				caught += !broken_is_right(&w);
				step->n_deps++;
				deps[step->n_deps - 1] = last;
				deps[d] = one;
			}
		}
		assert_int_equal(plan_finish(&w.plans[1]), CHOIR_SUCCESS);
		assert_true(broken_is_right(&w));
		print_message("%s: %u of %u deps are needed alone\n", names[a], caught, total);
		assert_true(caught * 3 > total);
		world_free(&w);
	}
}

/* A ring starts each block at another rank; a chain keeps the order, but rounds after each rank. */
static void promises_of_order(void **state)
{
	struct check_case c = broken_usual(3, (int[]){ 0, 1, 0 });
	struct world world;

	(void)state;
	broken_build(COLLECTIVE_ALLREDUCE, "ring", &c, &world);
	assert_false(checker_folds(&world, PLAN_ORDER_RANKS, 0));
	assert_non_null(strstr(world.why, "was not folded in rank order"));
	world_free(&world);
	broken_build(COLLECTIVE_ALLREDUCE, "rank_chain", &c, &world);
	assert_true(checker_folds(&world, PLAN_ORDER_RANKS, 0));
	assert_false(checker_folds(&world, PLAN_ORDER_ONCE, 0));
	assert_non_null(strstr(world.why, "was folded by 2 steps, one after another"));
	world_free(&world);
	broken_build(COLLECTIVE_ALLREDUCE, "pairwise", &c, &world);
	assert_true(checker_folds(&world, PLAN_ORDER_ONCE, 0));
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_dep),     cmocka_unit_test(a_wrong_block),
		cmocka_unit_test(a_wrong_message),   cmocka_unit_test(a_cycle),
		cmocka_unit_test(wrong_marks),       cmocka_unit_test(another_order_on_one_rank),
		cmocka_unit_test(staging),           cmocka_unit_test(flags_that_do_not_come),
		cmocka_unit_test(most_deps_matter),  cmocka_unit_test(buffers_of_peers),
		cmocka_unit_test(promises_of_order), cmocka_unit_test(a_wrong_step_of_one_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
