/* SPDX-License-Identifier: MIT */
/* Devices: creation, configuration, description; the other files hold memory, ranges, pointers and programs. */
#include "dev_fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_create_arguments(void **state)
{
	cl_context context = choir_device_context(fixture_device);
	cl_device_id id = choir_device_id(fixture_device);
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *device = NULL;

	(void)state;
	assert_fails(choir_device_create(NULL, id, NULL, &device), CHOIR_ARGUMENT, "context");
	assert_fails(choir_device_create(context, NULL, NULL, &device), CHOIR_ARGUMENT, "device");
	assert_fails(choir_device_create(context, id, NULL, NULL), CHOIR_ARGUMENT, "out_p");
	assert_fails(choir_device_create(context, (cl_device_id)context, NULL, &device), CHOIR_ARGUMENT, "not one of");
	config.struct_size = 4;
	assert_fails(choir_device_create(context, id, &config, &device), CHOIR_ARGUMENT, "struct_size");
	config = (choir_device_config)CHOIR_DEVICE_CONFIG_INIT;
	config.memory_class = 7;
	assert_fails(choir_device_create(context, id, &config, &device), CHOIR_ARGUMENT, "memory_class");
	config.memory_class = CHOIR_CLASS_AUTO;
	config.reduce = 9;
	assert_fails(choir_device_create(context, id, &config, &device), CHOIR_ARGUMENT, "reduce");
	assert_null(device);
	assert_fails(choir_device_create_default(-1, &device), CHOIR_ARGUMENT, "local_rank");
	assert_fails(choir_device_create_default(0, NULL), CHOIR_ARGUMENT, "out_p");
	choir_device_destroy(NULL);
	assert_null(choir_device_context(NULL));
}

static void test_queue(void **state)
{
	cl_command_queue queue = NULL;
	choir_device *device = NULL;

	(void)state;
	assert_ok(queue_create(fixture_device, &queue));
	assert_fails(choir_device_create_queue(NULL, NULL, &device), CHOIR_ARGUMENT, "null queue");
	assert_fails(choir_device_create_queue(queue, NULL, NULL), CHOIR_ARGUMENT, "null out_p");
	assert_ok(choir_device_create_queue(queue, NULL, &device));
	clReleaseCommandQueue(queue); /* the device outlives it */
	assert_ptr_equal(choir_device_context(device), choir_device_context(fixture_device));
	assert_ptr_equal(choir_device_id(device), choir_device_id(fixture_device));
	assert_int_equal(choir_device_class(device), choir_device_class(fixture_device));
	choir_device_destroy(device);
}

static void test_environment(void **state)
{
	cl_context context = choir_device_context(fixture_device);
	cl_device_id id = choir_device_id(fixture_device);
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *device;

	(void)state;
	setenv("CHOIR_CLASS", "Stage", 1);
	setenv("CHOIR_REDUCE", "kernel", 1);
	assert_ok(choir_device_create(context, id, NULL, &device));
	assert_int_equal(choir_device_class(device), CHOIR_CLASS_STAGE);
	assert_int_equal(dev_reduce_where(device), CHOIR_REDUCE_KERNEL);
	choir_device_destroy(device);
	config.memory_class = CHOIR_CLASS_MAP; /* what the program says counts more */
	config.reduce = CHOIR_REDUCE_HOST;
	assert_ok(choir_device_create(context, id, &config, &device));
	assert_int_equal(choir_device_class(device), CHOIR_CLASS_MAP);
	assert_int_equal(dev_reduce_where(device), CHOIR_REDUCE_HOST);
	choir_device_destroy(device);
	setenv("CHOIR_CLASS", "fast", 1);
	assert_fails(choir_device_create(context, id, NULL, &device), CHOIR_ARGUMENT, "CHOIR_CLASS is 'fast'");
	unsetenv("CHOIR_CLASS");
	unsetenv("CHOIR_REDUCE");
}

