/* SPDX-License-Identifier: MIT */
/* choir_predict of every collective by its name: the v forms have equal blocks, padded forms cut their count, the
 * operator local copies; what more elements take; far memory. */
#include "algo/collective.h"
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "world/gate.h"
#include "world/memory.h"

#include <choir/plan.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static choir_status by_algorithm(choir_comm *comm, const char *name, size_t count, choir_op op, const char *algorithm,
                                 double *seconds_p)
{
	choir_call call = CHOIR_CALL_INIT;
	char options[64];

	snprintf(options, sizeof options, "algorithm=%s", algorithm);
	call.options = options;
	return choir_predict(comm, name, count, CHOIR_F32, op, 0, &call, seconds_p, NULL);
}

/* What the sentence says where there is no time; NULL: there is one. */
static const char *why_none(enum collective c, int n)
{
	if (collective_has(c, TRAIT_PAIR))
		return n == 1 ? "choir_predict|rank 0|itself" : NULL;
	return c == COLLECTIVE_TOPK_ALLREDUCE ? "choir_predict|topk_allreduce|state" : NULL;
}

/* Each collective that has plans has a time, and ten thousand times as many elements take longer. */
static void every(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 20, 200000 };
	int next = (rank + 1) % world->n;

	(void)unused;
	for (int c = 0; c < N_COLLECTIVES; c++) {
		const char *name = collective_name(c), *algorithm = NULL, *why = why_none(c, world->n);
		int root = collective_has(c, TRAIT_PAIR) ? next : 0;
		double before = 0, seconds = -1;

		if (why != NULL) {
			SAYS(choir_predict(comm, name, 20, CHOIR_F32, CHOIR_OP_SUM, root, NULL, &seconds, NULL),
			     CHOIR_UNSUPPORTED, why);
			continue;
		}
		for (int i = 0; i < 2; i++, before = seconds) {
			OK(choir_predict(comm, name, counts[i], CHOIR_F32, CHOIR_OP_SUM, root, NULL, &seconds,
			                 &algorithm));
			if (!(seconds >= 0) || algorithm == NULL || (world->n > 1 && seconds <= 0) ||
			    (world->n > 1 && c != COLLECTIVE_BARRIER && seconds <= before))
				world_fail(world, rank, "%s of %zu: %g s by %s, after %g s", name, counts[i], seconds,
				           algorithm != NULL ? algorithm : "none", before);
		}
	}
}

static void test_every(void **state)
{
	(void)state;
	line_up_run(1, 0, 30000, every, NULL);
	for (int n = 2; n <= 5; n += 3)
		line_up_layouts(n, every);
	line_up_run(4, 2, 30000, every, NULL);
}

/* The rank's own block down the bus and up again. */
static double own_copy(const choir_device *device, uint64_t bytes)
{
	return (dev_crossing_ns(device, false, bytes) + dev_crossing_ns(device, true, bytes)) * 1e-9;
}

/* A v form of equal blocks takes as long as the collective of equal blocks by the same algorithm, or longer where the
 * two reach the blocks in different ways; alone with far memory, alltoallv copies short blocks there and is faster.
 * An alltoallv copies its own block later (streams.c), and wins no more than the time of that copy. */
static void equal_blocks(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const struct {
		const char *v, *equal, *slower; /* by that algorithm; NULL: by any */
	} pairs[] = { { "reduce_scatterv", "reduce_scatter", "" },
		      { "allgatherv", "allgather", "" },
		      { "alltoallv", "alltoall", NULL },
		      { "gatherv", "gather", "direct" },
		      { "scatterv", "scatter", "direct" } };
	static const size_t counts[] = { 0, 1, 300, 60000 };

	(void)unused;
	for (int i = 0; i < 5 * 4; i++) {
		const char *v = pairs[i % 5].v, *equal = pairs[i % 5].equal, *algorithm = "none";
		double seconds = -1, wanted = -2;
		bool may_differ,
		    stays = pairs[i % 5].slower == NULL && world->n == 1 && dev_has_far_memory(comm->device);

		OK(choir_predict(comm, v, counts[i / 5], CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &seconds, &algorithm));
		OK(by_algorithm(comm, equal, counts[i / 5], CHOIR_OP_SUM, algorithm, &wanted));
		may_differ = pairs[i % 5].slower == NULL || strcmp(algorithm, pairs[i % 5].slower) == 0;
		if (!same(seconds, wanted) &&
		    !(may_differ &&
		      (stays || seconds > wanted - own_copy(comm->device, counts[i / 5] * sizeof(float)))))
			world_fail(world, rank, "%s of %zu by %s: %g s, but %s %g s", v, counts[i / 5], algorithm,
			           seconds, equal, wanted);
	}
}

