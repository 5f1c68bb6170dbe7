/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "world.h"

#include <stdio.h>

enum { MAX_LISTED = 64 };

static bool any_platform(void)
{
	cl_uint n = 0;

	return clGetPlatformIDs(0, NULL, &n) == CL_SUCCESS && n > 0;
}

/* "P:D" as choir-info numbers them: the order of clGetPlatformIDs and clGetDeviceIDs. */
static bool find_device(const char *place, cl_device_id *out)
{
	cl_platform_id platforms[MAX_LISTED];
	cl_device_id devices[MAX_LISTED];
	cl_uint n = 0;
	unsigned p, d;
	char end;

	if (sscanf(place, "%u:%u%c", &p, &d, &end) != 2)
		return false;
	if (clGetPlatformIDs(MAX_LISTED, platforms, &n) != CL_SUCCESS || p >= n || p >= MAX_LISTED)
		return false;
	if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_LISTED, devices, &n) != CL_SUCCESS || d >= n ||
	    d >= MAX_LISTED)
		return false;
	*out = devices[d];
	return true;
}

static choir_status open_device(cl_device_id device, choir_device **out_p)
{
	cl_int rc;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	choir_status st;

	if (rc != CL_SUCCESS) {
		fprintf(stderr, "choir-bench: clCreateContext: error %d\n", rc);
		return CHOIR_OPENCL;
	}
	st = choir_device_create(context, device, NULL, out_p);
	clReleaseContext(context);
	return st;
}

int place_device(const struct args *args, int local_rank, choir_device **out_p)
{
	const char *place = args->n_devices > 0 ? args->devices[local_rank % args->n_devices] : NULL;
	cl_device_id device;
	choir_status st;

	if (!any_platform()) {
		fprintf(stderr, "choir-bench: there is no OpenCL device\n");
		return EXIT_NO_DEVICE;
	}
	if (place != NULL && !find_device(place, &device)) {
		fprintf(stderr, "choir-bench: --devices: there is no device '%s'; choir-info lists them\n", place);
		return EXIT_USAGE;
	}
	st = place != NULL ? open_device(device, out_p) : choir_device_create_default(local_rank, out_p);
	if (st == CHOIR_SUCCESS)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: %s: %s\n", choir_status_name(st), choir_last_error());
	return EXIT_NO_DEVICE;
}
