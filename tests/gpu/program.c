/* SPDX-License-Identifier: MIT */
/* Programs are the driver's; only the names of devices are translated. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a kernel only reads is asked for with this option. */
static char *with_argument_info(const char *text)
{
	size_t bytes = (text != NULL ? strlen(text) : 0) + 40;
	char *out = malloc(bytes);

	if (out != NULL)
		snprintf(out, bytes, "%s -cl-kernel-arg-info", text != NULL ? text : "");
	return out;
}

static const struct device *first_device(cl_program program)
{
	cl_context handle = NULL;

	if (below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof handle, &handle, NULL) != CL_SUCCESS)
		return NULL;
	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	const struct device *device = context != NULL ? context->devices[0] : NULL;
	pthread_mutex_unlock(&model_lock);
	return device;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *ids, const char *text,
                                void(CL_CALLBACK *fn)(cl_program, void *), void *arg)
{
	cl_device_id real[16];
	cl_uint n_real = n <= 16 ? devices_below(n, ids, real) : 0;
	char *more;
	cl_int rc;

	blocking_call("clBuildProgram");
	if (n > 0 && n_real == 0)
		return CL_INVALID_DEVICE;
	more = with_argument_info(text);
	rc = below->clBuildProgram(program, n_real, n > 0 ? real : NULL, more, fn, arg);
	free(more);
	return rc;
}

static cl_program CL_API_CALL from_binary(cl_context context, cl_uint n, const cl_device_id *ids, const size_t *bytes,
                                          const unsigned char **binaries, cl_int *statuses, cl_int *rc_p)
{
	cl_device_id real[16];

	if (n != 1 || devices_below(n, ids, real) != 1) {
		refuse("clCreateProgramWithBinary for several devices");
		if (rc_p != NULL)
			*rc_p = CL_INVALID_OPERATION;
		return NULL;
	}
	return below->clCreateProgramWithBinary(context, 1, real, bytes, binaries, statuses, rc_p);
}

static cl_int CL_API_CALL get_info(cl_program program, cl_program_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_device_id id;

	if (what != CL_PROGRAM_DEVICES)
		return below->clGetProgramInfo(program, what, room, out, bytes_p);
	id = (cl_device_id)first_device(program);
	return answer(&id, sizeof id, room, out, bytes_p);
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id id, cl_program_build_info what, size_t room,
                                         void *out, size_t *bytes_p)
{
	const struct device *device = device_of(id);

	if (device == NULL)
		return CL_INVALID_DEVICE;
	return below->clGetProgramBuildInfo(program, device->below, what, room, out, bytes_p);
}

void program_install(struct _cl_icd_dispatch *mine)
{
	mine->clBuildProgram = build;
	mine->clCreateProgramWithBinary = from_binary;
	mine->clGetProgramInfo = get_info;
	mine->clGetProgramBuildInfo = get_build_info;
}
