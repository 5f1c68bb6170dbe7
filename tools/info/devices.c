/* SPDX-License-Identifier: MIT */
#include "info.h"

#include <choir/choir.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_LISTED = 64 };

static json_t *error_of(void)
{
	return json_pack("{s:s}", "error", choir_last_error());
}

json_t *info_object(choir_status st, char *text)
{
	json_t *object;

	if (st != CHOIR_SUCCESS)
		return error_of();
	object = json_loads(text, 0, NULL);
	free(text);
	return object != NULL ? object : json_pack("{s:s}", "error", "the library's text is no JSON");
}

static json_t *probe_of(cl_device_id id)
{
	choir_device *device;
	choir_status st;
	char *text = NULL;
	cl_int rc;
	cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	json_t *probe;

	if (rc != CL_SUCCESS)
		return json_pack("{s:s}", "error", "clCreateContext failed");
	st = choir_device_create(context, id, NULL, &device);
	clReleaseContext(context);
	if (st != CHOIR_SUCCESS)
		return error_of();
	st = choir_device_json(device, &text);
	probe = info_object(st, text);
	choir_device_destroy(device);
	return probe;
}

static json_t *string_of_device(cl_device_id id, cl_device_info what)
{
	char text[1024] = "";

	clGetDeviceInfo(id, what, sizeof text - 1, text, NULL);
	return json_string(text);
}

static json_t *string_of_platform(cl_platform_id id, cl_platform_info what)
{
	char text[1024] = "";

	clGetPlatformInfo(id, what, sizeof text - 1, text, NULL);
	return json_string(text);
}

static json_t *devices_of(cl_platform_id platform, unsigned p, bool probe)
{
	cl_device_id ids[MAX_LISTED];
	cl_uint n = 0;
	json_t *devices = json_array();

	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_LISTED, ids, &n) != CL_SUCCESS)
		return devices;
	for (unsigned d = 0; d < n && d < MAX_LISTED; d++) {
		json_t *device = json_object();
		char place[32];

		snprintf(place, sizeof place, "%u:%u", p, d);
		json_object_set_new(device, "place", json_string(place));
		json_object_set_new(device, "name", string_of_device(ids[d], CL_DEVICE_NAME));
		if (probe)
			json_object_set_new(device, "probe", probe_of(ids[d]));
		json_array_append_new(devices, device);
	}
	return devices;
}

json_t *info_platforms(bool probe)
{
	cl_platform_id ids[MAX_LISTED];
	cl_uint n = 0;
	json_t *platforms = json_array();

	if (clGetPlatformIDs(MAX_LISTED, ids, &n) != CL_SUCCESS)
		return platforms;
	for (unsigned p = 0; p < n && p < MAX_LISTED; p++) {
		json_t *platform = json_object();

		json_object_set_new(platform, "name", string_of_platform(ids[p], CL_PLATFORM_NAME));
		json_object_set_new(platform, "version", string_of_platform(ids[p], CL_PLATFORM_VERSION));
		json_object_set_new(platform, "devices", devices_of(ids[p], p, probe));
		json_array_append_new(platforms, platform);
	}
	return platforms;
}

/* Destroys the device. */
static json_t *comm_on(choir_device *device)
{
	choir_comm *comm;
	choir_status st;
	char *text = NULL;
	json_t *object;

	if (choir_comm_create_local(1, &device, NULL, &comm) != CHOIR_SUCCESS) {
		object = error_of();
	} else {
		st = choir_comm_json(comm, &text);
		object = info_object(st, text);
		choir_comm_destroy(comm);
	}
	choir_device_destroy(device);
	return object;
}

json_t *info_comm(void)
{
	choir_device *device;

	return choir_device_create_default(0, &device) == CHOIR_SUCCESS ? comm_on(device) : error_of();
}

json_t *info_comm_host(void)
{
	choir_device *device;

	return choir_device_create_host(&device) == CHOIR_SUCCESS ? comm_on(device) : error_of();
}
