/* SPDX-License-Identifier: MIT */
/* Reductions by functions of the caller: sources and destinations that are the same memory in each way that is allowed,
 * against a fold of copies; and where a block is accumulated, on which the time of a reduction in place hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kern/user_op.h"
#include "seeded.h"

#include <string.h>

enum { MOST = 4, COUNT = 5000 /* three blocks of i64, the last one short */ };

static int64_t memory[2 * MOST][COUNT], wanted[COUNT];
static const void *first_acc;

/* Not commutative: what is folded first counts most. */
static void fold(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	int64_t *to = acc;
	const int64_t *from = src;

	(void)ctx;
	assert_int_equal(dtype, CHOIR_I64);
	if (first_acc == NULL)
		first_acc = acc;
	for (size_t i = 0; i < count; i++)
		to[i] = 3 * to[i] + from[i];
}

static void twice(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	int64_t *each = data;

	(void)ctx;
	(void)ranks;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		each[i] *= 2;
}

static choir_op create(choir_op_each_fn raw)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op;

	config.name = "three";
	config.fold = fold;
	config.raw = raw;
	assert_int_equal(user_op_add(&config, &op), CHOIR_SUCCESS);
	return op;
}

static struct reduce_call call_of(choir_op op, uint32_t n_src, uint32_t n_dst)
{
	return (struct reduce_call){ .dtype = CHOIR_I64,
		                     .op = op,
		                     .n_src = n_src,
		                     .raw_from = n_src,
		                     .n_ranks = (int)n_src,
		                     .n_dst = n_dst,
		                     .nt_from = n_dst,
		                     .count = COUNT,
		                     .user = user_op_held(op) };
}

static void expect(const struct reduce_call *call, const void *const *src)
{
	for (size_t i = 0; i < call->count; i++)
		for (uint32_t k = 0; k < call->n_src; k++) {
			int64_t x = ((const int64_t *)src[k])[i] * (k >= call->raw_from ? 2 : 1);

			wanted[i] = k == 0 ? x : 3 * wanted[i] + x;
		}
}

/* Each destination is a source that no other is, or memory of its own. */
static void draw(uint64_t *seed, struct reduce_call *call, void **dst, const void **src)
{
	call->raw_from = (uint32_t)random_below(seed, (int)call->n_src + 1);
	call->nt_from = (uint32_t)random_below(seed, (int)call->n_dst + 1);
	call->count = 1 + (uint64_t)random_below(seed, COUNT);
	for (int m = 0; m < 2 * MOST; m++)
		for (size_t i = 0; i < COUNT; i++)
			memory[m][i] = random_below(seed, 1000);
	for (uint32_t k = 0; k < call->n_src; k++)
		src[k] = memory[k];
	for (uint32_t k = 0, from = (uint32_t)random_below(seed, MOST); k < call->n_dst; k++, from++)
		dst[k] = memory[random_below(seed, 2) == 0 ? from % MOST : MOST + k];
}

static void test_sources_that_are_destinations(void **state)
{
	uint64_t seed = 1;
	choir_op op = create(twice);

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct reduce_call call =
		    call_of(op, 1 + (uint32_t)random_below(&seed, MOST), 1 + (uint32_t)random_below(&seed, MOST));
		const void *src[MOST];
		void *dst[MOST];

		draw(&seed, &call, dst, src);
		expect(&call, src);
		user_op_reduce(&call, false, dst, src);
		for (uint32_t k = 0; k < call.n_dst; k++)
			assert_memory_equal(dst[k], wanted, call.count * sizeof *wanted);
	}
	assert_int_equal(user_op_remove(op), CHOIR_SUCCESS);
}

/* The second of two ranks that reduce in place writes its own memory, the second source, and the other's. */
static void test_blocks_accumulate_in_the_first_source(void **state)
{
	choir_op op = create(NULL);
	struct reduce_call call = call_of(op, 2, 2);
	const void *src[] = { memory[0], memory[1] };
	void *dst[] = { memory[1], memory[0] };

	(void)state;
	first_acc = NULL;
	user_op_reduce(&call, false, dst, src);
	assert_ptr_equal(first_acc, memory[0]);
	assert_int_equal(user_op_remove(op), CHOIR_SUCCESS);
}

/* The second of two ranks that reduce in place where the other's memory is out of reach: its own is the second source,
 * and that is where a block is folded if the operands may be swapped. */
static void test_blocks_accumulate_in_the_second_source(void **state)
{
	enum { SHORT = 10 };
	choir_op op = create(NULL);

	(void)state;
	for (int swaps = 0; swaps < 2; swaps++)
		for (uint32_t n_src = 2; n_src <= 3; n_src++) {
			struct reduce_call call = call_of(op, n_src, 2);
			const void *src[] = { memory[0], memory[1], memory[2] };
			void *dst[] = { memory[MOST], memory[1] };

			call.count = SHORT;
			for (int64_t i = 0; i < SHORT; i++) {
				memory[0][i] = i;
				memory[1][i] = 100 + i;
				memory[2][i] = 7;
				wanted[i] = swaps ? 3 * (100 + i) + i : 3 * i + 100 + i;
				wanted[i] = n_src == 3 ? 3 * wanted[i] + 7 : wanted[i];
			}
			first_acc = NULL;
			user_op_reduce(&call, swaps, dst, src);
			assert_ptr_equal(first_acc, dst[swaps]);
			assert_memory_equal(dst[0], wanted, SHORT * sizeof *wanted);
			assert_memory_equal(dst[1], wanted, SHORT * sizeof *wanted);
		}
	assert_int_equal(user_op_remove(op), CHOIR_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources_that_are_destinations),
		cmocka_unit_test(test_blocks_accumulate_in_the_first_source),
		cmocka_unit_test(test_blocks_accumulate_in_the_second_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
