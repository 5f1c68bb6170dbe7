/* SPDX-License-Identifier: MIT */
/* Who checks the checker: plans that are right are broken in one place, and it must say so. */
#include "plan/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct check_case usual(int n, const int *node_of)
{
	return (struct check_case){
		.n = n, .node_of = node_of, .elem_bytes = 4, .bytes = 9000, .slot_bytes = 4096, .message_bytes = 256
	};
}

static void build(enum collective collective, const char *name, const struct check_case *c, struct world *world)
{
	assert_true(checker_build(algo_find(collective, name), c, world));
}

static bool is_right(struct world *world)
{
	return checker_verify(world) && checker_run(world, 7);
}

/* Step k of those of that kind. */
static struct plan_step *step_of(struct plan *plan, enum plan_kind kind, int k)
{
	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind && k-- == 0)
			return &plan->steps[i];
	fail_msg("no such step");
	return NULL;
}

static void wrong(struct world *world, const char *what)
{
	assert_false(is_right(world));
	if (!strstr(world->why, what))
		fail_msg("it says \"%s\" where \"%s\" was expected", world->why, what);
	world_free(world);
}

static void twoshot(struct world *world)
{
	struct check_case c = usual(3, NULL);

	build(COLLECTIVE_ALLREDUCE, "twoshot", &c, world);
	assert_true(is_right(world));
}

static void ring(struct world *world)
{
	struct check_case c = usual(3, (int[]){ 0, 1, 2 });

	build(COLLECTIVE_ALLREDUCE, "ring", &c, world);
	assert_true(is_right(world));
}

/* Deps are dropped by emptying the list; the successor lists are made anew. */
static void drop_deps(struct plan *plan, struct plan_step *step)
{
	step->n_deps = 0;
	assert_int_equal(plan_finish(plan), CHOIR_SUCCESS);
}

static void a_missing_dep(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	drop_deps(&w.plans[1], step_of(&w.plans[1], PLAN_REDUCE, 1));
	wrong(&w, "not ordered");
	twoshot(&w); /* a put that does not wait until its area is free */
	drop_deps(&w.plans[2], step_of(&w.plans[2], PLAN_COPY, 12));
	wrong(&w, "not ordered");
	ring(&w);
	drop_deps(&w.plans[0], step_of(&w.plans[0], PLAN_REDUCE, 0));
	wrong(&w, "not ordered");
	twoshot(&w); /* a flag raised too early */
	drop_deps(&w.plans[0], step_of(&w.plans[0], PLAN_PUBLISH, 0));
	wrong(&w, "not ordered");
	twoshot(&w);
	drop_deps(&w.plans[0], step_of(&w.plans[0], PLAN_PUBLISH, 1));
	wrong(&w, "phase");
}

static void a_wrong_block(void **state)
{
	struct world w;

	(void)state;
	ring(&w);
	step_of(&w.plans[1], PLAN_RECV_MSG, 3)->dst.off += 4;
	assert_false(is_right(&w));
	world_free(&w);
	twoshot(&w);
	/* one rank twice, one not at all */
	w.plans[1].refs[step_of(&w.plans[1], PLAN_REDUCE, 0)->src_first + 2].peer = 0;
	wrong(&w, "wrong");
	twoshot(&w);
	step_of(&w.plans[0], PLAN_COPY, 0)->dst.peer = 1;
	wrong(&w, "writes the slot");
	twoshot(&w);
	step_of(&w.plans[0], PLAN_COPY, 0)->dst.off = 4090;
	wrong(&w, "beyond");
	twoshot(&w);
	step_of(&w.plans[0], PLAN_COPY, 0)->dst.off += 2;
	wrong(&w, "cuts an element");
}

