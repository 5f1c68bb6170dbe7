/* SPDX-License-Identifier: MIT */
#include "sparse/group_forms.h"

#include "sparse/on_device.h"

#include <stdlib.h>
#include <string.h>

#define CLAIM " cl_intel_subgroups"

enum group_form group_form;
unsigned sub_group_builds, sub_group_failures;
static bool is_gpu;

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p);
cl_int __real_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);

/* text, as far as `bytes` have room, without sub-groups or with a claim of them. */
static void change_extensions(char *text, size_t bytes)
{
	char *at;

	while (group_form == FORM_LOCAL && (at = strstr(text, "subgroup")) != NULL)
		memset(at, 'x', strlen("subgroup"));
	if (group_form == FORM_CLAIMED && strlen(text) + sizeof CLAIM <= bytes)
		strcat(text, CLAIM);
}

cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *value, size_t *bytes_p)
{
	cl_int rc = __real_clGetDeviceInfo(id, what, bytes, value, bytes_p);

	if (rc != CL_SUCCESS)
		return rc;
	if (what == CL_DEVICE_TYPE && is_gpu && value != NULL)
		*(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
	if (what == CL_DEVICE_EXTENSIONS && value != NULL)
		change_extensions(value, bytes);
	if (what == CL_DEVICE_EXTENSIONS && bytes_p != NULL)
		*bytes_p += sizeof CLAIM;
	return CL_SUCCESS;
}

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx)
{
	cl_int rc = __real_clBuildProgram(program, n, devices, options, notify, ctx);
	bool is_form = options != NULL && strstr(options, "-DSUB_GROUPS") != NULL;

	sub_group_builds += is_form && rc == CL_SUCCESS;
	sub_group_failures += is_form && rc != CL_SUCCESS;
	return rc;
}

bool device_has_sub_groups(void)
{
	char text[16384] = "";

	__real_clGetDeviceInfo(choir_device_id(device), CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL);
	return strstr(text, "cl_intel_subgroups") != NULL || strstr(text, "cl_khr_subgroups") != NULL;
}

int open_as_gpu(void **state)
{
	is_gpu = true;
	sub_group_builds = sub_group_failures = 0;
	return open_device(state);
}
