/* SPDX-License-Identifier: MIT */
/* Plans that are right, to be broken in one place: the checker must say so. */
#ifndef TESTS_PLAN_BROKEN_H
#define TESTS_PLAN_BROKEN_H

#include "plan/cases.h"

/* broken_usual: a case of n ranks; node_of NULL: all of one node.  broken_build: its plans by that algorithm. */
struct check_case broken_usual(int n, const int *node_of);
void broken_build(enum collective collective, const char *name, const struct check_case *c, struct world *world);

/* broken_step: step k of those of that kind.  broken_drop_deps: the step depends on nothing any more. */
struct plan_step *broken_step(struct plan *plan, enum plan_kind kind, int k);
void broken_drop_deps(struct plan *plan, struct plan_step *step);

/* broken_is_right: does the checker find nothing?  broken_wrong: it finds that, and the world is freed. */
bool broken_is_right(struct world *world);
void broken_wrong(struct world *world, const char *what);

#endif