static void a_wrong_message(void **state)
{
	struct world w;

	(void)state;
	ring(&w);
	step_of(&w.plans[1], PLAN_SEND_MSG, 2)->tag = 77;
	wrong(&w, "has no send");
	ring(&w);
	step_of(&w.plans[1], PLAN_SEND_MSG, 2)->tag = step_of(&w.plans[1], PLAN_SEND_MSG, 1)->tag;
	wrong(&w, "used twice");
	ring(&w);
	step_of(&w.plans[1], PLAN_SEND_MSG, 2)->len -= 4;
	wrong(&w, "bytes where");
	ring(&w);
	step_of(&w.plans[1], PLAN_SEND_MSG, 2)->len = 10000;
	wrong(&w, "a message of");
}

/* Each rank's first send waits for its first receive. */
static void a_cycle(void **state)
{
	struct check_case c = usual(3, (int[]){ 0, 1, 2 });
	struct world w;

	(void)state;
	c.bytes = 400;
	build(COLLECTIVE_ALLREDUCE, "ring", &c, &w);
	for (int r = 0; r < 3; r++) {
		struct plan *p = &w.plans[r];
		struct plan_step *send = step_of(p, PLAN_SEND_MSG, 0), *recv = step_of(p, PLAN_RECV_MSG, 0),
				 swap = *send;
		uint32_t before = (uint32_t)(send - p->steps);

		assert_int_equal(recv - p->steps, before + 1);
		*send = *recv;
		*recv = swap;
		send->n_deps = 0;
		/* An unused dep of the plan's to name the receive, now first. */
		recv->dep_first = step_of(p, PLAN_REDUCE, 0)->dep_first;
		recv->n_deps = 1;
		p->deps[recv->dep_first] = before;
		assert_int_equal(plan_finish(p), CHOIR_SUCCESS);
	}
	wrong(&w, "cycle");
}

static void wrong_marks(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	step_of(&w.plans[1], PLAN_REDUCE, 0)->final = false;
	wrong(&w, "wrong (partial, final wanted)");
	twoshot(&w);
	step_of(&w.plans[1], PLAN_REDUCE, 0)->raw = PLAN_RAW_REST;
	wrong(&w, "is raw where partial");
	ring(&w);
	step_of(&w.plans[1], PLAN_REDUCE, 1)->raw = PLAN_RAW_ALL;
	wrong(&w, "is partial where raw");
	ring(&w);
	step_of(&w.plans[1], PLAN_REDUCE, 0)->final = true;
	wrong(&w, "is final where partial");
	twoshot(&w);
	w.plans[1].writes_slot = false;
	wrong(&w, "plan->writes_slot is not set");
	twoshot(&w);
	w.plans[1].slot_used = 0;
	wrong(&w, "plan->slot_used is 0");
	twoshot(&w);
	w.plans[1].slot_used += 64; /* ranks must agree */
	wrong(&w, "and rank 0's");
}

static void another_order_on_one_rank(void **state)
{
	struct check_case c = usual(4, NULL);
	struct world w;
	struct plan_step *reduce;
	struct plan_ref first;

	(void)state;
	c.bytes = 400;
	build(COLLECTIVE_ALLREDUCE, "oneshot", &c, &w);
	assert_true(is_right(&w));
	reduce = step_of(&w.plans[2], PLAN_REDUCE, 0);
	first = w.plans[2].refs[reduce->src_first];
	w.plans[2].refs[reduce->src_first] = w.plans[2].refs[reduce->src_first + 1];
	w.plans[2].refs[reduce->src_first + 1] = first;
	wrong(&w, "another order");
}

static void flags_that_do_not_come(void **state)
{
	struct world w;

	(void)state;
	twoshot(&w);
	step_of(&w.plans[1], PLAN_AWAIT, 2)->phase = 500;
	wrong(&w, "never publishes");
	twoshot(&w);
	step_of(&w.plans[1], PLAN_AWAIT, 0)->peer = 9;
	wrong(&w, "not of its node");
	twoshot(&w);
	step_of(&w.plans[1], PLAN_PUBLISH, 1)->phase = 1;
	wrong(&w, "phase 1 after 1");
}

