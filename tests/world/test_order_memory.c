/* SPDX-License-Identifier: MIT */
/* order=ranks on memory of every kind: symmetric memory, which the ranks read directly, pointers of OpenCL's, and
 * buffers of devices that share a context, by plans on the device.  Random cases (order_case.h). */
#include "quick.h"
#include "world/devices.h"
#include "world/memory.h"
#include "world/order_case.h"
#include "world/order_trial.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RANKS = ORDER_RANKS, CASES = 40, FEW_CASES = 10, SHARE = 4 << 20 };

static const int layouts[] = { 8, 4, 1 };

static struct order_trial trial_of(int n)
{
	return (struct order_trial){ .first = order_trial_seed(), .n = quick_wanted() ? FEW_CASES : n };
}

/* At another offset on every rank. */
static void in_symmetric_memory(struct world *world, int rank, choir_comm *comm, void *trial)
{
	void *share;
	cl_mem mem;

	if (!OK(choir_mem_alloc(comm, SHARE, &share, &mem)))
		return;
	memory_use(share, mem, SHARE, 16 * (2 * (size_t)rank + 1));
	order_trial_run(world, rank, comm, trial);
	memory_use(NULL, NULL, 0, 0);
	OK(choir_mem_free(comm, share));
}

static void test_symmetric(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct order_trial trial = trial_of(CASES);

		world_run_at(RANKS, layouts[l], 120000, in_symmetric_memory, &trial);
		assert_true(trial.done > 0);
	}
}

static void test_pointers(void **state)
{
	(void)state;
	for (enum memory_kind kind = MEMORY_MEM + 1; kind < N_MEMORY_KINDS; kind++) {
		const char *lacks = memory_lacks(world_device(), kind);

		if (lacks != NULL) {
			print_message("%s: the device has %s\n", memory_kind_names[kind], lacks);
			continue;
		}
		memory_choose(kind);
		for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
			struct order_trial trial = trial_of(CASES / 2);

			world_run_at(RANKS, layouts[l], 120000, order_trial_run, &trial);
		}
	}
	memory_choose(MEMORY_MEM);
}

/* Dense cases have such an algorithm, scans too, which can do what kernels of this device can. */
static void test_device(void **state)
{
	struct order_trial trial = trial_of(CASES);
	struct world world;

	(void)state;
	trial.by_device = true;
	devices_begin(&world, RANKS, 0);
	world_threads(&world, order_trial_run, &trial);
	world_end(&world);
	print_message("%d cases, %d by the device's algorithm, which could do %d, of them %d scans\n", trial.n,
	              trial.named, trial.done, trial.scans_done);
	assert_true(trial.named == trial.dense && trial.named > trial.n / 2 && trial.done > 0);
	assert_true(trial.scans_done > 0 || quick_wanted());
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_symmetric), cmocka_unit_test(test_pointers),
		                            cmocka_unit_test(test_device) };

	return cmocka_run_group_tests(tests, devices_open, devices_close);
}
