/* SPDX-License-Identifier: MIT */
/* The memory that a rank allocates for a call grows with the number of ranks, not with its square: each rank on a node
 * of its own, and all on one node.  One rank alone is asked; the others say what it says. */
#include "sparse/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 16, RANGE = 4096, FEW = 64, MANY = 512, MOST_RATIO = 10 };

static uint64_t allocated;
static choir_device *device;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
int __real_posix_memalign(void **ptr_p, size_t align, size_t bytes);
int __wrap_posix_memalign(void **ptr_p, size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	allocated += bytes;
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	allocated += n * bytes;
	return __real_calloc(n, bytes);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	allocated += bytes;
	return __real_realloc(ptr, bytes);
}

int __wrap_posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
	allocated += bytes;
	return __real_posix_memalign(ptr_p, align, bytes);
}

static void ring(void *ctx)
{
	(void)ctx;
}

/* Each rank gives this one the first block of what it gives itself. */
static void carry_out(const struct script_turn *turn, int n)
{
	size_t bytes = turn->recv.bytes / (unsigned)n;

	for (int r = 0; r < n; r++)
		memcpy((unsigned char *)turn->recv.ptr + (size_t)r * bytes, turn->send.ptr, bytes);
}

/* Bytes allocated until that many plans have been asked for, or the call is done. */
static uint64_t bytes_for(const char *algorithm, int n, int n_nodes, int n_plans)
{
	int32_t ind[PAIRS] = { 0 };
	float val[PAIRS] = { 0 };
	size_t ind_count, val_count;
	struct sparse_call call = { .send_ind = choir_host(ind),
		                    .send_val = choir_host(val),
		                    .recv_ind = choir_host(ind),
		                    .recv_val = choir_host(val),
		                    .send_ind_count = PAIRS,
		                    .send_val_count = PAIRS,
		                    .recv_ind_count = &ind_count,
		                    .recv_val_count = &val_count,
		                    .ind_capacity = PAIRS,
		                    .val_capacity = PAIRS,
		                    .ind_dtype = CHOIR_I32,
		                    .val_dtype = CHOIR_F32,
		                    .op = CHOIR_OP_SUM,
		                    .attr = CHOIR_SPARSE_ATTR_INIT,
		                    .algorithm = algorithm };
	struct script_turn turn = { .what = SCRIPT_AGAIN };
	const struct script_ops *ops;
	struct script_env env;
	struct world world;
	int plans = 0;
	void *state;

	for (int i = 0; i < PAIRS; i++) {
		ind[i] = i * (RANGE / PAIRS);
		val[i] = 1;
	}
	world_init(&world, n, n_nodes, device);
	env = (struct script_env){ .layout = &world.layout,
		                   .device = device,
		                   .slot_bytes = world.slot_bytes,
		                   .message_bytes = 1 << 20,
		                   .wake = ring };
	allocated = 0;
	assert_int_equal(sparse_create(&env, &call, &ops, &state), CHOIR_SUCCESS);
	while (plans < n_plans && turn.what != SCRIPT_DONE) {
		if (turn.what == SCRIPT_PLAN)
			carry_out(&turn, n);
		assert_int_equal(ops->next(state, &turn), CHOIR_SUCCESS);
		plans += turn.what == SCRIPT_PLAN;
	}
	assert_true(plans == n_plans || n_nodes == 1);
	ops->destroy(state);
	world_fini(&world);
	return allocated;
}

static void test_linear(void **state)
{
	static const struct {
		const char *algorithm;
		int n_plans; /* the alltoallv is the last of them */
	} cases[] = { { "allgather", 2 }, { "split", 3 }, { "split_bitmap", 3 },      { "split_dense", 3 },
		      { "mask", 3 },      { "dense", 2 }, { "recursive_doubling", 2 } };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		const char *algorithm = cases[i / 2].algorithm;
		int n_plans = cases[i / 2].n_plans;
		bool near = i % 2 > 0;
		uint64_t few = bytes_for(algorithm, FEW, near ? 1 : FEW, n_plans),
			 many = bytes_for(algorithm, MANY, near ? 1 : MANY, n_plans);

		print_message("%s, %s: %llu bytes at %d ranks, %llu at %d\n", algorithm, near ? "one node" : "nodes",
		              (unsigned long long)few, FEW, (unsigned long long)many, MANY);
		assert_true(many <= few * MOST_RATIO);
	}
}

static int open_device(void **state)
{
	(void)state;
	return choir_device_create_host(&device);
}

static int close_device(void **state)
{
	(void)state;
	choir_device_destroy(device);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_linear) };

	return cmocka_run_group_tests(tests, open_device, close_device);
}