static void staging(void **state)
{
	struct check_case c = usual(3, NULL);
	struct world w;

	(void)state;
	build(COLLECTIVE_ALLREDUCE, "twoshot", &c, &w);
	for (int r = 0; r < 3; r++)
		w.ins[r].send_direct = false;
	wrong(&w, "not direct");
	c.recv_staged = true;
	c.bytes = 400;
	build(COLLECTIVE_ALLREDUCE, "oneshot", &c, &w);
	step_of(&w.plans[0], PLAN_REDUCE, 0)->dst = plan_at(PLAN_RECV, 0);
	wrong(&w, "not direct");
}

static void direct(struct world *world)
{
	struct check_case c = usual(3, NULL);

	build(COLLECTIVE_ALLREDUCE, "direct", &c, world);
	assert_true(is_right(world));
}

/* The first further destination of rank's first reduction. */
static struct plan_ref *target_of(struct world *world, int rank)
{
	const struct plan_step *reduce = step_of(&world->plans[rank], PLAN_REDUCE, 0);

	assert_true(reduce->n_more > 0);
	return &world->plans[rank].refs[reduce->more_first];
}

static void buffers_of_peers(void **state)
{
	struct world w;

	(void)state;
	direct(&w); /* says that it left its peers' buffers, and has not */
	drop_deps(&w.plans[1], step_of(&w.plans[1], PLAN_PUBLISH, 0));
	wrong(&w, "which could be done already");
	direct(&w); /* is done before the others have left its buffers */
	step_of(&w.plans[2], PLAN_AWAIT, 0)->peer = 2;
	wrong(&w, "touches a buffer of rank 2, which could be done already");
	direct(&w); /* two write the same slice */
	target_of(&w, 0)->off = step_of(&w.plans[1], PLAN_REDUCE, 0)->dst.off;
	wrong(&w, "not ordered");
	direct(&w);
	w.plans[1].peers = false;
	wrong(&w, "plan->peers is 0");
	direct(&w);
	target_of(&w, 0)->peer = 3;
	wrong(&w, "not of its node");
	direct(&w);
	target_of(&w, 0)->buf = PLAN_PEER_SEND;
	wrong(&w, "writes peer SEND");
	direct(&w);
	target_of(&w, 0)->off = 9000;
	wrong(&w, "beyond 9000");
	direct(&w); /* the same destination twice, one result nowhere */
	*target_of(&w, 0) = step_of(&w.plans[0], PLAN_REDUCE, 0)->dst;
	wrong(&w, "overlap");
	direct(&w);
	w.ins[1].recv_direct = false;
	wrong(&w, "not direct");
}

static void on_devices(struct world *world)
{
	struct check_case c = usual(3, NULL);

	c.send_staged = c.recv_staged = true;
	c.device_bytes = 4096;
	build(COLLECTIVE_ALLREDUCE, "device", &c, world);
	assert_true(is_right(world));
}

/* Note [device plans] in algo/device.h, rule by rule. */
static void memory_of_devices(void **state)
{
	struct plan_step *reduce;
	struct world w;

	(void)state;
	on_devices(&w);
	step_of(&w.plans[1], PLAN_COPY, 0)->dst = plan_peer(PLAN_PEER_RECV, 2, 0);
	wrong(&w, "writes memory of a peer's device");
	on_devices(&w);
	reduce = step_of(&w.plans[0], PLAN_REDUCE, 0);
	for (uint32_t k = 0; k < reduce->n_src; k++)
		w.plans[0].refs[reduce->src_first + k] = plan_peer(PLAN_PEER_SEND, (int)k, reduce->dst.off);
	wrong(&w, "reduces memory of a peer's device");
	on_devices(&w);
	step_of(&w.plans[2], PLAN_REDUCE, 0)->dst = plan_at(PLAN_RECV, 0);
	wrong(&w, "is a kernel that writes elsewhere");
	on_devices(&w);
	step_of(&w.plans[1], PLAN_REDUCE, 0)->dst = plan_at(PLAN_SEND, 0);
	wrong(&w, "SEND");
	on_devices(&w);
	w.plans[1].device = false;
	wrong(&w, "plan->device is 0");
	on_devices(&w); /* a flag that goes up before the reduction is over */
	drop_deps(&w.plans[1], step_of(&w.plans[1], PLAN_PUBLISH, 0));
	wrong(&w, "not ordered");
	on_devices(&w); /* a result that is fetched before it is there */
	for (int k = 0; k < 2; k++)
		drop_deps(&w.plans[0], step_of(&w.plans[0], PLAN_COPY, 2 + k));
	wrong(&w, "not ordered");
	on_devices(&w); /* more than the slot of a peer has */
	step_of(&w.plans[0], PLAN_REDUCE, 0)->dst.off = 1 << 20;
	wrong(&w, "beyond");
}

