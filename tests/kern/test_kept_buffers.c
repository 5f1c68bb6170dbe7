/* SPDX-License-Identifier: MIT */
/* The buffers that a device keeps: the next who needs one gets it, what is too much is freed, and all where no other
 * can be created, or with the device. */
#include "dev_fixture.h"

#include <stdatomic.h>

enum { BYTES = 100000, MOST_BYTES = 256 << 20 };

static int created, to_fail;
static atomic_int freed;

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);

static void CL_CALLBACK count_freed(cl_mem mem, void *unused)
{
	(void)mem;
	(void)unused;
	atomic_fetch_add(&freed, 1);
}

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc)
{
	cl_mem mem;

	if (to_fail > 0) {
		to_fail--;
		*rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;
		return NULL;
	}
	created++;
	mem = __real_clCreateBuffer(context, flags, bytes, host, rc);
	if (mem != NULL)
		clSetMemObjectDestructorCallback(mem, count_freed, NULL);
	return mem;
}

static struct dev_buffer taken(choir_device *device, uint64_t bytes)
{
	struct dev_buffer buffer;

	assert_ok(dev_buffer_take(device, bytes, &buffer));
	assert_non_null(buffer.mem);
	assert_true(buffer.bytes >= bytes);
	return buffer;
}

static choir_device *fresh(void)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);

	assert_non_null(device);
	assert_true(device->buffers.most_bytes <= MOST_BYTES);
	device->buffers.most_bytes = 8 * BYTES; /* none with the address sanitizer */
	created = 0;
	atomic_store(&freed, 0);
	return device;
}

static void test_next_gets_it(void **state)
{
	choir_device *device = fresh();
	struct dev_buffer a = taken(device, BYTES), b;
	cl_mem first = a.mem;

	(void)state;
	dev_buffer_give(device, &a);
	assert_null(a.mem);
	assert_int_equal(freed, 0);
	a = taken(device, BYTES + 1000); /* a little more than before */
	assert_ptr_equal(a.mem, first);
	assert_int_equal(created, 1);
	b = taken(device, BYTES); /* the other one is in use */
	assert_ptr_not_equal(b.mem, first);
	dev_buffer_give(device, &a);
	dev_buffer_give(device, &b);
	a = taken(device, BYTES / 8); /* the kept ones are far larger */
	assert_int_equal(created, 3);
	dev_buffer_give(device, &a);
	choir_device_destroy(device);
	assert_int_equal(freed, created);
}

static void test_too_much(void **state)
{
	choir_device *device = fresh();
	struct dev_buffer a, b, c;
	cl_mem last;

	(void)state;
	device->buffers.most_bytes = 4 * BYTES;
	a = taken(device, BYTES / 2);
	b = taken(device, 5 * BYTES);
	c = taken(device, 2 * BYTES);
	dev_buffer_give(device, &b); /* more than all */
	assert_int_equal(freed, 1);
	dev_buffer_give(device, &a);
	dev_buffer_give(device, &c);
	assert_int_equal(freed, 1);
	b = taken(device, 3 * BYTES);
	last = b.mem;
	dev_buffer_give(device, &b); /* in the place of the second, since without it there is room */
	assert_int_equal(freed, 2);
	b = taken(device, 2 * BYTES);
	assert_ptr_equal(b.mem, last);
	dev_buffer_give(device, &b);
	choir_device_destroy(device);
	assert_int_equal(freed, created);
}

static void test_no_memory(void **state)
{
	choir_device *device = fresh();
	struct dev_buffer a, b, c = { 0 };

	(void)state;
	a = taken(device, BYTES);
	b = taken(device, BYTES);
	dev_buffer_give(device, &a);
	dev_buffer_give(device, &b);
	to_fail = 1; /* one of the two goes, and there is room */
	c = taken(device, 4 * BYTES);
	assert_int_equal(freed, 1);
	dev_buffer_give(device, &c);
	to_fail = 3; /* both go: not enough */
	assert_int_equal(dev_buffer_take(device, 40 * BYTES, &c), CHOIR_NO_MEMORY);
	assert_null(c.mem);
	assert_int_equal(freed, 3);
	choir_device_destroy(device);
	assert_int_equal(freed, created);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_next_gets_it), cmocka_unit_test(test_too_much),
		                            cmocka_unit_test(test_no_memory) };

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
