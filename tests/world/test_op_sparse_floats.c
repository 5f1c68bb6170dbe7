/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own on floats in sparse_allreduce: the entries of a selection; a result that shows whether
 * it has met the identity. */
#include "world/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 60, RANGE = 40, WIDEST = 3, N_FORMS = 2 };
enum { FUNCTIONS, TEXT };

struct asked {
	choir_op op;
	bool text;
};

/* --- the largest entries --- */

enum { ENTRIES = 200, LARGEST = 20 };

static void larger(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	float *to = acc;
	const float *from = src;

	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		to[i] = fabsf(from[i]) > fabsf(to[i]) ? from[i] : to[i];
}

/* Every tenth is large, of another sign on odd ranks; rank r lacks the first r of them. */
static float entry_of(int rank, int i)
{
	return i % 10 == 5 && i / 10 >= rank ? (float)(i + rank) * (rank % 2 ? -1 : 1) : 0.5f;
}

static float wanted_of(int n, int i)
{
	float value = entry_of(0, i);

	for (int r = 1; r < n; r++) {
		float other = entry_of(r, i);

		value = fabsf(other) > fabsf(value) ? other : value;
	}
	return value;
}

static void largest(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	float entries[ENTRIES], val[LARGEST] = { 0 }, to_val[ENTRIES] = { 0 };
	int32_t ind[LARGEST] = { 0 }, to_ind[ENTRIES] = { 0 };
	size_t n_ind = ENTRIES, n_val = ENTRIES, found = 0, k = LARGEST - (size_t)rank;

	for (int i = 0; i < ENTRIES; i++)
		entries[i] = entry_of(rank, i);
	OK(choir_select_top(choir_comm_device(comm), choir_host(entries), ENTRIES, CHOIR_F32, k, choir_host(ind),
	                    CHOIR_I32, choir_host(val), NULL, NULL));
	OK(choir_sparse_allreduce(comm, choir_host(ind), k, choir_host(val), k, choir_host(to_ind), &n_ind,
	                          choir_host(to_val), &n_val, CHOIR_I32, CHOIR_F32, *(choir_op *)op_p, NULL, NULL,
	                          NULL));
	for (int i = 5; i < ENTRIES; i += 10, found++)
		CHECK(found < n_ind && to_ind[found] == i && to_val[found] == wanted_of(world->n, i));
	CHECK(found == n_ind);
}

static void largest_entries(void **state)
{
	(void)state;
	for (int form = 0; form < N_FORMS; form++) {
		choir_op_config config = CHOIR_OP_CONFIG_INIT;
		choir_op op = -1;

		config.name = "larger";
		config.dtypes = 1u << CHOIR_F32;
		if (form == FUNCTIONS)
			config.fold = larger;
		else
			config.fold_text = "fabs(b) > fabs(a) ? b : a";
		assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
		for (int per_node = 0; per_node < 2; per_node++)
			world_run_at(3, per_node, 60000, largest, &op);
		choir_op_destroy(op);
	}
}

/* --- negative zeros --- */

static int32_t index_of(int rank, size_t i)
{
	return (int32_t)((i * 17 + (size_t)rank * 5) % RANGE) * (rank % 2 + 1);
}

static void add(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((float *)acc)[i] += ((const float *)src)[i];
}

static void zero(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)ranks;
	(void)dtype;
	memset(data, 0, count * sizeof(float));
}

/* A sum whose identity is +0, of which -0 + +0 = +0 is: the result of negative zeros must not have met it. */
static choir_op create_sum(int form)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op = -1;

	config.name = "plus";
	if (form == FUNCTIONS) {
		config.fold = add;
		config.identity = zero;
	} else {
		config.fold_text = "a + b";
		config.identity_text = "0";
	}
	assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
	return op;
}

/* All values are -0 but those of index 8, which rank 1 has as 1. */
static void sum_negative_zeros(struct world *world, int rank, choir_comm *comm, const struct asked *asked,
                               const char *options, size_t width)
{
	int32_t ind[PAIRS], to_ind[2 * RANGE] = { 0 };
	float val[PAIRS * WIDEST], to_val[2 * RANGE * WIDEST] = { 0 };
	size_t n_ind = 2 * RANGE, n_val = 2 * RANGE * width;
	choir_call call = CHOIR_CALL_INIT;

	for (size_t i = 0; i < PAIRS; i++) {
		ind[i] = index_of(rank, i);
		for (size_t column = 0; column < width; column++)
			val[i * width + column] = rank == 1 && ind[i] == 8 ? 1 : -0.0f;
	}
	call.options = options;
	OK(choir_sparse_allreduce(comm, choir_host(ind), PAIRS, choir_host(val), PAIRS * width, choir_host(to_ind),
	                          &n_ind, choir_host(to_val), &n_val, CHOIR_I32, CHOIR_F32, asked->op, NULL, &call,
	                          NULL));
	for (size_t i = 0; i < n_val; i++)
		if (to_ind[i / width] == 8 && world->n > 1 ? !(to_val[i] >= 1) : to_val[i] != 0 || !signbit(to_val[i]))
			world_fail(world, rank, "%s, width %zu: element %zu, of index %d, is %a", options, width, i,
			           (int)to_ind[i / width], (double)to_val[i]);
}

static void negative_zeros(struct world *world, int rank, choir_comm *comm, void *asked_p)
{
	static const char *const options[] = { "algorithm=auto",        "algorithm=allgather",
		                               "algorithm=split",       "algorithm=split_bitmap",
		                               "algorithm=split_dense", "algorithm=recursive_doubling",
		                               "algorithm=mask",        "algorithm=dense" };
	const struct asked *asked = asked_p;

	for (size_t k = 0; k < (asked->text ? 5 : 8); k++)
		for (size_t width = 1; width <= WIDEST; width += 2)
			sum_negative_zeros(world, rank, comm, asked, options[k], width);
}

static void negative_zeros_by(int form)
{
	for (int n = 1; n <= 3; n++)
		for (int per_node = 0; per_node < 2; per_node++) {
			struct asked asked = { create_sum(form), form == TEXT };

			world_run_at(n, per_node, 60000, negative_zeros, &asked);
			assert_int_equal(choir_op_destroy(asked.op), CHOIR_SUCCESS);
		}
}

static void no_result_meets_the_identity(void **state)
{
	(void)state;
	negative_zeros_by(FUNCTIONS);
}

static void no_kernel_begins_with_the_identity(void **state)
{
	(void)state;
	negative_zeros_by(TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(largest_entries),
		                            cmocka_unit_test(no_result_meets_the_identity),
		                            cmocka_unit_test(no_kernel_begins_with_the_identity) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
