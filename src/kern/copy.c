/* SPDX-License-Identifier: MIT */
/* Launches of cl/copy.cl. */
#include "kern/copy.h"

#include "base/arithmetic.h"
#include "dev/launch.h"

#define SOURCE      "copy.cl"
#define LINE_BYTES  16
#define GROUP_ITEMS 256

static const char *kernel_for(struct dev_bytes to, struct dev_bytes from)
{
	if (to.mem != NULL)
		return "copy_to_mem";
	return from.mem != NULL ? "copy_from_mem" : "copy_pointers";
}

choir_status copy_kernel_start(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                               cl_event *event_p)
{
	size_t group;
	cl_ulong count = (bytes + LINE_BYTES - 1) / LINE_BYTES;
	const char *name = kernel_for(to, from);
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
