/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own on types that accumulate in f32, and on pairs of a value and an index, as functions, as
 * text and as both; pairs that are members of structs. */
#include "world/affine.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 96, LONG = 30000 };

static choir_op sums[N_AFFINE_FORMS], firsts[N_AFFINE_FORMS];

static void add(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	for (size_t i = 0; i < count && dtype == CHOIR_F32; i++)
		((float *)acc)[i] += ((const float *)src)[i];
}

/* The first rank's of the largest values: not commutative. */
static void keep_first(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	choir_f32_i32 *narrow = acc;
	choir_i64_i32 *wide = acc;

	(void)ctx;
	for (size_t i = 0; i < count && dtype == CHOIR_F32_I32; i++)
		if (((const choir_f32_i32 *)src)[i].value > narrow[i].value)
			narrow[i] = ((const choir_f32_i32 *)src)[i];
	for (size_t i = 0; i < count && dtype == CHOIR_I64_I32; i++)
		if (((const choir_i64_i32 *)src)[i].value > wide[i].value)
			wide[i] = ((const choir_i64_i32 *)src)[i];
}

static choir_op create(const char *name, choir_op_fold_fn fold, const char *text, int commutative)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op = -1;

	config.name = name;
	config.fold = fold;
	config.fold_text = text;
	config.commutative = commutative;
	if (choir_op_create(&config, &op) != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		exit(1);
	}
	return op;
}

static void create_ops(void)
{
	for (int form = 0; form < N_AFFINE_FORMS; form++) {
		bool function = form != AFFINE_TEXT, text = form != AFFINE_FUNCTIONS;

		sums[form] = create("my sum", function ? add : NULL, text ? "a + b" : NULL, 1);
		firsts[form] = create("first of the largest", function ? keep_first : NULL,
		                      text ? "b.value > a.value ? b : a" : NULL, 0);
	}
}

/* Both accumulate in f32, so the bits are those of the library's sum.  The numbers are 1 and some more, of all last
 * bits, so that sums of 8 ranks are finite and most are rounded. */
static void narrow_of(struct world *world, int rank, choir_comm *comm, choir_op op, choir_dtype dtype)
{
	unsigned char send[2 * COUNT], mine[2 * COUNT], theirs[2 * COUNT];
	size_t bytes = choir_dtype_bytes(dtype);
	unsigned one = dtype == CHOIR_F16 ? 0x3c00 : dtype == CHOIR_BF16 ? 0x3f80 : dtype == CHOIR_F8E4M3 ? 0x38 : 0x3c;

	for (size_t i = 0; i < COUNT; i++) {
		uint16_t bits = (uint16_t)(one + (bytes == 1 ? (i * 3 + (size_t)rank * 5) % 13
		                                             : (i * 37 + (size_t)rank * 411) % 2000));

		memcpy(send + i * bytes, &bits, bytes);
	}
	OK(choir_allreduce(comm, choir_host(send), choir_host(mine), COUNT, dtype, op, NULL, NULL));
	OK(choir_allreduce(comm, choir_host(send), choir_host(theirs), COUNT, dtype, CHOIR_OP_SUM, NULL, NULL));
	CHECK(memcmp(mine, theirs, COUNT * bytes) == 0);
	CHECK(world->n == 1 || memcmp(mine, send, COUNT * bytes) != 0);
	OK(choir_scan(comm, choir_host(send), choir_host(mine), COUNT, dtype, op, NULL, NULL));
	OK(choir_scan(comm, choir_host(send), choir_host(theirs), COUNT, dtype, CHOIR_OP_SUM, NULL, NULL));
	CHECK(memcmp(mine, theirs, COUNT * bytes) == 0);
}

static void narrow(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	static const choir_dtype dtypes[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F8E4M3, CHOIR_F8E5M2 };

	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		narrow_of(world, rank, comm, sums[*(int *)form_p], dtypes[i]);
}

/* Of many elements some ranks give the same. */
static int64_t value_of(int rank, size_t i)
{
	return (int64_t)(i * (size_t)(rank + 3) / 5 % 3);
}

/* Of the ranks before `end`. */
static int first_of_largest(int end, size_t i)
{
	int best = 0;

	for (int r = 1; r < end; r++)
		if (value_of(r, i) > value_of(best, i))
			best = r;
	return best;
}

/* A value of each rank, and the rank as the index. */
static void put_pairs(void *to, choir_dtype dtype, int rank, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (dtype == CHOIR_F32_I32)
			((choir_f32_i32 *)to)[i] = (choir_f32_i32){ (float)value_of(rank, i), rank };
		else
			((choir_i64_i32 *)to)[i] = (choir_i64_i32){ .value = value_of(rank, i), .index = rank };
}

