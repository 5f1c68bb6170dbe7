/* SPDX-License-Identifier: MIT */
/* Note [own block] in algo/reduce_scatter_slots.c: which calls a GPU reduces its own block of, that fewer bytes cross
 * the bus then, and that the bits are the host's; the same of a rank that is alone, whose calls cross it not at all.
 * The device's rates are set by hand, and the bytes are counted. */
#include "dev/device_impl.h"
#include "world/bus.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4 /* ranks */, SHORT_BYTES = 65536 /* of a short call, at least */ };

struct own_case {
	int n;
	choir_dtype dtype;
	choir_op op;
	size_t counts[MOST]; /* a block for each rank */
	double command_us;
	bool stays; /* on the devices of the ranks whose block is no short call */
};

struct own {
	const struct own_case *is;
	struct memory in[MOST], out[MOST];
	unsigned char *first[MOST]; /* what the first of two calls gave */
};

static size_t total_of(const struct own_case *is)
{
	size_t total = 0;

	for (int r = 0; r < is->n; r++)
		total += is->counts[r];
	return total;
}

/* Finite, and of many exponents. */
static void fill(choir_dtype dtype, int rank, unsigned char *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t random = (uint32_t)(i * 2654435761u + (uint32_t)rank * 40503u);

		if (choir_dtype_bytes(dtype) == 4)
			((uint32_t *)(void *)to)[i] = (random & 0x07ffffffu) + 0x3c000000u;
		else if (dtype == CHOIR_F64)
			((double *)(void *)to)[i] = (double)random / (double)(rank + 3);
		else /* f16, bf16 */
			((uint16_t *)(void *)to)[i] = (uint16_t)((random >> 8 & 0x07ffu) + 0x3800u);
	}
}

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct own *own = arg;
	size_t elem = choir_dtype_bytes(own->is->dtype);

	(void)comm;
	CHECK(memory_make(&own->in[rank], world->device, true, total_of(own->is) * elem, 3 * elem));
	CHECK(memory_make(&own->out[rank], world->device, true, own->is->counts[rank] * elem, elem));
	fill(own->is->dtype, rank, memory_payload(&own->in[rank]), total_of(own->is));
	memory_push(&own->in[rank]);
}

static void scatter(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct own *own = arg;
	choir_call by_slots = CHOIR_CALL_INIT;

	(void)world;
	by_slots.options = "algorithm=slots";
	if (own->is->op == CHOIR_OP_PREMUL_SUM)
		by_slots.factor = rank + 0.5;
	OK(choir_reduce_scatterv(comm, own->in[rank].buffer, own->out[rank].buffer, own->is->counts, own->is->dtype,
	                         own->is->op, &by_slots, NULL));
}

static void compare(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct own *own = arg;
	struct memory *out = &own->out[rank];

	(void)comm;
	memory_pull(out);
	CHECK(memory_sentinels_stand(out));
	if (own->first[rank] == NULL) {
		own->first[rank] = malloc(out->bytes + 1);
		memcpy(own->first[rank], memory_payload(out), out->bytes);
	} else {
		CHECK(memcmp(own->first[rank], memory_payload(out), out->bytes) == 0);
		free(own->first[rank]);
		own->first[rank] = NULL;
	}
	memory_free(&own->in[rank]);
	memory_free(out);
}

struct moved {
	uint64_t down, up;
};

/* One call of all ranks. */
static struct moved run(struct own *own, const struct own_case *is, choir_reduce_where where)
{
	struct world world;
	struct moved moved;

	own->is = is;
	world_device()->rates = (struct device_rates){
		.measured = true, .read_us = is->command_us, .write_us = is->command_us, .read_GBps = 8, .write_GBps = 8
	};
	world_device()->reduce = where;
	world_begin(&world, is->n, NULL);
	world_threads(&world, make, own);
	bus_reset();
	world_threads(&world, scatter, own);
	moved = (struct moved){ bus_reads().bytes, bus_writes().bytes };
	world_threads(&world, compare, own);
	world_end(&world);
	world_device()->reduce = CHOIR_REDUCE_AUTO;
	return moved;
}

/* A call with the default, and one whose reductions are the host's: bytes and bits. */
static void compare_ways(const struct own_case *is)
{
	static struct own own;
	uint64_t elem = choir_dtype_bytes(is->dtype), all = total_of(is) * elem, kept = 0, uploads = 0;
	struct moved moved = run(&own, is, CHOIR_REDUCE_AUTO), by_host = run(&own, is, CHOIR_REDUCE_HOST);

	for (int r = 0; r < is->n && is->stays; r++)
		if (is->counts[r] * elem > SHORT_BYTES) {
			kept += is->counts[r] * elem;
			uploads += (uint64_t)(is->n - 2) * is->counts[r] * elem;
		}
	assert_int_equal(by_host.down, (uint64_t)is->n * all);
	assert_int_equal(by_host.up, all);
	assert_int_equal(moved.down, (uint64_t)is->n * all - kept);
	assert_int_equal(moved.up, all + uploads);
}

