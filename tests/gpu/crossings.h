/* SPDX-License-Identifier: MIT */
/* Bytes that crossed the model's bus by copies from and to host memory, for tests: pinned memory, and pageable memory,
 * which a driver copies once more; and those between devices. */
#ifndef GPU_CROSSINGS_H
#define GPU_CROSSINGS_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct crossings {
	uint64_t pinned_up, pinned_down, pageable_up, pageable_down;
	uint64_t peer; /* copies from one device to another */
};
typedef void(CL_API_CALL *crossings_fn)(struct crossings *out);
#define CROSSINGS_NAME "clGetCrossingsMODEL"

/* What crossed until now; false: the device is none of the model's. */
static inline bool crossings_get(cl_device_id device, struct crossings *out)
{
	cl_platform_id platform;
	crossings_fn get = NULL;

	if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
		return false;
	void *fn = clGetExtensionFunctionAddressForPlatform(platform, CROSSINGS_NAME);
	if (fn == NULL)
		return false;
	memcpy(&get, &fn, sizeof fn);
	get(out);
	return true;
}

#endif
