/* SPDX-License-Identifier: MIT */
/* Chooses the device of a rank for choir_device_create_default. */
#include "dev/dev.h"

#include "base/ascii.h"
#include "base/plural.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Without regard to case, as strcasestr does, which is an extension. */
static bool text_contains(const char *text, const char *part)
{
	while (*text != '\0' && !ascii_begins(text, part))
		text++;
	return *text != '\0';
}

struct candidates {
	cl_platform_id platforms[32];
	cl_uint n_platforms;
};

static choir_status list_platforms(struct candidates *all)
{
	cl_int rc = clGetPlatformIDs(32, all->platforms, &all->n_platforms);

	if (rc == -1001 || (rc == CL_SUCCESS && all->n_platforms == 0))
		return error_set(CHOIR_OPENCL,
		                 "no OpenCL platform is installed (PoCL, package pocl-opencl-icd, runs on any CPU)");
	if (rc != CL_SUCCESS)
		return error_cl("clGetPlatformIDs", rc);
	if (all->n_platforms > 32)
		all->n_platforms = 32;
	return CHOIR_SUCCESS;
}

/* The index-th device of a type, counted over all platforms; the index wraps, and a negative one counts as 0. */
static bool nth_of_type(const struct candidates *all, cl_device_type type, int index, cl_device_id *out)
{
	cl_device_id found[256];
	cl_uint n_found = 0;

	for (cl_uint p = 0; p < all->n_platforms && n_found < 256; p++) {
		cl_uint n = 0;

		if (clGetDeviceIDs(all->platforms[p], type, 256 - n_found, found + n_found, &n) == CL_SUCCESS)
			n_found += n < 256 - n_found ? n : 256 - n_found;
	}
	if (n_found == 0)
		return false;
	*out = found[index > 0 ? (cl_uint)index % n_found : 0];
	return true;
}

/* The local_rank-th GPU, else the first CPU device: several CPU runtimes on one machine share its cores. */
static bool choose(const struct candidates *all, int local_rank, cl_device_id *out)
{
	return nth_of_type(all, CL_DEVICE_TYPE_GPU, local_rank, out) || nth_of_type(all, CL_DEVICE_TYPE_CPU, 0, out) ||
	       nth_of_type(all, CL_DEVICE_TYPE_ALL, local_rank, out);
}

static choir_status choose_by_number(const struct candidates *all, unsigned platform, unsigned device,
                                     cl_device_id *out)
{
	cl_device_id ids[256];
	cl_uint n = 0;

	if (platform >= all->n_platforms)
		return error_set(CHOIR_ARGUMENT, "CHOIR_DEVICE=%u:%u: the machine has %u platform%s", platform, device,
		                 all->n_platforms, plural(all->n_platforms));
	if (clGetDeviceIDs(all->platforms[platform], CL_DEVICE_TYPE_ALL, 256, ids, &n) != CL_SUCCESS || device >= n)
		return error_set(CHOIR_ARGUMENT, "CHOIR_DEVICE=%u:%u: platform %u has %u device%s", platform, device,
		                 platform, n, plural(n));
	*out = ids[device];
	return CHOIR_SUCCESS;
}

static choir_status choose_by_name(const struct candidates *all, const char *part, int local_rank, cl_device_id *out)
{
	struct candidates fitting = { .n_platforms = 0 };

	for (cl_uint p = 0; p < all->n_platforms; p++) {
		char name[256] = "";

		if (clGetPlatformInfo(all->platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
		    text_contains(name, part))
			fitting.platforms[fitting.n_platforms++] = all->platforms[p];
	}
	if (fitting.n_platforms == 0)
		return error_set(CHOIR_ARGUMENT,
		                 "CHOIR_DEVICE=%s: no platform's name contains that (choir-info lists them)", part);
	if (!choose(&fitting, local_rank, out))
		return error_set(CHOIR_OPENCL, "CHOIR_DEVICE=%s: the platform has no device", part);
	return CHOIR_SUCCESS;
}

static choir_status choose_default(int local_rank, cl_device_id *out)
{
	struct candidates all;
	const char *wanted = getenv("CHOIR_DEVICE");
	unsigned platform, device;
	char rest;

	TRY(list_platforms(&all));
	if (wanted != NULL && sscanf(wanted, "%u:%u%c", &platform, &device, &rest) == 2)
		return choose_by_number(&all, platform, device, out);
	if (wanted != NULL && wanted[0] != '\0')
		return choose_by_name(&all, wanted, local_rank, out);
	if (!choose(&all, local_rank, out))
		return error_set(CHOIR_OPENCL, "the %u OpenCL platforms installed have no device", all.n_platforms);
	return CHOIR_SUCCESS;
}

choir_status choir_device_create_default(int local_rank, choir_device **out_p)
{
	cl_device_id id = NULL;
	cl_int rc;

	if (out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_device_create_default: null out_p");
	if (local_rank < 0)
		return error_set(CHOIR_ARGUMENT, "choir_device_create_default: local_rank is %d", local_rank);
	TRY(choose_default(local_rank, &id));
	cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	if (rc != CL_SUCCESS)
		return error_cl("clCreateContext", rc);
	choir_status st = choir_device_create(context, id, NULL, out_p);
	clReleaseContext(context); /* the device keeps its own reference */
	return st;
}
