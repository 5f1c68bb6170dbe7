/* SPDX-License-Identifier: MIT */
/* Programs, kernels, and launches from several threads. */
#include "dev_fixture.h"

#include "embedded.h"
#include "kern/reduce.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS "-D DTYPE=I32 -D OP=SUM"

static void test_embedded(void **state)
{
	const char *text = embedded_source("reduce.cl");

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "__kernel void reduce_two"));
	assert_non_null(strstr(text, "OPS(identity)")); /* ops.h is pasted in */
	assert_null(strstr(text, "#include \"ops.h\""));
	assert_null(embedded_source("nothing.cl"));
}

static void test_take_and_give(void **state)
{
	cl_kernel first, second, again;

	(void)state;
	assert_ok(dev_kernel_take(fixture_device, "reduce.cl", OPTIONS, "reduce_two", &first));
	assert_ok(dev_kernel_take(fixture_device, "reduce.cl", OPTIONS, "reduce_two", &second));
	assert_ptr_not_equal(first, second); /* each taker has its own */
	dev_kernel_give(fixture_device, "reduce.cl", OPTIONS, "reduce_two", first);
	assert_ok(dev_kernel_take(fixture_device, "reduce.cl", OPTIONS, "reduce_many", &again));
	assert_ptr_not_equal(again, first);
	dev_kernel_give(fixture_device, "reduce.cl", OPTIONS, "reduce_many", again);
	assert_ok(dev_kernel_take(fixture_device, "reduce.cl", OPTIONS, "reduce_two", &again));
	assert_ptr_equal(again, first);
	dev_kernel_give(fixture_device, "reduce.cl", OPTIONS, "reduce_two", again);
	dev_kernel_give(fixture_device, "reduce.cl", OPTIONS, "reduce_two", second);
}

static void test_failures(void **state)
{
	cl_kernel kernel = NULL;

	(void)state;
	assert_fails(dev_kernel_take(fixture_device, "nothing.cl", "", "k", &kernel), CHOIR_ARGUMENT, "nothing.cl");
	assert_fails(dev_kernel_take(fixture_device, "reduce.cl", "-D OP=SUM", "reduce_two", &kernel), CHOIR_OPENCL,
	             "reduce.cl (-D OP=SUM)");
	assert_fails(dev_kernel_take(fixture_device, "reduce.cl", "-D OP=SUM", "reduce_two", &kernel), CHOIR_OPENCL,
	             "CL_BUILD_PROGRAM_FAILURE");
	assert_fails(dev_kernel_take(fixture_device, "reduce.cl", "-D DTYPE=F33 -D OP=SUM", "reduce_two", &kernel),
	             CHOIR_OPENCL, "F33");
	assert_fails(dev_kernel_take(fixture_device, "reduce.cl", "-D DTYPE=F32 -D OP=BXOR", "reduce_two", &kernel),
	             CHOIR_OPENCL, "BXOR");
	assert_fails(dev_kernel_take(fixture_device, "reduce.cl", OPTIONS, "no_such_kernel", &kernel), CHOIR_OPENCL,
	             "no_such_kernel");
	assert_null(kernel);
}

/* Some drivers run 65 535 groups of a launch and drop the others. */
static void test_many_groups(void **state)
{
	enum { LINES = 70001, LINE = 16 };
	static unsigned char from[(LINES + 1) * LINE], to[sizeof from], want[sizeof from];
	cl_ulong count = LINES;
	cl_mem source, target;
	cl_kernel kernel;
	cl_event event;

	(void)state;
	fixture_pattern(from, sizeof from, 1);
	fixture_pattern(to, sizeof to, 2);
	memcpy(want, to, sizeof want);
	memcpy(want, from, (size_t)LINES * LINE);
	assert_ok(dev_buffer_create(fixture_device, sizeof from, &source));
	assert_ok(dev_buffer_create(fixture_device, sizeof to, &target));
	fixture_poke(source, from, sizeof from);
	fixture_poke(target, to, sizeof to);
	assert_ok(dev_kernel_take(fixture_device, "copy.cl", "", "copy_to_mem", &kernel));
	assert_int_equal(clSetKernelArg(kernel, 0, sizeof target, &target), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 1, sizeof source, &source), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 2, sizeof count, &count), CL_SUCCESS);
	assert_ok(dev_launch(fixture_device, kernel, LINES + 1, 1, &event));
	assert_ok(dev_wait(&event));
	dev_kernel_give(fixture_device, "copy.cl", "", "copy_to_mem", kernel);
	fixture_peek(target, to, sizeof to);
	assert_memory_equal(to, want, sizeof want);
	dev_buffer_free(source);
	dev_buffer_free(target);
}

struct worker {
	choir_device *device;
	int32_t value;
	int wrong;
};

/* Its own buffers, the shared program (not built yet), arguments that differ from every other thread's. */
static void *reduce_many_times(void *ctx)
{
	enum { COUNT = 3000 };
	struct worker *worker = ctx;
	int32_t *host = malloc(COUNT * 4);
	cl_mem a, dst;

	worker->wrong = 1;
	if (host == NULL || dev_buffer_create(worker->device, COUNT * 4, &a) != CHOIR_SUCCESS ||
	    dev_buffer_create(worker->device, COUNT * 4, &dst) != CHOIR_SUCCESS)
		return NULL;
	worker->wrong = 0;
	for (int round = 0; round < 50; round++) {
		struct reduce_call call = { .dtype = CHOIR_I32,
			                    .op = CHOIR_OP_MEAN,
			                    .n_src = 3,
			                    .final = true,
			                    .n_ranks = 3,
			                    .n_dst = 1,
			                    .nt_from = 1,
			                    .count = COUNT };
		struct reduce_operand src[] = { { a, 0 }, { a, 0 }, { a, 0 } };
		struct dev_access in = dev_buffer_access(a, 0, COUNT * 4), out = dev_buffer_access(dst, 0, COUNT * 4);
		int32_t value = worker->value + round;
		cl_event event = NULL;

		for (int i = 0; i < COUNT; i++)
			host[i] = value;
		if (dev_write(worker->device, &in, 0, host, COUNT * 4, &event) != CHOIR_SUCCESS ||
		    dev_wait(&event) != CHOIR_SUCCESS ||
		    reduce_kernel_start(worker->device, &call, (struct reduce_operand){ dst, 0 }, src, NULL) !=
		        CHOIR_SUCCESS ||
		    dev_read(worker->device, &out, 0, host, COUNT * 4, &event) != CHOIR_SUCCESS ||
		    dev_wait(&event) != CHOIR_SUCCESS)
			worker->wrong++;
		for (int i = 0; i < COUNT; i++)
			worker->wrong += host[i] != value;
	}
	dev_buffer_free(a);
	dev_buffer_free(dst);
	free(host);
	return NULL;
}

static void test_threads(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	struct worker workers[4];
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .device = device, .value = 1000 * i };
		assert_int_equal(pthread_create(&threads[i], NULL, reduce_many_times, &workers[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(workers[i].wrong, 0);
	choir_device_destroy(device);
}

const struct CMUnitTest program_tests[] = {
	cmocka_unit_test(test_embedded),    cmocka_unit_test(test_take_and_give), cmocka_unit_test(test_failures),
	cmocka_unit_test(test_many_groups), cmocka_unit_test(test_threads),
};
const size_t n_program_tests = sizeof program_tests / sizeof *program_tests;
