/* SPDX-License-Identifier: MIT */
/* Calls that name queues, events, devices or memory and that the model does not know: they fail, and are reported. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "model.h"

#include <string.h>

/* Whatever the arguments: a function of none is called with them, which the ABIs of x86-64 and arm64 allow. */
#define REFUSED_INT(call)                                                                                              \
	static cl_int CL_API_CALL refused_##call(void)                                                                 \
	{                                                                                                              \
		refuse(#call);                                                                                         \
		return CL_INVALID_OPERATION;                                                                           \
	}
#define INSTALL_INT(call)                                                                                              \
	do {                                                                                                           \
		const void *fn = (const void *)refused_##call;                                                         \
		memcpy(&mine->call, &fn, sizeof fn);                                                                   \
	} while (0);
/* Whose last argument is where the status goes. */
#define REFUSED_HANDLE(type, call, ...)                                                                                \
	static type CL_API_CALL refused_##call(__VA_ARGS__, cl_int *rc_p)                                              \
	{                                                                                                              \
		refuse(#call);                                                                                         \
		if (rc_p != NULL)                                                                                      \
			*rc_p = CL_INVALID_OPERATION;                                                                  \
		return NULL;                                                                                           \
	}
#define INSTALL_HANDLE(type, call, ...) mine->call = refused_##call;

/* clang-format never comes to an end with these. */
/* clang-format off */
#define INTS(X)                                                                                                        \
	X(clCreateSubDevices) X(clEnqueueReadImage) X(clEnqueueWriteImage) X(clEnqueueCopyImage)                       \
	X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage) X(clEnqueueFillImage) X(clEnqueueNativeKernel)     \
	X(clEnqueueMarker) X(clEnqueueWaitForEvents) X(clEnqueueBarrier) X(clEnqueueSVMFree)                           \
	X(clEnqueueSVMMigrateMem) X(clSetKernelExecInfo) X(clCompileProgram)                                           \
	X(clSetDefaultDeviceCommandQueue) X(clGetDeviceAndHostTimer) X(clGetHostTimer) X(clSetCommandQueueProperty)    \
	X(clGetKernelSubGroupInfo) X(clEnqueueAcquireGLObjects) X(clEnqueueReleaseGLObjects) X(clGetImageInfo)         \
	X(clGetPipeInfo)
#define HANDLES(X)                                                                                                     \
	X(cl_context, clCreateContextFromType, const cl_context_properties *a, cl_device_type b,                       \
	  void (CL_CALLBACK *c)(const char *, const void *, size_t, void *), void *d)                                  \
	X(cl_mem, clCreateImage, cl_context a, cl_mem_flags b, const cl_image_format *c, const cl_image_desc *d,       \
	  void *e)                                                                                                     \
	X(cl_mem, clCreateImage2D, cl_context a, cl_mem_flags b, const cl_image_format *c, size_t d, size_t e,         \
	  size_t f, void *g)                                                                                           \
	X(cl_mem, clCreateImage3D, cl_context a, cl_mem_flags b, const cl_image_format *c, size_t d, size_t e,         \
	  size_t f, size_t g, size_t h, void *i)                                                                       \
	X(cl_mem, clCreateImageWithProperties, cl_context a, const cl_mem_properties *b, cl_mem_flags c,               \
	  const cl_image_format *d, const cl_image_desc *e, void *f)                                                   \
	X(cl_mem, clCreateBufferWithProperties, cl_context a, const cl_mem_properties *b, cl_mem_flags c, size_t d,    \
	  void *e)                                                                                                     \
	X(cl_mem, clCreateFromGLBuffer, cl_context a, cl_mem_flags b, cl_GLuint c)                                     \
	X(cl_mem, clCreatePipe, cl_context a, cl_mem_flags b, cl_uint c, cl_uint d, const cl_pipe_properties *e)       \
	X(void *, clEnqueueMapImage, cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, const size_t *e,         \
	  const size_t *f, size_t *g, size_t *h, cl_uint i, const cl_event *j, cl_event *k)                            \
	X(cl_program, clCreateProgramWithBuiltInKernels, cl_context a, cl_uint b, const cl_device_id *c,               \
	  const char *d)                                                                                               \
	X(cl_program, clLinkProgram, cl_context a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e,         \
	  const cl_program *f, void (CL_CALLBACK *g)(cl_program, void *), void *h)                                     \
	X(cl_kernel, clCloneKernel, cl_kernel a)
/* clang-format on */

#pragma GCC diagnostic ignored "-Wunused-parameter"
INTS(REFUSED_INT)
HANDLES(REFUSED_HANDLE)

void refused_install(struct _cl_icd_dispatch *mine)
{
	INTS(INSTALL_INT)
	HANDLES(INSTALL_HANDLE)
}