static void test_default_choice(void **state)
{
	char part[8] = "", words[48];
	choir_device *device = NULL;
	cl_platform_id platform;
	cl_uint n_platforms, n_devices;

	(void)state;
	setenv("CHOIR_DEVICE", "0:0", 1);
	assert_ok(choir_device_create_default(5, &device));
	choir_device_destroy(device);
	memcpy(part, fixture_device->facts.platform, sizeof part - 1);
	setenv("CHOIR_DEVICE", part, 1);
	assert_ok(choir_device_create_default(0, &device));
	assert_string_equal(device->facts.platform, fixture_device->facts.platform);
	choir_device_destroy(device);
	device = NULL;
	setenv("CHOIR_DEVICE", "99:0", 1);
	assert_int_equal(clGetPlatformIDs(1, &platform, &n_platforms), CL_SUCCESS);
	assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n_devices), CL_SUCCESS);
	assert_fails(choir_device_create_default(0, &device), CHOIR_ARGUMENT, "99:0: the machine has ");
	assert_string_equal(strstr(choir_last_error(), " platform"), n_platforms == 1 ? " platform" : " platforms");
	setenv("CHOIR_DEVICE", "0:99", 1);
	snprintf(words, sizeof words, "platform 0 has %u ", n_devices);
	assert_fails(choir_device_create_default(0, &device), CHOIR_ARGUMENT, words);
	assert_string_equal(strstr(choir_last_error(), " device"), n_devices == 1 ? " device" : " devices");
	setenv("CHOIR_DEVICE", "no such platform", 1);
	assert_fails(choir_device_create_default(0, &device), CHOIR_ARGUMENT, "no such platform");
	assert_null(device);
	unsetenv("CHOIR_DEVICE");
}

static void test_json(void **state)
{
	char *text = NULL;

	(void)state;
	assert_ok(choir_device_json(fixture_device, &text));
	json_t *object = json_loads(text, 0, NULL);
	assert_non_null(object);
	assert_string_equal(json_string_value(json_object_get(object, "name")), fixture_device->facts.name);
	assert_string_equal(json_string_value(json_object_get(object, "class")),
	                    choir_memory_class_name(choir_device_class(fixture_device)));
	assert_true(json_is_boolean(json_object_get(json_object_get(object, "svm"), "fine_buffer")));
	assert_true(json_integer_value(json_object_get(object, "compute_units")) > 0);
	json_decref(object);
	free(text);
	assert_fails(choir_device_json(NULL, &text), CHOIR_ARGUMENT, "device");
	assert_string_equal(choir_memory_class_name(CHOIR_CLASS_STAGE), "stage");
	assert_string_equal(choir_memory_class_name(99), "unknown");
}

static void test_errors_have_names(void **state)
{
	(void)state;
	assert_fails(error_cl("clFoo", CL_INVALID_KERNEL_ARGS), CHOIR_OPENCL, "clFoo: CL_INVALID_KERNEL_ARGS (-52)");
	assert_fails(error_cl("clFoo", CL_MEM_OBJECT_ALLOCATION_FAILURE), CHOIR_NO_MEMORY,
	             "CL_MEM_OBJECT_ALLOCATION_FAILURE");
	assert_string_equal(cl_error_name(-4711), "an unknown OpenCL error");
}

/* A reference keeps the device; the last one out frees it (a sanitizer would tell). */
static void test_retain(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);

	(void)state;
	assert_ptr_equal(dev_retain(device), device);
	choir_device_destroy(device);
	assert_int_equal(choir_device_class(device), CHOIR_CLASS_STAGE);
	choir_device_destroy(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_arguments),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_default_choice),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_retain),
		cmocka_unit_test(test_errors_have_names),
	};
	int failed = cmocka_run_group_tests_name("device", tests, fixture_set_up, fixture_tear_down);

	failed += _cmocka_run_group_tests("memory", memory_tests, n_memory_tests, fixture_set_up, fixture_tear_down);
	failed += _cmocka_run_group_tests("pointer", pointer_tests, n_pointer_tests, fixture_set_up, fixture_tear_down);
	failed += _cmocka_run_group_tests("range", range_tests, n_range_tests, fixture_set_up, fixture_tear_down);
	failed += _cmocka_run_group_tests("program", program_tests, n_program_tests, fixture_set_up, fixture_tear_down);
	failed += _cmocka_run_group_tests("stage", stage_tests, n_stage_tests, fixture_set_up, fixture_tear_down);
	return failed;
}