/* Of far memory at these rates: at measured ones each run would ask for other plans. */
static void test_equal_blocks(void **state)
{
	static const struct device_rates some[] = { { true, 5, 5, 20, 20, 10, 10, 20 },
		                                    { true, 20, 25, 2, 2, 1, 1, 50 },
		                                    { true, 11, 17, 5, 8, 5, 8, 20 } };
	choir_device *device = world_device();
	const struct device_rates measured = device->rates;

	(void)state;
	for (size_t i = 0; i < (dev_has_far_memory(device) ? sizeof some / sizeof *some : 1); i++) {
		device->rates = dev_has_far_memory(device) ? some[i] : measured;
		for (int n = 1; n <= 5; n += 2)
			line_up_layouts(n, equal_blocks);
		line_up_run(4, 2, 30000, equal_blocks, NULL);
	}
	device->rates = measured;
}

/* Blocks of ceil(count / n) elements. */
static void padded(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const pairs[][2] = { { "reduce_scatter_padded", "reduce_scatter" },
		                                { "allgather_padded", "allgather" } };
	size_t n = (size_t)world->n, block = 700;

	(void)unused;
	for (int i = 0; i < 2 * 2; i++) {
		size_t count = i / 2 == 0 ? block * n : block * n - n + 1;
		const char *algorithm = NULL, *other = NULL;
		double seconds = -1, wanted = -2;

		OK(choir_predict(comm, pairs[i % 2][0], count, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &seconds, &algorithm));
		OK(choir_predict(comm, pairs[i % 2][1], block, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &wanted, &other));
		CHECK(same(seconds, wanted) && algorithm == other);
	}
}

static void test_padded(void **state)
{
	(void)state;
	line_up_run(3, 0, 30000, padded, NULL);
	line_up_run(4, 2, 30000, padded, NULL);
}

/* Of far memory: a read of so many bytes and a write. */
static double crossings_s(const choir_device *device, uint64_t sent, uint64_t got)
{
	return dev_has_far_memory(device)
	           ? (dev_crossing_ns(device, false, sent) + dev_crossing_ns(device, true, got)) / 1e9
	           : 0;
}

/* The operator local is a copy of what the rank keeps, whatever the layout. */
static void local(struct world *world, int rank, choir_comm *comm, void *rates)
{
	const choir_plan_costs *costs = rates;
	double none;
	const double copied = 4e4 / (costs->copy_GBps * 1e9) + costs->step_us / 1e6;
	static const char *const names[] = { "allreduce", "reduce_scatter", "reduce_scatterv", "reduce", "scan" };

	for (int i = 0; i < 5; i++) {
		uint64_t blocks = strncmp(names[i], "reduce_scatter", 14) == 0 ? (uint64_t)world->n : 1;
		double wanted = copied + crossings_s(comm->device, 40000 * blocks, 40000);
		const char *algorithm = NULL;
		double seconds = -1;

		OK(choir_predict(comm, names[i], 10000, CHOIR_F32, CHOIR_OP_LOCAL, 0, NULL, &seconds, &algorithm));
		if (!same(seconds, wanted) || algorithm == NULL || strcmp(algorithm, "local") != 0)
			world_fail(world, rank, "local %s: %g s by %s, a copy takes %g s", names[i], seconds,
			           algorithm != NULL ? algorithm : "none", wanted);
	}
	SAYS(choir_predict(comm, "exscan", 5, CHOIR_F32, CHOIR_OP_LOCAL, 0, NULL, &none, NULL), CHOIR_UNSUPPORTED,
	     "choir_predict|local|exscan");
}

