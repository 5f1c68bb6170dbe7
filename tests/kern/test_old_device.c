/* SPDX-License-Identifier: MIT */
/* A device whose driver speaks an OpenCL before 1.2 is refused when it is made, not in the middle of a call. */
#include <choir/choir.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *version; /* that devices say they have; NULL: theirs */

cl_int __real_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out, size_t *bytes_p);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out, size_t *bytes_p);
cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out, size_t *bytes_p)
{
	if (what != CL_DEVICE_VERSION || version == NULL)
		return __real_clGetDeviceInfo(device, what, room, out, bytes_p);
	snprintf(out, room, "%s", version);
	return CL_SUCCESS;
}

static void old_devices_are_refused(void **state)
{
	static const char *const old[] = { "OpenCL 1.0 x", "OpenCL 1.1 Mesa 22.3.6", "" }, *const fit[] = {
		"OpenCL 1.2 x", "OpenCL 3.0 x"
	};
	choir_device *device = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
		version = old[i];
		assert_int_equal(choir_device_create_default(0, &device), CHOIR_UNSUPPORTED);
		assert_non_null(strstr(choir_last_error(), version));
		assert_non_null(strstr(choir_last_error(), "1.2"));
		assert_null(device);
	}
	for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
		version = fit[i];
		assert_int_equal(choir_device_create_default(0, &device), CHOIR_SUCCESS);
		choir_device_destroy(device);
		device = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(old_devices_are_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
