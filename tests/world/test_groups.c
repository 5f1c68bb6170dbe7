/* SPDX-License-Identifier: MIT */
/* Groups of a comm by a rule, and all groups made by one thread. */
#include "world/gate.h"
#include "world/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 300 };

#define GROUP(type_, size_, stride_)                                                                                   \
	{                                                                                                              \
		sizeof(choir_comm_group), CHOIR_COMM_GROUP_##type_, size_, stride_                                     \
	}

struct rule {
	int n;
	choir_comm_group group;
	int members[8][8]; /* of each rank's group */
	int size;
};

static const struct rule rules[] = {
	{ 4, GROUP(ALL, 0, 0), { { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } }, 4 },
	{ 4, GROUP(ALL, 4, 1), { { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } }, 4 },
	{ 6,
	  GROUP(CONSECUTIVE, 3, 1),
	  { { 0, 1, 2 }, { 0, 1, 2 }, { 0, 1, 2 }, { 3, 4, 5 }, { 3, 4, 5 }, { 3, 4, 5 } },
	  3 },
	{ 6,
	  GROUP(ORTHOGONAL, 3, 1),
	  { { 0, 2, 4 }, { 1, 3, 5 }, { 0, 2, 4 }, { 1, 3, 5 }, { 0, 2, 4 }, { 1, 3, 5 } },
	  3 },
	{ 6, GROUP(ORTHOGONAL, 2, 0), { { 0, 3 }, { 1, 4 }, { 2, 5 }, { 0, 3 }, { 1, 4 }, { 2, 5 } }, 2 },
	{ 8,
	  GROUP(CONSECUTIVE, 2, 2),
	  { { 0, 2 }, { 1, 3 }, { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 4, 6 }, { 5, 7 } },
	  2 },
	{ 8,
	  GROUP(ORTHOGONAL, 2, 2),
	  { { 0, 2 }, { 1, 3 }, { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 4, 6 }, { 5, 7 } },
	  2 },
	{ 3, GROUP(CONSECUTIVE, 1, 0), { { 0 }, { 1 }, { 2 } }, 1 },
	{ 1, GROUP(ORTHOGONAL, 0, 0), { { 0 } }, 1 },
};

/* Roots are ranks of the group: its last one. */
static void rooted(struct world *world, int rank, choir_comm *group, const int *members, int n)
{
	int32_t mine = rank, got = -1, sum = 0;

	OK(choir_broadcast(group, choir_host(&mine), choir_host(&got), 1, CHOIR_I32, n - 1, NULL, NULL));
	CHECK(got == members[n - 1]);
	OK(choir_reduce(group, choir_host(&mine), choir_host(&got), 1, CHOIR_I32, CHOIR_OP_SUM, n - 1, NULL, NULL));
	for (int i = 0; i < n; i++)
		sum += members[i];
	CHECK(got == (rank == members[n - 1] ? sum : members[n - 1]));
}

static void splits_by_rule(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct rule *rule = arg;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *group;
	int index, at, size, stride;

	config.name = "slice";
	OK(choir_comm_group_find(comm, &rule->group, &index, &at, &size, &stride));
	OK(choir_comm_group_split(comm, &rule->group, &config, &group));
	CHECK(size == rule->size && at == choir_comm_rank(group) && rule->members[rank][at] == rank);
	CHECK(index >= 0 && index < world->n / size && stride >= 1);
	CHECK(has_members(group, rank, rule->members[rank], rule->size));
	CHECK(sum_works(group, COUNT));
	rooted(world, rank, group, rule->members[rank], rule->size);
	OK(choir_comm_destroy(group));
}

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		world_run_at(rules[i].n, 0, 30000, splits_by_rule, (void *)&rules[i]);
}

/* Size 0: the nodes, and what crosses them. */
static void splits_by_nodes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const choir_comm_group inside = GROUP(CONSECUTIVE, 0, 0), across = GROUP(ORTHOGONAL, 0, 0);
	const int node[2] = { rank / 2 * 2, rank / 2 * 2 + 1 }, cross[3] = { rank % 2, rank % 2 + 2, rank % 2 + 4 };
	choir_comm *group;

	(void)arg;
	OK(choir_comm_group_split(comm, &inside, NULL, &group));
	CHECK(choir_comm_nodes(group) == 1 && has_members(group, rank, node, 2));
	OK(choir_comm_destroy(group));
	OK(choir_comm_group_split(comm, &across, NULL, &group));
	CHECK(choir_comm_nodes(group) == 3 && has_members(group, rank, cross, 3));
	OK(choir_comm_destroy(group));
}

static void test_nodes(void **state)
{
	(void)state;
	world_run_at(6, 2, 30000, splits_by_nodes, NULL);
}

