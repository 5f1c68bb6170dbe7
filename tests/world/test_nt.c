/* SPDX-License-Identifier: MIT */
/* How ranks write what peers read: the choice follows what transfers take, and tries the other way seldom.  And the
 * sizes of slots. */
#include "base/nt.h"
#include "exec/slot_ring.h"
#include "node/cache.h"

#include <hwloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 65536 };

struct learner {
	_Atomic uint64_t bits;
	struct nt_entry entry;
	struct nt_choice choice;
};

static void begin(struct learner *learner, bool far)
{
	*learner = (struct learner){ .choice = { .far = far } };
	learner->choice.bits = &learner->bits;
	learner->choice.entries = &learner->entry;
}

static bool chooses_nt(const struct learner *learner)
{
	return nt_choose(&learner->choice, 0);
}

/* The way in use, whatever is on trial. */
static bool uses_nt(const struct learner *learner)
{
	return learner->entry.way != learner->choice.far;
}

/* Transfers that take so many ns a byte, by plain and by nt stores; every third is disturbed.  Returns how many of them
 * were nt. */
static int transfers(struct learner *learner, int n, int plain_ns, int nt_ns)
{
	int n_nt = 0;

	for (int i = 0; i < n; i++) {
		bool nt = chooses_nt(learner);

		n_nt += nt;
		nt_took(&learner->choice, 0, nt, BYTES,
		        (int64_t)BYTES * (nt ? nt_ns : plain_ns) * (i % 3 == 2 ? 20 : 1));
	}
	return n_nt;
}

/* Near cores begin with plain stores, far ones with nt stores; what is faster stays, and the other way is tried
 * seldom. */
static void the_likely_way_comes_first(void **state)
{
	struct learner near, far;

	(void)state;
	begin(&near, false);
	begin(&far, true);
	assert_int_equal(transfers(&near, 6, 4, 5), 0);
	assert_int_equal(transfers(&far, 6, 5, 4), 6);
	assert_in_range(transfers(&near, 2000, 4, 5), 1, 60);
	assert_in_range(transfers(&far, 2000, 5, 4), 1940, 1999);
}

static void the_faster_way_is_found(void **state)
{
	struct learner near, far;

	(void)state;
	begin(&near, false);
	transfers(&near, 9, 10, 1);
	assert_true(chooses_nt(&near));
	assert_in_range(transfers(&near, 2000, 10, 1), 1940, 2000);
	begin(&far, true);
	transfers(&far, 9, 1, 10);
	assert_false(chooses_nt(&far));
}

static void a_change_is_noticed(void **state)
{
	struct learner learner;

	(void)state;
	begin(&learner, false);
	transfers(&learner, 1000, 1, 2);
	assert_false(uses_nt(&learner));
	transfers(&learner, 24, 10, 2); /* the way in use has become slow: at once */
	assert_true(uses_nt(&learner));
	transfers(&learner, 1000, 10, 2);
	assert_true(uses_nt(&learner));
	transfers(&learner, 530, 1, 2); /* the other way has become fast: by the next trial */
	assert_false(uses_nt(&learner));
}

/* A receiver learns of pieces that were on their way when it changed its mind. */
static void what_was_under_way_does_not_count(void **state)
{
	struct learner learner;

	(void)state;
	begin(&learner, false);
	for (int i = 0; i < 20 && !chooses_nt(&learner); i++)
		nt_took(&learner.choice, 0, false, BYTES, 10 * BYTES);
	for (int i = 0; i < 20; i++) {
		nt_took(&learner.choice, 0, false, BYTES, BYTES);
		assert_true(chooses_nt(&learner));
	}
	transfers(&learner, 4, 10, 5);
	assert_true(chooses_nt(&learner));
}

/* Who follows changes nothing; without a choice all stores are nt. */
static void followers_follow(void **state)
{
	struct learner learner;
	struct nt_choice none = { .bits = NULL };

	(void)state;
	begin(&learner, false);
	learner.choice.entries = NULL;
	assert_int_equal(transfers(&learner, 100, 10, 1), 0);
	learner.bits = 1;
	assert_int_equal(transfers(&learner, 100, 1, 10), 100);
	assert_true(nt_choose(&none, 3));
	nt_took(&none, 3, true, BYTES, 1);
}

static hwloc_topology_t machine_of(const char *parts)
{
	hwloc_topology_t topology;

	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology, parts), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	return topology;
}

static void cores_that_share_a_cache(void **state)
{
	hwloc_topology_t two = machine_of("pack:2 l3:1(size=16777216) l2:2(size=524288) core:1 pu:1");
	hwloc_topology_t unknown = machine_of("core:4 pu:1");
	cpu_set_t cores;

	(void)state;
	CPU_ZERO(&cores);
	assert_true(cache_is_shared(two, &cores));
	CPU_SET(1, &cores);
	assert_true(cache_is_shared(two, &cores));
	CPU_SET(0, &cores);
	assert_true(cache_is_shared(two, &cores));
	CPU_SET(2, &cores);
	assert_false(cache_is_shared(two, &cores));
	assert_true(cache_is_shared(unknown, &cores) && cache_is_shared(NULL, &cores));
	assert_int_equal(cache_shared_bytes(two), 16777216);
	assert_int_equal(cache_core_bytes(two), 524288);
	assert_true(cache_shared_bytes(unknown) > 0 && cache_shared_bytes(NULL) == cache_shared_bytes(unknown));
	hwloc_topology_destroy(two);
	hwloc_topology_destroy(unknown);
}

/* One core is in one cache, whatever the machine. */
static void this_machine_has_caches(void **state)
{
	struct hwloc_topology *machine = cache_machine();
	cpu_set_t cores;

	(void)state;
	CPU_ZERO(&cores);
	CPU_SET(sched_getcpu(), &cores);
	assert_ptr_equal(machine, cache_machine());
	assert_true(cache_is_shared(machine, &cores));
	assert_true(cache_shared_bytes(machine) > 0);
}

static void sizes_fit(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8, 17, 64, 100, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct slot_sizes s = slot_sizes_of(sizes[i], false), far = slot_sizes_of(sizes[i], true);

		assert_true(s.lane_bytes % 4096 == 0 && s.lane_bytes > s.fallback_bytes);
		assert_true(s.fallback_bytes % (64 * (uint64_t)sizes[i]) == 0 && s.fallback_bytes >= 4096);
		assert_true(s.slot_bytes == 4 * s.fallback_bytes);
		assert_true(far.fallback_bytes % (64 * (uint64_t)sizes[i]) == 0);
		assert_true(far.slot_bytes >= s.slot_bytes && (sizes[i] != 2 || far.slot_bytes == 4 * s.slot_bytes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_likely_way_comes_first), cmocka_unit_test(the_faster_way_is_found),
		cmocka_unit_test(a_change_is_noticed),        cmocka_unit_test(what_was_under_way_does_not_count),
		cmocka_unit_test(followers_follow),           cmocka_unit_test(cores_that_share_a_cache),
		cmocka_unit_test(this_machine_has_caches),    cmocka_unit_test(sizes_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
