/* SPDX-License-Identifier: MIT */
/* Which buffers of a call may share bytes: those that are all read.  A copy that is given up leaves nothing mapped. */
#include "look.h"
#include "topk/operand.h"

#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BYTES = 4096, MOST = 12, ROUNDS = 4000 };

static struct operand operand_at(unsigned char *memory, uint64_t from, uint64_t bytes, bool write)
{
	return (struct operand){ .role = write ? "out" : "in",
		                 .buffer = choir_host(memory + from),
		                 .bytes = bytes,
		                 .elem_bytes = 1,
		                 .read = !write,
		                 .write = write };
}

/* Every two of them, in the plainest way. */
static bool may_be(const struct operand *operands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			const unsigned char *a = operands[i].buffer.base, *b = operands[j].buffer.base;

			bool written = operands[i].write || operands[j].write,
			     empty = operands[i].bytes == 0 || operands[j].bytes == 0;

			if (written && !empty && a < b + operands[j].bytes && b < a + operands[i].bytes)
				return false;
		}
	return true;
}

static void random_spans(void **state)
{
	unsigned char *memory = calloc(1, BYTES);
	struct operand operands[MOST];
	int n_good = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = 1 + (size_t)rand() % MOST;
		bool good;

		for (size_t i = 0; i < n; i++) {
			uint64_t bytes = (uint64_t)rand() % (rand() % 8 == 0 ? BYTES / 2 : BYTES / 32);

			operands[i] = operand_at(memory, (uint64_t)rand() % (BYTES - bytes), bytes, rand() % 3 == 0);
		}
		good = may_be(operands, n);
		n_good += good;
		assert_int_equal(operands_check("test", world_device(), operands, n),
		                 good ? CHOIR_SUCCESS : CHOIR_ARGUMENT);
	}
	assert_true(n_good > ROUNDS / 8 && n_good < ROUNDS * 7 / 8);
	free(memory);
}

/* The long one reaches over the short one between them. */
static void over_another(void **state)
{
	unsigned char memory[100] = { 0 };
	struct operand operands[] = { operand_at(memory, 50, 10, true), operand_at(memory, 0, 100, false),
		                      operand_at(memory, 10, 10, false) };

	(void)state;
	assert_int_equal(operands_check("test", world_device(), operands, 3), CHOIR_ARGUMENT);
	assert_string_equal(choir_last_error(), "test: out and in overlap");
	operands[0].write = false;
	assert_int_equal(operands_check("test", world_device(), operands, 3), CHOIR_SUCCESS);
}

static cl_uint maps_of(cl_mem mem)
{
	cl_uint n = 99;

	assert_int_equal(clGetMemObjectInfo(mem, CL_MEM_MAP_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
	return n;
}

/* Given up before its first step, while it is mapped and its bytes are not copied, and at its end. */
static void given_up(void **state)
{
	choir_device *device = world_device();
	unsigned char host[BYTES];

	(void)state;
	for (int when = 0; when < 3; when++) {
		struct dev_access access = { .bytes = BYTES };
		struct transfer transfer;
		bool done = false;

		access.mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, BYTES, NULL, NULL);
		transfer_init(&transfer, device, &access, host, BYTES, false);
		for (; when > 0 && transfer_copies(&transfer) == 0; look_again(done))
			assert_int_equal(transfer_step(&transfer, &done), CHOIR_SUCCESS);
		if (when == 2)
			assert_int_equal(transfer_copy(&transfer), CHOIR_SUCCESS);
		for (; when == 2 && !done; look_again(done))
			assert_int_equal(transfer_step(&transfer, &done), CHOIR_SUCCESS);
		transfer_fini(&transfer);
		assert_int_equal(maps_of(access.mem), 0);
		clReleaseMemObject(access.mem);
	}
}

static int end(void **state)
{
	(void)state;
	world_device_drop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_spans), cmocka_unit_test(over_another),
		                            cmocka_unit_test(given_up) };

	return cmocka_run_group_tests(tests, NULL, end);
}
