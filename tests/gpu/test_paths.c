/* SPDX-License-Identifier: MIT */
/* Which way a call takes where memory is far, by the rates of its devices: one read and one write, or chunks, as many
 * as Note [chunks by commands] says; the bits are the same.  The rates are set by hand, and the reads are counted. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "gpu/crossings.h"
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

static struct crossings crossed(void)
{
	struct crossings c;

	assert_true(crossings_get(choir_device_id(world_device()), &c));
	return c;
}

/* All of the bytes by pinned memory: the library's own, or the slots of which it has told the driver. */
static void assert_pinned(const struct crossings *before)
{
	struct crossings now = crossed();

	assert_int_equal(now.pageable_down, before->pageable_down);
	assert_int_equal(now.pageable_up, before->pageable_up);
	assert_int_equal(now.pinned_down - before->pinned_down, bus_reads().bytes);
	assert_int_equal(now.pinned_up - before->pinned_up, bus_writes().bytes);
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
		struct crossings before;
		struct world world;
		int n = rows[i].chunks;

		set_rates(rows[i].us, rows[i].GBps);
		world_begin(&world, N, NULL);
		assert_int_equal(world.comms[0]->command_bytes, dev_command_bytes(world_device()));
		world_threads(&world, make, &sum);
		bus_reset();
		before = crossed();
		world_threads(&world, call, &sum);
		assert_pinned(&before);
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
		struct crossings before;
		struct world world;

		world_begin(&world, n, NULL);
		world_threads(&world, make, &sum);
		bus_reset();
		before = crossed();
		world_threads(&world, exchange, &sum);
		assert_pinned(&before);
		assert_int_equal(bus_down(), others);
		assert_int_equal(bus_up(), others);
		world_threads(&world, check_exchanged, &sum);
		world_end(&world);
	}
}

/* --- short lists of a sparse_allreduce --- */

enum { WIDTH = 16, LONG_ROWS = 1000, STRIDE = 3, SPARSE_BYTES = LONG_ROWS * WIDTH * 4 };

struct lists {
	size_t rows[N]; /* rank r: indices 0, 3, 6, ... */
	bool by_host;   /* short ones: the indices and the rows are read, and nothing else */
	struct memory ind[N], val[N], to_ind[N], to_val[N];
};

static float row_value(int rank, size_t row, size_t column)
{
	return (float)(int)((row * 7 + column + (size_t)rank) % 19) - 9;
}

static void make_lists(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct lists *lists = arg;
	size_t rows = lists->rows[rank];

	(void)comm;
	CHECK(memory_make(&lists->ind[rank], world->device, true, rows * 4, 0));
	CHECK(memory_make(&lists->val[rank], world->device, true, rows * WIDTH * 4, 0));
	CHECK(memory_make(&lists->to_ind[rank], world->device, true, (size_t)LONG_ROWS * 4, 0));
	CHECK(memory_make(&lists->to_val[rank], world->device, true, SPARSE_BYTES, 0));
	for (size_t i = 0; i < rows; i++) {
		((int32_t *)(void *)memory_payload(&lists->ind[rank]))[i] = (int32_t)(STRIDE * i);
		for (size_t c = 0; c < WIDTH; c++)
			((float *)(void *)memory_payload(&lists->val[rank]))[i * WIDTH + c] = row_value(rank, i, c);
	}
	memory_push(&lists->ind[rank]);
	memory_push(&lists->val[rank]);
}

static void reduce_lists(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct lists *lists = arg;
	size_t ind_count = LONG_ROWS, val_count = (size_t)LONG_ROWS * WIDTH, rows = lists->rows[rank];
	size_t most = lists->rows[0] > lists->rows[1] ? lists->rows[0] : lists->rows[1];
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;

	OK(choir_sparse_allreduce(comm, lists->ind[rank].buffer, rows, lists->val[rank].buffer, rows * WIDTH,
	                          lists->to_ind[rank].buffer, &ind_count, lists->to_val[rank].buffer, &val_count,
	                          CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, NULL));
	CHECK(ind_count == most && val_count == most * WIDTH);
}

static float sum_of(const struct lists *lists, size_t row, size_t column)
{
	float sum = 0;

	for (int r = 0; r < N; r++)
		sum += row < lists->rows[r] ? row_value(r, row, column) : 0;
	return sum;
}

static void check_lists(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct lists *lists = arg;
	size_t most = lists->rows[0] > lists->rows[1] ? lists->rows[0] : lists->rows[1], wrong = 0;
	const int32_t *ind;
	const float *val;

	(void)comm;
	memory_pull(&lists->to_ind[rank]);
	memory_pull(&lists->to_val[rank]);
	ind = (const int32_t *)(const void *)memory_payload(&lists->to_ind[rank]);
	val = (const float *)(const void *)memory_payload(&lists->to_val[rank]);
	for (size_t i = 0; i < most * WIDTH; i++)
		wrong +=
		    ind[i / WIDTH] != (int32_t)(STRIDE * (i / WIDTH)) || val[i] != sum_of(lists, i / WIDTH, i % WIDTH);
	CHECK(wrong == 0);
	memory_free(&lists->ind[rank]);
	memory_free(&lists->val[rank]);
	memory_free(&lists->to_ind[rank]);
	memory_free(&lists->to_val[rank]);
}

/* 40 000 bytes are long. */
static void short_lists_are_the_hosts(void **state)
{
	static struct lists cases[] = { { .rows = { 100, 200 }, .by_host = true },
		                        { .rows = { LONG_ROWS, LONG_ROWS } },
		                        { .rows = { 50, LONG_ROWS } },
		                        { .rows = { LONG_ROWS, 0 } } };

	(void)state;
	set_rates(20, 2);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t bytes = (cases[i].rows[0] + cases[i].rows[1]) * (4 + WIDTH * 4);
		struct world world;

		world_begin(&world, N, NULL);
		world_threads(&world, make_lists, &cases[i]);
		bus_reset();
		world_threads(&world, reduce_lists, &cases[i]);
		assert_true((bus_reads().commands == 2 * N && bus_down() == bytes) == cases[i].by_host);
		world_threads(&world, check_lists, &cases[i]);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rates_make_bytes), cmocka_unit_test(rates_choose_the_path),
		                            cmocka_unit_test(own_block_stays),
		                            cmocka_unit_test(short_lists_are_the_hosts) };
	int failed = cmocka_run_group_tests_name("paths", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
