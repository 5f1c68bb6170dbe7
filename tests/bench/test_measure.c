/* SPDX-License-Identifier: MIT */
/* Where data are touched, every call finds that all ranks have touched theirs since the call before, and none touches
 * while another still calls.  Where they are not, batches run on from a single barrier. */
#include "bench/run/measure.h"
#include "unit.h"

#include <sched.h>
#include <stdatomic.h>

enum { RANKS = 2, ITERATIONS = 5 };

struct scripted {
	struct contender base;
	int rank;
};

static _Atomic int touches[RANKS], calls[RANKS], faults;

static void touch(struct contender *self)
{
	struct scripted *me = (struct scripted *)self;

	atomic_fetch_add(&touches[me->rank], 1);
}

/* A collective as far as it matters here: nobody leaves before all have come. */
static int once(struct contender *self)
{
	struct scripted *me = (struct scripted *)self;
	int mine = atomic_load(&calls[me->rank]) + 1;

	for (int r = 0; r < RANKS && self->touch != NULL; r++)
		if (atomic_load(&touches[r]) != mine)
			atomic_fetch_add(&faults, 1);
	atomic_store(&calls[me->rank], mine);
	for (int r = 0; r < RANKS; r++)
		while (atomic_load(&calls[r]) < mine)
			sched_yield();
	return EXIT_FINE;
}

static int rank_main(struct world *world, void *ctx)
{
	struct scripted me = {
		.base = { .name = "scripted", .calls = 1, .once = once, .touch = ctx != NULL ? touch : NULL },
		.rank = world->rank
	};
	struct contender *contenders[] = { &me.base };
	struct measure_plan plan = {
		.world = world, .iterations = ITERATIONS, .warmup = 1, .n_ours = 1, .batches = true, .label = "test"
	};
	double us[ITERATIONS];
	struct series series = { .us = us };

	measure(&plan, contenders, &series, 1);
	for (int i = 0; i < ITERATIONS; i++)
		if (!(us[i] > 0))
			atomic_fetch_add(&faults, 1);
	return EXIT_FINE;
}

static void run(bool touches_data)
{
	for (int r = 0; r < RANKS; r++)
		touches[r] = calls[r] = 0;
	faults = 0;
	assert_int_equal(world_run_local(RANKS, rank_main, touches_data ? &faults : NULL), EXIT_FINE);
	assert_int_equal(faults, 0);
	assert_true(calls[0] > ITERATIONS && calls[0] == calls[1]);
	assert_int_equal(touches[0], touches_data ? calls[0] : 0);
	assert_int_equal(touches[1], touches[0]);
}

static void data_are_fresh_for_every_call(void **state)
{
	(void)state;
	run(true);
}

static void data_stay_otherwise(void **state)
{
	(void)state;
	run(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_are_fresh_for_every_call),
		cmocka_unit_test(data_stay_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
