/* SPDX-License-Identifier: MIT */
/* How the time is taken.
 *
 * Contenders alternate in turns (A B A B ...), a fifth of the iterations each turn, so that what else the machine does
 * falls on all of them alike.  A turn starts with one untimed call, which brings the contender's own data back into the
 * caches.  Each timed iteration starts at a barrier of the world and is one call, or below 64 KB a batch of calls of at
 * least 50 us, since the clock and the barrier's exit are only good to some 0.1 us.  Where ranks share cores a batch is
 * at least 5 ms: they leave the barrier one after another as the scheduler lets them, and that must not count.  Calls
 * of contenders that touch their data in between start at a barrier each.  The ranks' times are exchanged when all is
 * over: an iteration took what its slowest rank took.  A checked call (fresh inputs, outputs all sentinel) is not
 * timed. */
#include "measure.h"

#include "bench/ranks/clock.h"
#include "bench/ranks/watchdog.h"
#include "lib/progress.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 5, BATCH_US = 50, CROWDED_BATCH_US = 5000, MAX_BATCH = 4096 };

static void must(const struct measure_plan *plan, const struct contender *contender, int status)
{
	if (status == EXIT_FINE)
		return;
	fprintf(stderr, "choir-bench: rank %d: %s failed at %s\n", plan->world->rank, contender->name, plan->label);
	world_fail(plan->world, status);
}

/* The mean time of a call in a batch, each on its own: what lies between them does not count. */
static double fresh_us(const struct measure_plan *plan, struct contender *contender, int batch)
{
	double us = 0;

	for (int i = 0; i < batch; i++) {
		double start;

		contender->touch(contender);
		world_barrier(plan->world);
		start = clock_us();
		must(plan, contender, contender->once(contender));
		us += clock_us() - start;
	}
	return us / batch / contender->calls;
}

/* The mean time of a call in a batch. */
static double timed_us(const struct measure_plan *plan, struct contender *contender, int batch)
{
	double start;

	watchdog_pat(contender->name);
	if (contender->touch != NULL)
		return fresh_us(plan, contender, batch);
	world_barrier(plan->world);
	start = clock_us();
	for (int i = 0; i < batch; i++)
		must(plan, contender, contender->once(contender));
	return (clock_us() - start) / batch / contender->calls;
}

static double checked_us(const struct measure_plan *plan, struct contender *contender, struct series *series)
{
	uint64_t wrong = 0;
	double us;

	must(plan, contender, contender->fill(contender));
	us = timed_us(plan, contender, 1);
	/* No rank may refill what another is still reading. */
	world_barrier(plan->world);
	must(plan, contender, contender->verify(contender, &wrong));
	series->wrong += wrong;
	series->checked++;
	return us;
}

/* Grown until it lasts long enough: the first call of a batch waits for late ranks, the others do not. */
static int batch_of(const struct measure_plan *plan, struct contender *contender)
{
	double wanted_us = world_crowded(plan->world) ? CROWDED_BATCH_US : BATCH_US;
	int batch = 1;

	while (batch < MAX_BATCH) {
		double us = timed_us(plan, contender, batch) * contender->calls * batch;

		world_max(plan->world, &us, 1);
		if (us >= wanted_us)
			break;
		/* Not at once: a first estimate is easily off by a hundred. */
		batch = us * 8 < wanted_us ? batch * 8 : (int)(batch * wanted_us / us) + 1;
	}
	return batch < MAX_BATCH ? batch : MAX_BATCH;
}

static int warm_up(const struct measure_plan *plan, struct contender *contender, struct series *series)
{
	int rounds = plan->warmup > 0 ? plan->warmup : 1;

	if (plan->check_every > 0 && contender->fill != NULL)
		series->first_us = checked_us(plan, contender, series);
	else
		series->first_us = timed_us(plan, contender, 1);
	for (int i = 0; i < rounds; i++)
		timed_us(plan, contender, 1);
	return plan->batches ? batch_of(plan, contender) : 1;
}

static void one_turn(const struct measure_plan *plan, struct contender *contender, int batch, double *us,
                     int iterations)
{
	timed_us(plan, contender, 1);
	for (int i = 0; i < iterations; i++)
		us[i] = timed_us(plan, contender, batch);
}

static void check_some(const struct measure_plan *plan, struct contender *contender, struct series *series, int done,
                       int now)
{
	for (int i = done + 1; i <= done + now && plan->check_every > 0 && contender->fill != NULL; i++)
		if (i % plan->check_every == 0)
			checked_us(plan, contender, series);
}

static void all_turns(const struct measure_plan *plan, struct contender *const *contenders, struct series *series,
                      const int *batch, int n)
{
	int a_turn = (plan->iterations + TURNS - 1) / TURNS;

	for (int done = 0; done < plan->iterations; done += a_turn) {
		int now = plan->iterations - done < a_turn ? plan->iterations - done : a_turn;

		if (plan->world->rank == 0)
			progress_show("%s: %d of %d", plan->label, done, plan->iterations);
		for (int k = 0; k < n; k++)
			one_turn(plan, contenders[k], batch[k], series[k].us + done, now);
		for (int k = 0; k < plan->n_ours; k++)
			check_some(plan, contenders[k], &series[k], done, now);
	}
}

static void add_up_wrong(struct world *world, struct series *series)
{
	uint64_t *all = malloc((size_t)world->size * sizeof *all), wrong = 0;

	if (all == NULL)
		world_fail(world, EXIT_WRONG);
	world_gather(world, &series->wrong, sizeof series->wrong, all);
	for (int r = 0; r < world->size; r++)
		wrong += all[r];
	series->wrong = wrong;
	free(all);
}

void measure(const struct measure_plan *plan, struct contender *const *contenders, struct series *series, int n)
{
	int batch[MAX_CONTENDERS];

	for (int k = 0; k < n; k++) {
		series[k].wrong = series[k].checked = 0;
		batch[k] = warm_up(plan, contenders[k], &series[k]);
	}
	all_turns(plan, contenders, series, batch, n);
	for (int k = 0; k < n; k++) {
		world_max(plan->world, series[k].us, (size_t)plan->iterations);
		world_max(plan->world, &series[k].first_us, 1);
		add_up_wrong(plan->world, &series[k]);
	}
	if (plan->world->rank == 0)
		progress_clear();
}