static void test_local(void **state)
{
	choir_plan_costs costs = { .struct_size = sizeof costs };

	(void)state;
	assert_int_equal(choir_plan_costs_default(&costs), CHOIR_SUCCESS);
	line_up_run(1, 0, 30000, local, &costs);
	line_up_run(3, 0, 30000, local, &costs);
	line_up_run(3, 1, 30000, local, &costs);
}

/* --- an operator of the caller's that is not commutative --- */

static void keep_first(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)acc;
	(void)src;
	(void)count;
	(void)dtype;
}

static void own_op(struct world *world, int rank, choir_comm *comm, void *op)
{
	static const size_t counts[] = { 1, 5000, 300000 };

	for (int i = 0; i < 3; i++) {
		choir_call call = CHOIR_CALL_INIT;
		const char *own = NULL, *ordered = NULL;
		double seconds = -1, wanted = -2;

		call.options = "order=ranks";
		OK(choir_predict(comm, "allreduce", counts[i], CHOIR_F32, *(choir_op *)op, 0, NULL, &seconds, &own));
		OK(choir_predict(comm, "allreduce", counts[i], CHOIR_F32, CHOIR_OP_SUM, 0, &call, &wanted, &ordered));
		if (!same(seconds, wanted) || own != ordered)
			world_fail(world, rank, "%zu elements: %g s by %s, in rank order %g s by %s", counts[i],
			           seconds, own, wanted, ordered);
	}
}

static void test_own_op(void **state)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op;

	(void)state;
	config.name = "first";
	config.fold = keep_first;
	config.commutative = 0;
	assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
	line_up_run(6, 1, 30000, own_op, &op);
	assert_int_equal(choir_op_destroy(op), CHOIR_SUCCESS);
}

/* --- memory of the device --- */

/* The algorithm that a call on cl_mems takes is the one foreseen. */
static void takes(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 1, 3000, 20000, 300000, 1500000 };

	(void)unused;
	for (int i = 0; i < 5; i++) {
		const char *foreseen = "none", *taken = "none";
		struct memory send, recv;
		choir_event *event = NULL;
		double seconds;

		CHECK(memory_make(&send, world_device(), true, counts[i] * 4, 4) &&
		      memory_make(&recv, world_device(), true, counts[i] * 4, 8));
		OK(choir_predict(comm, "allreduce", counts[i], CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &seconds, &foreseen));
		if (OK(choir_allreduce(comm, send.buffer, recv.buffer, counts[i], CHOIR_F32, CHOIR_OP_SUM, NULL,
		                       &event)) &&
		    OK(choir_event_wait(event, -1)))
			taken = choir_event_algorithm(event);
		if (strcmp(taken, foreseen) != 0)
			world_fail(world, rank, "%zu elements: %s foreseen, %s taken", counts[i], foreseen, taken);
		choir_event_release(event);
		memory_free(&send);
		memory_free(&recv);
	}
}

static void test_taken(void **state)
{
	(void)state;
	line_up_layouts(3, takes);
	line_up_run(4, 2, 30000, takes, NULL);
	line_up_run(8, 0, 30000, takes, NULL);
}

/* --- far memory --- */

struct bus {
	double read_us, write_us, read_GBps, write_GBps; /* all 0: the memory is near */
};

/* Stands for the bus of the device while its reads take some time; all of its memory is then far. */
static struct bus planted;

double __real_dev_crossing_ns(const choir_device *device, bool write, uint64_t bytes);
double __wrap_dev_crossing_ns(const choir_device *device, bool write, uint64_t bytes);

double __wrap_dev_crossing_ns(const choir_device *device, bool write, uint64_t bytes)
{
	double us = write ? planted.write_us : planted.read_us, GBps = write ? planted.write_GBps : planted.read_GBps;

	if (planted.read_us == 0 || dev_is_host(device))
		return __real_dev_crossing_ns(device, write, bytes);
	return us * 1e3 + (double)bytes / GBps;
}