/* Nothing is sent, so each rank alone is told. */
static void refuses(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const struct {
		choir_comm_group group;
		const char *words;
	} cases[] = {
		{ GROUP(CONSECUTIVE, 4, 1), "groups of 4 ranks do not divide the 6 ranks of 'six'" },
		{ GROUP(ORTHOGONAL, 5, 0), "orthogonal|5 ranks do not divide the 6" },
		{ GROUP(CONSECUTIVE, 3, 4), "3 ranks, 4 apart, take 12 ranks|the 6 ranks of 'six'" },
		{ GROUP(CONSECUTIVE, 2147483647, 2147483647), "do not divide" },
		{ GROUP(ALL, 3, 1), "type all has all 6 ranks of 'six', not 3" },
		{ GROUP(CONSECUTIVE, 0, 0), "nodes of 'six' have 2 to 4 ranks: give a size" },
		{ GROUP(CONSECUTIVE, -1, 0), "size -1" },
		{ { sizeof(choir_comm_group), (choir_comm_group_type)7, 0, 0 }, "no type of group has number 7" },
		{ { 1000, CHOIR_COMM_GROUP_ALL, 0, 0 }, "struct_size is 1000" },
	};
	choir_comm_group all = CHOIR_COMM_GROUP_INIT;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *group = NULL;

	(void)arg;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		SAYS(choir_comm_group_split(comm, &cases[i].group, NULL, &group), CHOIR_ARGUMENT, cases[i].words);
		SAYS(choir_comm_group_find(comm, &cases[i].group, NULL, NULL, NULL, NULL), CHOIR_ARGUMENT,
		     cases[i].words);
	}
	SAYS(choir_comm_group_split(comm, NULL, NULL, &group), CHOIR_ARGUMENT, "null group");
	SAYS(choir_comm_group_split(NULL, &all, NULL, &group), CHOIR_ARGUMENT, "null comm");
	SAYS(choir_comm_group_split(comm, &all, NULL, NULL), CHOIR_ARGUMENT, "null");
	config.ranks_per_node = 2;
	SAYS(choir_comm_group_split(comm, &all, &config, &group), CHOIR_ARGUMENT, "ranks_per_node is the parent");
	CHECK(group == NULL && sum_works(comm, COUNT));
}

static void test_refusals(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.name = "six";
	config.ranks_per_node = 4;
	config.deadline_ms = 30000;
	world_run(6, &config, refuses, NULL);
}

static void differs(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm_group group = GROUP(CONSECUTIVE, rank == 3 ? 1 : 2, 1);
	choir_comm *out = NULL;

	(void)arg;
	SAYS(choir_comm_group_split(comm, &group, NULL, &out), CHOIR_MISMATCH,
	     "rank 0 gives the group 'consecutive, size=2|rank 3 gives the group 'consecutive, size=1");
	CHECK(out == NULL && sum_works(comm, COUNT));
}

static void test_difference(void **state)
{
	(void)state;
	world_run_at(4, 0, 30000, differs, NULL);
}

static void test_text(void **state)
{
	static const struct {
		const char *text, *again;
	} good[] = {
		{ "all", "all, size=0, stride=1" },
		{ "CONSECUTIVE, size=4, stride=2", "consecutive, size=4, stride=2" },
		{ " orthogonal stride=0 size=12 ", "orthogonal, size=12, stride=0" },
	};
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "empty" },
		{ "consecutiv size=2", "'consecutiv'|nearest is 'consecutive'" },
		{ "all size=x", "'size=x'|number" },
		{ "all size=", "number" },
		{ "all size=-1", "number" },
		{ "all size=4294967296", "number" },
		{ "all width=3", "'width=3'|size=NUMBER" },
	};
	choir_comm_group group = GROUP(ORTHOGONAL, 77, 3);

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		char *text;

		assert_int_equal(choir_comm_group_parse(good[i].text, &group), CHOIR_SUCCESS);
		assert_int_equal(choir_comm_group_text(&group, &text), CHOIR_SUCCESS);
		assert_string_equal(text, good[i].again);
		free(text);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(choir_comm_group_parse(bad[i].text, &group), CHOIR_ARGUMENT);
		assert_true(says(choir_last_error(), bad[i].words));
	}
	assert_true(group.type == CHOIR_COMM_GROUP_ORTHOGONAL && group.size == 12); /* of the last good one */
}

/* One thread, three of four ranks. */
static void test_local(void **state)
{
	static const int members[3] = { 3, 1, 0 };
	choir_comm_group pairs = GROUP(CONSECUTIVE, 2, 1);
	choir_comm *groups[4], *wanted[3];
	struct world world;

	(void)state;
	world_begin(&world, 4, NULL);
	for (int i = 0; i < 3; i++)
		wanted[i] = world.comms[members[i]];
	assert_int_equal(choir_comm_create_group_local(3, wanted, "odd", members, 3, NULL, groups), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(choir_comm_rank(groups[i]), i);
		choir_comm_destroy(groups[i]);
	}
	wanted[0] = world.comms[2];
	assert_int_equal(choir_comm_create_group_local(2, wanted, "odd", members, 3, NULL, groups), CHOIR_ARGUMENT);
	assert_true(says(choir_last_error(), "rank 2 of|not part of the group 'odd'"));
	assert_int_equal(choir_comm_group_split_local(4, world.comms, &pairs, NULL, groups), CHOIR_SUCCESS);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(choir_comm_size(groups[i]), 2);
		assert_int_equal(choir_comm_rank(groups[i]), i % 2);
	}
	for (int i = 0; i < 4; i++)
		choir_comm_destroy(groups[i]);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),      cmocka_unit_test(test_nodes), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_difference), cmocka_unit_test(test_text),  cmocka_unit_test(test_local),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
