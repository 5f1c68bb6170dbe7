/* SPDX-License-Identifier: MIT */
/* The first GPU with a context of its own and two queues, for programs that test the model. */
#ifndef GPU_SESSION_H
#define GPU_SESSION_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		cl_int ok_rc = (call);                                                                                 \
		if (ok_rc != CL_SUCCESS) {                                                                             \
			printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, ok_rc);                                   \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

struct session {
	cl_device_id devices[4];
	cl_uint n_devices;
	cl_context context; /* of all of them */
	cl_command_queue queues[2];
};

static inline cl_command_queue session_queue(const struct session *s, cl_uint device)
{
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueue(s->context, s->devices[device], CL_QUEUE_PROFILING_ENABLE, &rc);

	OK(rc);
	return queue;
}

/* Its devices are known. */
static inline void session_open(struct session *s)
{
	cl_int rc;

	s->context = clCreateContext(NULL, s->n_devices, s->devices, NULL, NULL, &rc);
	OK(rc);
	for (int i = 0; i < 2; i++)
		s->queues[i] = session_queue(s, 0);
}

static inline void session_begin(struct session *s)
{
	cl_platform_id platform;

	OK(clGetPlatformIDs(1, &platform, NULL));
	OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 4, s->devices, &s->n_devices));
	session_open(s);
}

static inline void session_end(struct session *s)
{
	for (int i = 0; i < 2; i++)
		OK(clReleaseCommandQueue(s->queues[i]));
	OK(clReleaseContext(s->context));
}

/* The function of an extension, put at fn_p. */
static inline void session_function(const struct session *s, const char *name, void *fn_p)
{
	cl_platform_id platform;
	void *fn;

	OK(clGetDeviceInfo(s->devices[0], CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
	fn = clGetExtensionFunctionAddressForPlatform(platform, name);
	if (fn == NULL) {
		printf("there is no %s\n", name);
		exit(1);
	}
	memcpy(fn_p, &fn, sizeof fn);
}

static inline cl_mem session_buffer(const struct session *s, cl_mem_flags flags, size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(s->context, flags, bytes, NULL, &rc);

	OK(rc);
	return mem;
}

static inline cl_kernel session_kernel(const struct session *s, const char *source, const char *name)
{
	cl_int rc;
	cl_program program = clCreateProgramWithSource(s->context, 1, &source, NULL, &rc);

	OK(rc);
	OK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
	cl_kernel kernel = clCreateKernel(program, name, &rc);
	OK(rc);
	OK(clReleaseProgram(program));
	return kernel;
}

#endif