/* Of four ranks more bytes would go up than the host saves; short calls are the host's, and premul_sum. */
static void which_calls(void **state)
{
	static const struct own_case cases[] = {
		{ 2, CHOIR_F32, CHOIR_OP_SUM, { 150000, 150000 }, 1, true },
		{ 3, CHOIR_F32, CHOIR_OP_SUM, { 100000, 100000, 100000 }, 1, true },
		{ 4, CHOIR_F32, CHOIR_OP_SUM, { 75000, 75000, 75000, 75000 }, 1, false },
		{ 2, CHOIR_F32, CHOIR_OP_SUM, { 150000, 150000 }, 50, false },
		{ 3, CHOIR_F32, CHOIR_OP_PREMUL_SUM, { 30000, 30000, 30000 }, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		compare_ways(&cases[i]);
}

/* A rank whose block is short or empty leaves it to its host, whatever the others do. */
static void types_and_operators(void **state)
{
	static const struct own_case cases[] = {
		{ 3, CHOIR_F32, CHOIR_OP_SUM, { 70001, 30003, 0 }, 0.5, true },
		{ 3, CHOIR_F32, CHOIR_OP_MEAN, { 30000, 30000, 30000 }, 0.5, true },
		{ 3, CHOIR_F32, CHOIR_OP_SQUARE_ADD, { 16399, 1, 50000 }, 0.5, true },
		{ 3, CHOIR_F16, CHOIR_OP_SUM, { 12345, 54321, 100 }, 0.5, true },
		{ 3, CHOIR_BF16, CHOIR_OP_MAX, { 40001, 40001, 40001 }, 0.5, true },
		{ 3, CHOIR_F64, CHOIR_OP_PROD, { 8191, 20000, 8193 }, 0.5, true },
		{ 2, CHOIR_I32, CHOIR_OP_BXOR, { 65536, 7 }, 0.5, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		compare_ways(&cases[i]);
}

static bool builds_fail;

cl_int __real_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx)
{
	return builds_fail ? CL_COMPILER_NOT_AVAILABLE : __real_clBuildProgram(program, n, ids, options, notify, ctx);
}

/* Where no program is built the host reduces. */
static void without_a_compiler(void **state)
{
	static const struct own_case is = {
		3, CHOIR_U32, CHOIR_OP_MIN, { 30000, 30000, 30000 }, .command_us = 0.5, .stays = false
	};

	(void)state;
	builds_fail = true;
	compare_ways(&is);
	builds_fail = false;
}

/* --- a rank that is alone --- */

struct alone {
	choir_dtype dtype;
	choir_op op;
	bool in_place, scans;
	unsigned char *first; /* what the first of two calls gave */
	struct moved moved;
};

enum { ALONE_COUNT = 60003 };

static void call_alone(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct alone *a = arg;
	size_t elem = choir_dtype_bytes(a->dtype), bytes = ALONE_COUNT * elem;
	struct memory in, out, *to = a->in_place ? &in : &out;

	CHECK(memory_make(&in, world->device, true, bytes, elem) &&
	      memory_make(&out, world->device, true, bytes, elem));
	fill(a->dtype, rank, memory_payload(&in), ALONE_COUNT);
	memory_push(&in);
	bus_reset();
	OK(a->scans ? choir_scan(comm, in.buffer, to->buffer, ALONE_COUNT, a->dtype, a->op, NULL, NULL)
	            : choir_allreduce(comm, in.buffer, to->buffer, ALONE_COUNT, a->dtype, a->op, NULL, NULL));
	a->moved = (struct moved){ bus_reads().bytes, bus_writes().bytes };
	memory_pull(to);
	CHECK(memory_sentinels_stand(to));
	if (a->first == NULL) {
		a->first = malloc(bytes);
		memcpy(a->first, memory_payload(to), bytes);
	} else {
		CHECK(memcmp(a->first, memory_payload(to), bytes) == 0);
		free(a->first);
		a->first = NULL;
	}
	memory_free(&in);
	memory_free(&out);
}

static struct moved run_alone(struct alone *a, choir_reduce_where where)
{
	struct world world;

	world_device()->reduce = where;
	world_begin(&world, 1, NULL);
	world_threads(&world, call_alone, a);
	world_end(&world);
	world_device()->reduce = CHOIR_REDUCE_AUTO;
	return a->moved;
}

/* Nothing crosses the bus, and the bits are the host's. */
static void alone(void **state)
{
	struct alone cases[] = {
		{ .dtype = CHOIR_F32, .op = CHOIR_OP_SUM },
		{ .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .in_place = true },
		{ .dtype = CHOIR_F16, .op = CHOIR_OP_SQUARE_ADD },
		{ .dtype = CHOIR_F32, .op = CHOIR_OP_SQUARE_ADD, .in_place = true },
		{ .dtype = CHOIR_F64, .op = CHOIR_OP_MEAN },
		{ .dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .scans = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t bytes = ALONE_COUNT * choir_dtype_bytes(cases[i].dtype);
		struct moved here = run_alone(&cases[i], CHOIR_REDUCE_AUTO),
			     by_host = run_alone(&cases[i], CHOIR_REDUCE_HOST);

		assert_int_equal(here.down, 0);
		assert_int_equal(here.up, 0);
		assert_int_equal(by_host.down, bytes);
		assert_int_equal(by_host.up, bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(which_calls), cmocka_unit_test(types_and_operators),
		                            cmocka_unit_test(without_a_compiler), cmocka_unit_test(alone) };
	int failed = cmocka_run_group_tests_name("own block", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
