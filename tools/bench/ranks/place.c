/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "world.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LISTED = 64 };

static bool any_platform(void)
{
	cl_uint n = 0;

	return clGetPlatformIDs(0, NULL, &n) == CL_SUCCESS && n > 0;
}

/* Parts of a device by affinity domain, as a GPU's tiles are, else parts of half its compute units; 0: it has none. */
static cl_uint divide(cl_device_id device, cl_device_id *parts)
{
	cl_device_partition_property ways[][3] = {
		{ CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE, 0 },
		{ CL_DEVICE_PARTITION_EQUALLY, 0, 0 },
	};
	cl_uint units = 0, most = 0, n = 0;

	clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL);
	clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
	ways[1][1] = units / 2;
	for (int i = 0; i < 2 && most > 1 && units > 1; i++)
		if (clCreateSubDevices(device, ways[i], 0, NULL, &n) == CL_SUCCESS && n > 1 && n <= MAX_LISTED &&
		    clCreateSubDevices(device, ways[i], n, parts, NULL) == CL_SUCCESS)
			return n;
	return 0;
}

/* A sub-device, the caller's to release. */
static bool find_part(cl_device_id device, unsigned part, cl_device_id *out)
{
	cl_device_id parts[MAX_LISTED];
	cl_uint n = divide(device, parts);

	for (cl_uint i = 0; i < n; i++)
		if (i != part)
			clReleaseDevice(parts[i]);
	if (part < n)
		*out = parts[part];
	return part < n;
}

/* "P:D" as choir-info numbers them: the order of clGetPlatformIDs and clGetDeviceIDs. */
static bool list_device(unsigned p, unsigned d, cl_device_id *out)
{
	cl_platform_id platforms[MAX_LISTED];
	cl_device_id devices[MAX_LISTED];
	cl_uint n = 0;

	if (clGetPlatformIDs(MAX_LISTED, platforms, &n) != CL_SUCCESS || p >= n || p >= MAX_LISTED)
		return false;
	if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_LISTED, devices, &n) != CL_SUCCESS || d >= n ||
	    d >= MAX_LISTED)
		return false;
	*out = devices[d];
	return true;
}

/* "P:D", or "P:D.S", a sub-device of it.  An exit status. */
static int find_device(const char *place, cl_device_id *out)
{
	unsigned p, d, part;
	char dot = '.', end;
	int read = sscanf(place, "%u:%u%c%u%c", &p, &d, &dot, &part, &end);

	if ((read != 2 && read != 4) || dot != '.' || !list_device(p, d, out)) {
		fprintf(stderr, "choir-bench: --devices: there is no device '%s'; choir-info lists them\n", place);
		return EXIT_USAGE;
	}
	if (read == 2 || find_part(*out, part, out))
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: --devices: the device of '%s' has no sub-device %u\n", place, part);
	return EXIT_NO_DEVICE;
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
	if (place != NULL) {
		int status = find_device(place, &device);

		if (status != EXIT_FINE)
			return status;
	}
	st = place != NULL ? open_device(device, out_p) : choir_device_create_default(local_rank, out_p);
	if (place != NULL)
		clReleaseDevice(device); /* its context holds a sub-device; of others this does nothing */
	if (st == CHOIR_SUCCESS)
		return EXIT_FINE;
	fprintf(stderr, "choir-bench: %s: %s\n", choir_status_name(st), choir_last_error());
	return EXIT_NO_DEVICE;
}

/* The ids of n devices, each once; 0: of several platforms. */
static cl_uint ids_of(int n, choir_device *const *devices, cl_device_id *ids)
{
	cl_platform_id platform, first = NULL;
	cl_uint n_ids = 0, at;

	for (int r = 0; r < n; r++) {
		cl_device_id id = choir_device_id(devices[r]);

		if (clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
			return 0;
		first = first != NULL ? first : platform;
		if (platform != first)
			return 0;
		for (at = 0; at < n_ids && ids[at] != id; at++)
			;
		ids[at] = id;
		n_ids += at == n_ids;
	}
	return n_ids;
}

/* In place of the devices, their twins in that context; all or none. */
static void move_to(cl_context context, int n, choir_device **devices, choir_device **twins)
{
	int made = 0;

	while (made < n &&
	       choir_device_create(context, choir_device_id(devices[made]), NULL, &twins[made]) == CHOIR_SUCCESS)
		made++;
	for (int r = 0; r < made; r++) {
		choir_device_destroy(made == n ? devices[r] : twins[r]);
		if (made == n)
			devices[r] = twins[r];
	}
}

static void share_context(int n, choir_device **devices)
{
	cl_device_id *ids = calloc((size_t)n, sizeof *ids);
	choir_device **twins = calloc((size_t)n, sizeof *twins);
	cl_uint n_ids = ids != NULL && twins != NULL ? ids_of(n, devices, ids) : 0;
	cl_int rc;

	if (n_ids > 0) {
		cl_context context = clCreateContext(NULL, n_ids, ids, NULL, NULL, &rc);

		if (rc == CL_SUCCESS) {
			move_to(context, n, devices, twins);
			clReleaseContext(context);
		}
	}
	free(ids);
	free(twins);
}

int place_devices(const struct args *args, int n, choir_device **out)
{
	for (int r = 0; r < n; r++) {
		int status = place_device(args, r, &out[r]);

		if (status != EXIT_FINE)
			return status;
	}
	if (n > 1)
		share_context(n, out);
	return EXIT_FINE;
}
