/* SPDX-License-Identifier: MIT */
/* What the library measures of a device with far memory, on a model of 300 us a command and half a GB/s, half of
 * that from pageable memory. */
#include "dev/device_impl.h"
#include "world/bus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t transfers(void)
{
	return bus_reads().commands + bus_writes().commands;
}

static uint64_t moved(void)
{
	return bus_reads().bytes + bus_writes().bytes;
}

static uint64_t mapped(void)
{
	return bus_down() - bus_reads().bytes;
}

/* A clock that only transfers and maps move on: what each transfer takes, the first one and the first map besides, and
 * each KB. */
static struct {
	int64_t transfer_ns, first_ns, map_ns, kilobyte_ns;
} takes;
static struct {
	uint64_t transfers, mapped;
} start;

static void set_clock(int64_t transfer_ns, int64_t first_ns, int64_t map_ns, int64_t kilobyte_ns)
{
	start.transfers = transfers();
	start.mapped = mapped();
	takes.first_ns = first_ns;
	takes.map_ns = map_ns;
	takes.kilobyte_ns = kilobyte_ns;
	takes.transfer_ns = transfer_ns;
}

static void quick_clock(void)
{
	set_clock(100000, 0, 0, 512);
}

static int set_real_clock(void **state)
{
	(void)state;
	set_clock(0, 0, 0, 0);
	return 0;
}

int64_t __real_wait_now_ns(void);
int64_t __wrap_wait_now_ns(void);
int64_t __wrap_wait_now_ns(void)
{
	if (takes.transfer_ns == 0)
		return __real_wait_now_ns();
	return (int64_t)transfers() * takes.transfer_ns + (int64_t)moved() / 1024 * takes.kilobyte_ns +
	       (transfers() > start.transfers ? takes.first_ns : 0) + (mapped() > start.mapped ? takes.map_ns : 0);
}

static choir_device *open_device(void)
{
	choir_device *device = NULL;

	if (choir_device_create_default(0, &device) != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	return device;
}

/* 5 ms at most on a bus of 2 GB/s where a command takes 100 us: counted, since a busy machine takes longer.  There the
 * probe leaves out what it has no time for. */
static void the_probe_is_short(void **state)
{
	choir_device *device = open_device();

	(void)state;
	assert_true(transfers() > 0 && transfers() <= 16);
	assert_true(moved() > 0 && moved() <= 2 * 1024 * 1024 + 8 * 64);
	choir_device_destroy(device);
}

/* Within a tenth: others' work makes a short copy longer, and a rate differ both ways. */
static bool is_near(double value, double wanted)
{
	return value > 0.9 * wanted && value < 1.1 * wanted;
}

static bool are_of_the_model(const struct device_rates *r)
{
	return is_near(r->read_us, 300) && is_near(r->write_us, 300) && is_near(r->read_GBps, 0.5) &&
	       is_near(r->write_GBps, 0.5) && is_near(r->pageable_read_GBps, 0.25) &&
	       is_near(r->pageable_write_GBps, 0.25) && r->callback_us > 0 && r->callback_us < 500;
}

/* On a busy machine most copies are late, and a late short copy makes a long one look fast: one measurement of many
 * with these rates will do. */
static void rates_are_those_of_the_model(void **state)
{
	choir_device *device = open_device();
	struct device_rates r = { .measured = false };

	(void)state;
	for (int i = 0; i < 100 && !are_of_the_model(&r); i++) {
		rates_measure(device, 20, INT64_C(5000000000), &r);
		assert_true(r.measured && r.read_us >= 300 && r.write_us >= 300);
	}
	if (!are_of_the_model(&r))
		fail_msg("us: %.0f, %.0f; GB/s: %.3f, %.3f, pageable %.3f, %.3f; callback %.3f us", r.read_us,
		         r.write_us, r.read_GBps, r.write_GBps, r.pageable_read_GBps, r.pageable_write_GBps,
		         r.callback_us);
	choir_device_destroy(device);
}

/* The time is over before the first copy, as on a machine that stands still. */
static void latency_is_measured_in_any_case(void **state)
{
	choir_device *device = open_device();
	struct device_rates r;

	(void)state;
	rates_measure(device, 20, -1, &r);
	assert_true(r.measured && r.read_us >= 300 && r.write_us >= 300);
	assert_true(r.read_GBps == 0 && r.write_GBps == 0 && r.callback_us == 0);
	choir_device_destroy(device);
}

/* The number of copies after which the rates of a device of that name and driver are known. */
static uint64_t learn_as(choir_device *device, const char *name, const char *driver, struct device_rates *out)
{
	uint64_t before = transfers();

	snprintf(device->facts.name, sizeof device->facts.name, "%s", name);
	snprintf(device->facts.driver, sizeof device->facts.driver, "%s", driver);
	rates_learn(device, out);
	return transfers() - before;
}

/* No timed copy begins after 4 ms, so that copies of up to 1 ms take 5 ms at most.  Of slower ones only the first read
 * and the first write are tried.  Long copies that take as long as short ones have a rate all the same. */
static void a_slow_device_ends_the_probe(void **state)
{
	static const struct {
		int64_t ns;
		uint64_t timed;
	} rows[] = { { 250000, 14 }, { 500000, 8 }, { 900000, 5 }, { 1000000, 4 }, { 10000000, 2 } };
	choir_device *device = open_device();

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct device_rates r;
		char name[32];

		snprintf(name, sizeof name, "slow %zu", i);
		set_clock(rows[i].ns, 0, 0, 0);
		assert_int_equal(learn_as(device, name, "1", &r), 2 + rows[i].timed);
		assert_true(r.measured && r.read_us > 0 && r.write_us > 0);
		assert_true((r.read_GBps > 0) == (rows[i].timed > 2) && (r.write_GBps > 0) == (rows[i].timed > 3));
		assert_true((r.callback_us > 0) == (rows[i].timed > 4));
	}
	set_real_clock(NULL);
	choir_device_destroy(device);
}

