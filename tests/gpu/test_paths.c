/* SPDX-License-Identifier: MIT */
/* Which way a call takes where memory is far, by the rates of its devices: one read and one write, or chunks, as many
 * as Note [chunks of far memory] says; the bits are the same.  The rates are set by hand, and the reads are counted. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "world/bus.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- the rates --- */

static void set_rates(double us, double GBps)
{
	world_device()->rates = (struct device_rates){
		.measured = true, .read_us = us / 2, .write_us = us, .read_GBps = GBps, .write_GBps = 2 * GBps
	};
}

/* Of a latency and a rate; what could not be measured, or was held up, has bounds. */
static void rates_make_bytes(void **state)
{
	static const struct {
		double us, GBps;
		uint64_t command_bytes, short_bytes;
	} rows[] = {
		{ 20, 2, 40000, 80000 },  { 10, 16, 160000, 320000 },   { 5, 8, 40000, 80000 },
		{ 20, 0, 65536, 131072 }, { 1, 0.5, 4096, 65536 },      { 1e5, 2, 1 << 20, 2 << 20 },
		{ 0, 2, 65536, 131072 },  { 10, 3.2768, 32768, 65536 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		set_rates(rows[i].us, rows[i].GBps);
		assert_int_equal(dev_command_bytes(world_device()), rows[i].command_bytes);
		assert_int_equal(dev_short_bytes(world_device()), rows[i].short_bytes);
	}
}

/* --- the path --- */

enum { N = 2, COUNT = 300000 };

struct sum {
	struct memory in[N], out[N];
	float want[COUNT];
};

/* Sums of these depend on their order and are rounded. */
static float value(int rank, size_t i)
{
	return (float)(i % 1013 + 1) / (float)(7 * rank + 3);
}

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum *sum = arg;
	float *in;

	(void)comm;
	CHECK(memory_make(&sum->in[rank], world->device, true, COUNT * sizeof *in, 0));
	CHECK(memory_make(&sum->out[rank], world->device, true, COUNT * sizeof *in, 0));
	in = (float *)(void *)memory_payload(&sum->in[rank]);
	for (size_t i = 0; i < COUNT; i++)
		in[i] = value(rank, i);
	memory_push(&sum->in[rank]);
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum *sum = arg;
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=twoshot";
	OK(choir_allreduce(comm, sum->in[rank].buffer, sum->out[rank].buffer, COUNT, CHOIR_F32, CHOIR_OP_SUM, &by_host,
	                   NULL));
}

static void compare(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum *sum = arg;

	(void)comm;
	memory_pull(&sum->out[rank]);
	CHECK(memcmp(memory_payload(&sum->out[rank]), sum->want, sizeof sum->want) == 0);
	memory_free(&sum->in[rank]);
	memory_free(&sum->out[rank]);
}

/* 1.2 MB: at once, or in chunks, each of which a rank reads and writes by one command. */
static void rates_choose_the_path(void **state)
{
	static const struct {
		double us, GBps;
		int chunks; /* 0 = one read and one write */
	} rows[] = { { 20, 2, 5 }, { 20, 16, 2 }, { 5, 8, 5 }, { 1, 4, 17 }, { 300, 4, 0 }, { 10, 2, 8 } };
	static struct sum sum;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		sum.want[i] = value(0, i) + value(1, i);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world world;
		int n = rows[i].chunks;

		set_rates(rows[i].us, rows[i].GBps);
		world_begin(&world, N, NULL);
		assert_int_equal(world.comms[0]->command_bytes, dev_command_bytes(world_device()));
		world_threads(&world, make, &sum);
		bus_reset();
		world_threads(&world, call, &sum);
		assert_int_equal(bus_reads().commands, N * (n > 0 ? n : 1));
		assert_int_equal(bus_writes().commands, N * (n > 0 ? n : 1));
		world_threads(&world, compare, &sum);
		world_end(&world);
	}
}

/* --- what a rank sends to itself --- */

enum { HALF = COUNT / 2 };

static void exchange(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum *sum = arg;
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = world->n > 1 ? "algorithm=slots" : NULL;
	OK(choir_alltoall(comm, sum->in[rank].buffer, sum->out[rank].buffer, COUNT / (size_t)world->n, CHOIR_F32,
	                  &by_host, NULL));
}

static void check_exchanged(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sum *sum = arg;
	size_t block = COUNT / (size_t)world->n;
	const float *out;

	(void)comm;
	memory_pull(&sum->out[rank]);
	out = (const float *)(const void *)memory_payload(&sum->out[rank]);
	for (size_t i = 0; i < COUNT; i++)
		if (out[i] != value((int)(i / block), (size_t)rank * block + i % block)) {
			world_fail(world, rank, "element %zu", i);
			break;
		}
	memory_free(&sum->in[rank]);
	memory_free(&sum->out[rank]);
}

/* It does not cross the bus. */
static void own_block_stays(void **state)
{
	static struct sum sum;

	(void)state;
	set_rates(5, 8);
	for (int n = 1; n <= N; n++) {
		uint64_t others = (uint64_t)n * (uint64_t)(n - 1) * HALF * sizeof(float);
		struct world world;

		world_begin(&world, n, NULL);
		world_threads(&world, make, &sum);
		bus_reset();
		world_threads(&world, exchange, &sum);
		assert_int_equal(bus_down(), others);
		assert_int_equal(bus_up(), others);
		world_threads(&world, check_exchanged, &sum);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rates_make_bytes), cmocka_unit_test(rates_choose_the_path),
		                            cmocka_unit_test(own_block_stays) };
	int failed = cmocka_run_group_tests_name("paths", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