bool __real_dev_has_far_memory(const choir_device *device);
bool __wrap_dev_has_far_memory(const choir_device *device);

bool __wrap_dev_has_far_memory(const choir_device *device)
{
	return __real_dev_has_far_memory(device) || (planted.read_us > 0 && !dev_is_host(device));
}

static struct bus bus_of(choir_device *device)
{
	struct bus bus = { 0 };
	char *text = NULL;
	json_t *facts, *rates;

	if (planted.read_us > 0)
		return planted;
	assert_int_equal(choir_device_json(device, &text), CHOIR_SUCCESS);
	facts = json_loads(text, 0, NULL);
	rates = json_object_get(facts, "rates");
	if (json_is_object(rates))
		bus = (struct bus){ json_number_value(json_object_get(rates, "read_us")),
			            json_number_value(json_object_get(rates, "write_us")),
			            json_number_value(json_object_get(rates, "read_GBps")),
			            json_number_value(json_object_get(rates, "write_GBps")) };
	json_decref(facts);
	free(text);
	return bus;
}

struct times {
	double little, much, gather, barrier;
};

static void ask(struct world *world, int rank, choir_comm *comm, void *out)
{
	struct times t = { 0 };

	OK(by_algorithm(comm, "allreduce", 1000, CHOIR_OP_SUM, "twoshot", &t.little));
	OK(by_algorithm(comm, "allreduce", 1 << 20, CHOIR_OP_SUM, "twoshot", &t.much));
	OK(by_algorithm(comm, "gather", 1000, 0, "slots", &t.gather));
	OK(choir_predict(comm, "barrier", 0, CHOIR_U8, 0, 0, NULL, &t.barrier, NULL));
	if (rank == 0)
		*(struct times *)out = t;
}

/* A busy machine may leave no time to measure the rates: then the bus is not counted. */
static double way(double us, double GBps, double bytes)
{
	return us > 0 && GBps > 0 ? us * 1e-6 + bytes / GBps * 1e-9 : 0;
}

/* One read of what the rank that sends most sends, and one write of what the rank that gets most gets. */
static double crossing(struct bus bus, double sent, double got)
{
	return way(bus.read_us, bus.read_GBps, sent) + way(bus.write_us, bus.write_GBps, got);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 0.01 * b;
}

/* The times of a comm of host memory, and the bus's; without a bus those alone. */
static void compare_memories(void)
{
	choir_device *device = world_device(), *host = NULL;
	struct bus bus = bus_of(device);
	bool stages = choir_device_class(device) == CHOIR_CLASS_STAGE;
	double crossings = crossing(bus, 4 << 20, 4 << 20);
	struct times far, direct;
	struct world world;

	assert_int_equal(choir_device_create_host(&host), CHOIR_SUCCESS);
	world_begin(&world, 3, NULL);
	world_threads(&world, ask, &far);
	world_end(&world);
	world_begin_on(&world, 3, (choir_device *[]){ host, host, host }, NULL);
	world_threads(&world, ask, &direct);
	world_end(&world);
	choir_device_destroy(host);
	assert_true(near(far.little, direct.little + crossing(bus, 4e3, 4e3)));
	assert_true(near(far.gather, direct.gather + crossing(bus, 4e3, 12e3)));
	assert_true(near(far.barrier, direct.barrier));
	/* More than a short call: then there is no copy in the host's memory. */
	assert_true(stages ? far.much > 1.05 * direct.much + crossings : near(far.much, direct.much + crossings));
}

static void test_far(void **state)
{
	(void)state;
	compare_memories();
	planted = (struct bus){ .read_us = 11, .write_us = 17, .read_GBps = 5, .write_GBps = 8 };
	compare_memories();
	planted = (struct bus){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every),  cmocka_unit_test(test_equal_blocks),
		                            cmocka_unit_test(test_padded), cmocka_unit_test(test_local),
		                            cmocka_unit_test(test_own_op), cmocka_unit_test(test_taken),
		                            cmocka_unit_test(test_far) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