/* What a driver does the first time takes none of the probe's. */
static void what_is_done_once_is_not_timed(void **state)
{
	static const struct {
		const char *name;
		int64_t first_ns, map_ns;
	} rows[] = { { "first command", 6000000, 0 }, { "first map", 0, 6000000 } };
	choir_device *device = open_device();

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct device_rates r;

		set_clock(100000, rows[i].first_ns, rows[i].map_ns, 512);
		assert_int_equal(learn_as(device, rows[i].name, "1", &r), 2 + 14);
		assert_true(r.read_us < 200 && r.write_us < 200);
		assert_true(r.read_GBps > 1 && r.write_GBps > 1 && r.pageable_read_GBps > 1 && r.callback_us > 0);
	}
	set_real_clock(NULL);
	choir_device_destroy(device);
}

/* The machine stood still while the first device was measured: the next one is measured too. */
static void rates_that_lack_are_not_kept(void **state)
{
	choir_device *device = open_device();
	struct device_rates r;

	(void)state;
	set_clock(10000000, 0, 0, 0);
	assert_true(learn_as(device, "held up", "1", &r) > 0);
	assert_true(r.measured && r.read_GBps == 0);
	quick_clock();
	assert_true(learn_as(device, "held up", "1", &r) > 0);
	assert_true(r.measured && r.read_GBps > 0 && r.write_GBps > 0 && r.pageable_write_GBps > 0);
	assert_int_equal(learn_as(device, "held up", "1", &r), 0);
	set_real_clock(NULL);
	choir_device_destroy(device);
}

/* Rates are kept for each name and each driver. */
static void another_name_is_measured(void **state)
{
	choir_device *device = open_device();
	struct device_rates first, again, other;

	(void)state;
	quick_clock();
	assert_true(learn_as(device, "first", "1", &first) > 0);
	assert_true(learn_as(device, "other", "1", &other) > 0);
	assert_true(learn_as(device, "first", "2", &other) > 0);
	assert_int_equal(learn_as(device, "first", "1", &again), 0);
	assert_memory_equal(&first, &again, sizeof first);
	set_real_clock(NULL);
	choir_device_destroy(device);
}

static bool calls_nobody;

typedef void(CL_CALLBACK *callback_fn)(cl_event, cl_int, void *);
cl_int __real_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx);
cl_int __wrap_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx);
cl_int __wrap_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx)
{
	return calls_nobody ? CL_SUCCESS : __real_clSetEventCallback(event, state, fn, ctx);
}

/* A callback that did not come within half a millisecond counts as that late. */
static void a_callback_that_never_comes_is_late(void **state)
{
	choir_device *device = open_device();
	struct device_rates r;

	(void)state;
	calls_nobody = true;
	rates_measure(device, 1, INT64_C(5000000000), &r);
	calls_nobody = false;
	assert_true(r.measured && r.callback_us >= 500);
	choir_device_destroy(device);
}

static void a_device_is_measured_once(void **state)
{
	choir_device *first, *second;
	uint64_t before;

	(void)state;
	quick_clock();
	first = open_device();
	before = transfers();
	assert_true(first->rates.measured && before > 0);
	second = open_device();
	assert_int_equal(transfers(), before);
	assert_memory_equal(&first->rates, &second->rates, sizeof first->rates);
	set_real_clock(NULL);
	choir_device_destroy(first);
	choir_device_destroy(second);
}

static void the_json_has_them(void **state)
{
	choir_device *device = open_device();
	char *text = NULL;

	(void)state;
	assert_int_equal(choir_device_json(device, &text), CHOIR_SUCCESS);
	assert_non_null(strstr(text, "\"rates\": {"));
	assert_non_null(strstr(text, "\"read_GBps\""));
	free(text);
	choir_device_destroy(device);
}

/* The same device of another class is near: nothing is measured. */
static void near_memory_is_not_measured(void **state)
{
	choir_device *device = open_device(), *near = NULL;
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	char *text = NULL;

	(void)state;
	config.memory_class = CHOIR_CLASS_MAP;
	assert_int_equal(choir_device_create(device->context, device->id, &config, &near), CHOIR_SUCCESS);
	assert_false(near->rates.measured);
	assert_int_equal(choir_device_json(near, &text), CHOIR_SUCCESS);
	assert_non_null(strstr(text, "\"rates\": null"));
	free(text);
	choir_device_destroy(near);
	choir_device_destroy(device);
}

#define TEST(name) cmocka_unit_test_teardown(name, set_real_clock)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_probe_is_short),
		TEST(rates_are_those_of_the_model),
		TEST(latency_is_measured_in_any_case),
		TEST(a_callback_that_never_comes_is_late),
		TEST(a_device_is_measured_once),
		TEST(another_name_is_measured),
		TEST(a_slow_device_ends_the_probe),
		TEST(what_is_done_once_is_not_timed),
		TEST(rates_that_lack_are_not_kept),
		TEST(the_json_has_them),
		TEST(near_memory_is_not_measured),
	};

	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