static bool are_first(const void *got, choir_dtype dtype, int end, size_t from, size_t count)
{
	const choir_f32_i32 *narrow_pairs = got;
	const choir_i64_i32 *wide_pairs = got;

	for (size_t i = 0; i < count; i++) {
		int first = first_of_largest(end, from + i);
		int64_t value = value_of(first, from + i);

		if (dtype == CHOIR_F32_I32 && (narrow_pairs[i].value != (float)value || narrow_pairs[i].index != first))
			return false;
		if (dtype == CHOIR_I64_I32 && (wide_pairs[i].value != value || wide_pairs[i].index != first))
			return false;
	}
	return true;
}

static void pairs_of(struct world *world, int rank, choir_comm *comm, choir_op op, choir_dtype dtype, size_t each)
{
	size_t n = (size_t)world->n, count = n * each, bytes = choir_dtype_bytes(dtype);
	void *send = calloc(count, bytes), *recv = calloc(count, bytes);

	put_pairs(send, dtype, rank, count);
	OK(choir_allreduce(comm, choir_host(send), choir_host(recv), count, dtype, op, NULL, NULL));
	CHECK(are_first(recv, dtype, world->n, 0, count));
	memset(recv, 0, count * bytes);
	OK(choir_reduce_scatter(comm, choir_host(send), choir_host(recv), each, dtype, op, NULL, NULL));
	CHECK(are_first(recv, dtype, world->n, (size_t)rank * each, each));
	memset(recv, 0, count * bytes);
	OK(choir_reduce(comm, choir_host(send), choir_host(recv), count, dtype, op, world->n - 1, NULL, NULL));
	CHECK(rank != world->n - 1 || are_first(recv, dtype, world->n, 0, count));
	memset(recv, 0, count * bytes);
	OK(choir_scan(comm, choir_host(send), choir_host(recv), count, dtype, op, NULL, NULL));
	CHECK(are_first(recv, dtype, rank + 1, 0, count));
	free(send);
	free(recv);
}

static void pairs(struct world *world, int rank, choir_comm *comm, void *form_p)
{
	choir_op op = firsts[*(int *)form_p];

	for (int i = 0; i < 2; i++) {
		pairs_of(world, rank, comm, op, i == 0 ? CHOIR_F32_I32 : CHOIR_I64_I32, COUNT);
		pairs_of(world, rank, comm, op, i == 0 ? CHOIR_F32_I32 : CHOIR_I64_I32, LONG / (size_t)world->n);
	}
}

static void on_worlds(world_fn fn)
{
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (int n = 1; n <= 3; n++)
			for (int per_node = 0; per_node < (n == 3 ? 3 : 2); per_node++)
				world_run_at(n, per_node, 60000, fn, &form);
}

static void test_narrow(void **state)
{
	(void)state;
	on_worlds(narrow);
}

static void test_pairs(void **state)
{
	(void)state;
	on_worlds(pairs);
}

/* A pair behind one word of a struct is as aligned as a call wants it. */
static void members(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct {
		float first;
		choir_f32_i32 pair;
	} f32 = { 0, { (float)rank, rank } };
	struct {
		double first;
		choir_f64_i32 pair;
	} f64 = { 0, { rank, rank, 0 } };
	struct {
		int32_t first;
		choir_i32_i32 pair;
	} i32 = { 0, { rank, rank } };
	struct {
		int64_t first;
		choir_i64_i32 pair;
	} i64 = { 0, { rank, rank, 0 } };
	const struct {
		void *pair;
		choir_dtype dtype;
	} cases[] = { { &f32.pair, CHOIR_F32_I32 },
		      { &f64.pair, CHOIR_F64_I32 },
		      { &i32.pair, CHOIR_I32_I32 },
		      { &i64.pair, CHOIR_I64_I32 } };

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		OK(choir_allreduce(comm, choir_host(cases[i].pair), choir_host(cases[i].pair), 1, cases[i].dtype,
		                   CHOIR_OP_MAXLOC, NULL, NULL));
	CHECK(f32.pair.index == world->n - 1 && f64.pair.index == world->n - 1);
	CHECK(i32.pair.index == world->n - 1 && i64.pair.index == world->n - 1);
	CHECK((uintptr_t)&f64.pair % 16 == 0 && (uintptr_t)&i64.pair % 16 == 0);
	CHECK((uintptr_t)&f32.pair % 8 == 0 && (uintptr_t)&i32.pair % 8 == 0);
}

static void test_members(void **state)
{
	(void)state;
	for (int n = 1; n <= 3; n++)
		world_run_at(n, 0, 60000, members, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_narrow), cmocka_unit_test(test_pairs),
		                            cmocka_unit_test(test_members) };
	int failed;

	create_ops();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_device_drop();
	return failed;
}
