/* SPDX-License-Identifier: MIT */
#include "plan/broken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct check_case broken_usual(int n, const int *node_of)
{
	return (struct check_case){
		.n = n, .node_of = node_of, .elem_bytes = 4, .bytes = 9000, .slot_bytes = 4096, .message_bytes = 256
	};
}

void broken_build(enum collective collective, const char *name, const struct check_case *c, struct world *world)
{
	assert_true(checker_build(algo_find(collective, name), c, world));
}

bool broken_is_right(struct world *world)
{
	return checker_verify(world) && checker_run(world, 7);
}

/* Step k of those of that kind. */
struct plan_step *broken_step(struct plan *plan, enum plan_kind kind, int k)
{
	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == kind && k-- == 0)
			return &plan->steps[i];
	fail_msg("no such step");
	return NULL;
}

void broken_wrong(struct world *world, const char *what)
{
	assert_false(broken_is_right(world));
	if (!strstr(world->why, what))
		fail_msg("it says \"%s\" where \"%s\" was expected", world->why, what);
	world_free(world);
}

/* Deps are dropped by emptying the list; the successor lists are made anew. */
void broken_drop_deps(struct plan *plan, struct plan_step *step)
{
	step->n_deps = 0;
	assert_int_equal(plan_finish(plan), CHOIR_SUCCESS);
}
