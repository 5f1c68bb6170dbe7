/* SPDX-License-Identifier: MIT */
/* Calls that the model refuses: each says so to its caller as well. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "planted.h"

#include <CL/cl_gl.h>

/* A call whose last argument is where the status goes. */
#define REFUSED(call, ...)                                                                                             \
	do {                                                                                                           \
		cl_int refused_rc = CL_SUCCESS;                                                                        \
		HOLDS(call(__VA_ARGS__, &refused_rc) == NULL && refused_rc == CL_INVALID_OPERATION);                   \
	} while (0)

static void images(const struct session *s)
{
	const cl_image_format format = { CL_R, CL_UNORM_INT8 };
	const cl_image_desc shape = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4 };
	static const size_t from[3], region[3] = { 1, 1, 1 };
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, 64);
	size_t pitch;

	REFUSED(clCreateImage, s->context, 0, &format, &shape, NULL);
	REFUSED(clCreateImage2D, s->context, 0, &format, 4, 4, 0, NULL);
	REFUSED(clCreateImage3D, s->context, 0, &format, 4, 4, 4, 0, 0, NULL);
	REFUSED(clCreateImageWithProperties, s->context, NULL, 0, &format, &shape, NULL);
	REFUSED(clEnqueueMapImage, s->queues[0], mem, CL_TRUE, 0, from, region, &pitch, NULL, 0, NULL, NULL);
	OK(clReleaseMemObject(mem));
}

static void others(const struct session *s)
{
	static const char source[] = "kernel void none(void) {}";
	cl_kernel kernel = session_kernel(s, source, "none");
	cl_platform_id platform;

	OK(clGetPlatformIDs(1, &platform, NULL));
	const cl_context_properties of[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
	REFUSED(clCreateContextFromType, of, CL_DEVICE_TYPE_GPU, NULL, NULL);
	REFUSED(clCreateBufferWithProperties, s->context, NULL, 0, 64, NULL);
	REFUSED(clCreateFromGLBuffer, s->context, 0, 1);
	REFUSED(clCreatePipe, s->context, 0, 4, 4, NULL);
	REFUSED(clCreateProgramWithBuiltInKernels, s->context, 1, s->devices, "none");
	REFUSED(clLinkProgram, s->context, 0, NULL, NULL, 0, NULL, NULL, NULL);
	REFUSED(clCloneKernel, kernel);
	OK(clReleaseKernel(kernel));
}

void refused(struct session *s, bool fault)
{
	cl_ulong time;

	if (!fault)
		return;
	HOLDS(clGetHostTimer(s->devices[0], &time) == CL_INVALID_OPERATION);
	images(s);
	others(s);
}