/* Lists on devices: what a kernel reduces was copied. */
static void lists_of_devices(void **state)
{
	struct check_case c = usual(3, NULL);
	struct plan_step *reduce;
	struct world w;

	(void)state;
	c.send_staged = c.recv_staged = c.lists = true;
	c.device_bytes = 4096;
	build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	assert_true(is_right(&w));
	reduce = step_of(&w.plans[1], PLAN_REDUCE, 0);
	w.plans[1].refs[reduce->src_first + 1] = plan_at(PLAN_SEND, reduce->dst.off);
	wrong(&w, "is a kernel that reads a list");
}

/* premul_sum on devices: whose values are multiplied by whose factor. */
static void factors_of_devices(void **state)
{
	struct check_case c = usual(3, NULL);
	struct plan_step *scale;
	struct world w;

	(void)state;
	c.send_staged = c.recv_staged = c.scaled = true;
	c.device_bytes = 4096;
	build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	assert_true(is_right(&w));
	scale = step_of(&w.plans[1], PLAN_REDUCE, 0);
	scale->peer = (scale->peer + 1) % 3;
	wrong(&w, "by the factor of rank");
	build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	step_of(&w.plans[1], PLAN_REDUCE, 0)->peer = 3;
	wrong(&w, "the factor of rank 3, which does not exist");
	build(COLLECTIVE_ALLREDUCE, "device", &c, &w); /* one rank's values are added as they are */
	step_of(&w.plans[2], PLAN_REDUCE, 0)->len = 0;
	wrong(&w, "is raw where partial is wanted");
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
		struct check_case c = usual(4, hier ? (int[]){ 0, 0, 1, 1 } : NULL);
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
				caught += !is_right(&w);
				step->n_deps++;
				deps[step->n_deps - 1] = last;
				deps[d] = one;
			}
		}
		assert_int_equal(plan_finish(&w.plans[1]), CHOIR_SUCCESS);
		assert_true(is_right(&w));
		print_message("%s: %u of %u deps are needed alone\n", names[a], caught, total);
		assert_true(caught * 3 > total);
		world_free(&w);
	}
}

/* A ring starts each block at another rank; a chain keeps the order, but rounds after each rank. */
static void promises_of_order(void **state)
{
	struct check_case c = usual(3, (int[]){ 0, 1, 0 });
	struct world world;

	(void)state;
	build(COLLECTIVE_ALLREDUCE, "ring", &c, &world);
	assert_false(checker_folds(&world, PLAN_ORDER_RANKS, 0));
	assert_non_null(strstr(world.why, "was not folded in rank order"));
	world_free(&world);
	build(COLLECTIVE_ALLREDUCE, "rank_chain", &c, &world);
	assert_true(checker_folds(&world, PLAN_ORDER_RANKS, 0));
	assert_false(checker_folds(&world, PLAN_ORDER_ONCE, 0));
	assert_non_null(strstr(world.why, "was folded by 2 steps, one after another"));
	world_free(&world);
	build(COLLECTIVE_ALLREDUCE, "pairwise", &c, &world);
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
		cmocka_unit_test(memory_of_devices), cmocka_unit_test(lists_of_devices),
		cmocka_unit_test(factors_of_devices),
		cmocka_unit_test(promises_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
