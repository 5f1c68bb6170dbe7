/* SPDX-License-Identifier: MIT */
/* Launches of cl/copy.cl. */
#include "base/arithmetic.h"
#include "dev/device_impl.h"
#include "dev/launch.h"

#define SOURCE      "copy.cl"
#define LINE_BYTES  16
#define GROUP_ITEMS 256

static choir_status launch_copy(choir_device *device, const char *name, struct dev_bytes to, struct dev_bytes from,
                                cl_ulong count, cl_event *event_p)
{
	size_t group;
	choir_status st;
	cl_kernel kernel;
	cl_int rc;

	TRY(dev_kernel_take(device, SOURCE, "", name, &kernel));
	group = launch_kernel_group(device, kernel, GROUP_ITEMS);
	rc = dev_room_argument(device, kernel, 0, &to);
	if (rc == CL_SUCCESS)
		rc = dev_room_argument(device, kernel, 1, &from);
	if (rc == CL_SUCCESS)
		rc = clSetKernelArg(kernel, 2, sizeof count, &count);
	st = rc == CL_SUCCESS ? dev_launch(device, kernel, round_up(count, group), group, event_p)
	                      : error_cl("clSetKernelArg", rc);
	dev_kernel_give(device, SOURCE, "", name, kernel);
	return st;
}

choir_status dev_copy_rooms(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                            cl_event *event_p)
{
	const char *name = to.mem != NULL ? "copy_to_mem" : from.mem != NULL ? "copy_from_mem" : "copy_pointers";

	return launch_copy(device, name, to, from, (bytes + LINE_BYTES - 1) / LINE_BYTES, event_p);
}

choir_status dev_copy_svm_warm(choir_device *device)
{
	static const char name[] = "bytes_to_mem";
	cl_kernel kernel;

	TRY(dev_kernel_take(device, SOURCE, "", name, &kernel));
	dev_kernel_give(device, SOURCE, "", name, kernel);
	return CHOIR_SUCCESS;
}

choir_status dev_copy_svm(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                          cl_event *event_p)
{
	return launch_copy(device, to.mem != NULL ? "bytes_to_mem" : "bytes_from_mem", to, from, bytes, event_p);
}
