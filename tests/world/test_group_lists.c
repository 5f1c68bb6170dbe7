/* SPDX-License-Identifier: MIT */
/* Groups of a comm by a list of members with a name. */
#include "world/gate.h"
#include "world/members.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 300 };

/* Rank 1 of 4 calls for nothing; the rows are made at once; rank 3 asks for a group that it is not in. */
static void named(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const int rows[2] = { 2, 0 }, most[3] = { 0, 2, 3 };
	choir_comm *group = NULL, *second = NULL, *found = NULL;

	(void)arg;
	SAYS(choir_comm_find(comm, "rows", &found), CHOIR_ARGUMENT, "has made no group|'rows'");
	if (rank == 0 || rank == 2) {
		OK(choir_comm_create_group(comm, "rows", rows, 2, NULL, &group));
		CHECK(has_members(group, rank, rows, 2));
		SAYS(choir_comm_create_group(comm, "rows", rows, 2, NULL, &found), CHOIR_ARGUMENT,
		     "has a group 'rows' already");
		OK(choir_comm_find(comm, "rows", &found));
		CHECK(found == group);
		SAYS(choir_comm_find(comm, "row", &found), CHOIR_ARGUMENT, "'row'|the nearest is 'rows'");
	}
	if (rank == 3) {
		SAYS(choir_comm_create_group(comm, "rows", rows, 2, NULL, &group), CHOIR_ARGUMENT,
		     "rank 3 of 'four' is not part of the group 'rows' (ranks 2 0)");
		SAYS(choir_comm_find(comm, "row", &found), CHOIR_ARGUMENT, "it has none called 'row'");
		SAYS(choir_comm_find(comm, "rows", &found), CHOIR_ARGUMENT,
		     "rank 3 of 'four' is not part of the group 'rows' (ranks 2 0)");
	}
	if (rank != 1) {
		OK(choir_comm_create_group(comm, "most", most, 3, NULL, &second));
		CHECK(has_members(second, rank, most, 3) && sum_works(second, COUNT));
	}
	OK(choir_comm_destroy(group));
	if (rank == 0)
		SAYS(choir_comm_find(comm, "rows", &found), CHOIR_ARGUMENT, "no group called 'rows'|'most'");
	CHECK(sum_works(comm, COUNT) && (second == NULL || sum_works(second, COUNT)));
	OK(choir_comm_destroy(second));
}

static void test_named(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.name = "four";
	config.deadline_ms = 30000;
	for (config.ranks_per_node = 0; config.ranks_per_node <= 2; config.ranks_per_node++)
		world_run(4, &config, named, NULL);
}

/* Rank 0's group is not made before rank 1 comes: until then its name is taken, and a call that fails for that leaves
 * it alone. */
static void being_made(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const int both[2] = { 0, 1 };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_comm *group = NULL, *found = NULL, *second = NULL;
	choir_event *event = NULL;

	(void)arg;
	config.struct_size = 1000;
	if (rank == 0) {
		OK(choir_comm_create_group_start(comm, "rows", both, 2, NULL, &group, &event));
		while (choir_comm_find(comm, "rows", &found) == CHOIR_ARGUMENT &&
		       says(choir_last_error(), "has made no group"))
			sched_yield(); /* until its thread has the name */
		SAYS(choir_comm_find(comm, "rows", &found), CHOIR_ARGUMENT,
		     "rank 0 of 'two' has not made the group 'rows' yet");
		SAYS(choir_comm_create_group(comm, "rows", both, 2, &config, &second), CHOIR_ARGUMENT,
		     "'two' is making a group 'rows' already");
	}
	line_up();
	if (rank == 1)
		OK(choir_comm_create_group(comm, "rows", both, 2, NULL, &group));
	else
		OK(choir_event_wait(event, -1));
	OK(choir_comm_find(comm, "rows", &found));
	CHECK(group != NULL && found == group && second == NULL);
	choir_event_release(event);
	OK(choir_comm_destroy(group));
	SAYS(choir_comm_create_group(comm, "rows", both, 2, &config, &second), CHOIR_ARGUMENT, "struct_size is 1000");
}

static void test_being_made(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.name = "two";
	config.deadline_ms = 30000;
	line_up_begin(2);
	world_run(2, &config, being_made, NULL);
	line_up_end();
}

static void bad_members(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const int twice[3] = { 0, 1, 0 }, outside[2] = { 0, 3 }, two[2] = { 0, 1 }, other[2] = { 1, 0 };
	choir_comm *group = NULL;

	(void)arg;
	SAYS(choir_comm_create_group(comm, "a", twice, 3, NULL, &group), CHOIR_ARGUMENT, "n_ranks is 3");
	SAYS(choir_comm_create_group(comm, "a", twice + 1, 0, NULL, &group), CHOIR_ARGUMENT, "n_ranks is 0");
	SAYS(choir_comm_create_group(comm, "a", outside, 2, NULL, &group), CHOIR_ARGUMENT, "ranks[1] is 3");
	SAYS(choir_comm_create_group(comm, "a", (int[]){ 0, 0 }, 2, NULL, &group), CHOIR_ARGUMENT, "rank 0 is twice");
	SAYS(choir_comm_create_group(comm, "", two, 2, NULL, &group), CHOIR_ARGUMENT, "empty name");
	SAYS(choir_comm_create_group(comm, "a", NULL, 2, NULL, &group), CHOIR_ARGUMENT, "null");
	SAYS(choir_comm_find(comm, "a", &group), CHOIR_ARGUMENT, "no group");
	SAYS(choir_comm_create_group(comm, "b", rank == 0 ? two : other, 2, NULL, &group), CHOIR_MISMATCH,
	     "a list of 2 members");
	SAYS(choir_comm_create_group(comm, rank == 0 ? "b" : "c", two, 2, NULL, &group), CHOIR_MISMATCH, "name");
	SAYS(choir_comm_find(comm, "b", &group), CHOIR_ARGUMENT, "no group");
	CHECK(group == NULL && sum_works(comm, COUNT));
}

static void test_bad_members(void **state)
{
	(void)state;
	world_run_at(2, 0, 30000, bad_members, NULL);
}

/* The same members in another order on one rank: all three learn it.  Then other members on one rank: so does the one
 * that waits for it. */
static void other_lists(struct world *world, int rank, choir_comm *comm, void *other_members)
{
	static const int order[3] = { 0, 1, 2 }, other[3] = { 0, 2, 1 };
	bool set = other_members != NULL;
	choir_comm *group = NULL;

	SAYS(choir_comm_create_group(comm, "g", !set && rank == 1 ? other : order, set && rank == 0 ? 2 : 3, NULL,
	                             &group),
	     CHOIR_MISMATCH, "choir_comm_create_group|members");
	CHECK(group == NULL);
	if (!set)
		CHECK(sum_works(comm, COUNT));
}

static void test_other_lists(void **state)
{
	bool set = true;

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++) {
		world_run_at(3, per_node, 30000, other_lists, NULL);
		world_run_at(3, per_node, 30000, other_lists, &set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_being_made),
		cmocka_unit_test(test_bad_members),
		cmocka_unit_test(test_other_lists),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
