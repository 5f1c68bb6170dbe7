/* SPDX-License-Identifier: MIT */
/* Calls that name queues, events, devices or memory and that the model does not know: they fail, and are reported. */
#include "model.h"

#include <string.h>

/* Whatever the arguments: a function of none is called with them, which the ABIs of x86-64 and arm64 allow. */
#define REFUSED_INT(call)                                                                                              \
	static cl_int CL_API_CALL refused_##call(void)                                                                 \
	{                                                                                                              \
		refuse(#call);                                                                                         \
		return CL_INVALID_OPERATION;                                                                           \
	}
#define REFUSED_HANDLE(call)                                                                                           \
	static void *CL_API_CALL refused_##call(void)                                                                  \
	{                                                                                                              \
		refuse(#call);                                                                                         \
		return NULL;                                                                                           \
	}
#define INSTALL(call)                                                                                                  \
	do {                                                                                                           \
		const void *fn = (const void *)refused_##call;                                                         \
		memcpy(&mine->call, &fn, sizeof fn);                                                                   \
	} while (0);

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
	X(clCreateContextFromType) X(clCreateImage2D) X(clCreateImage3D) X(clCreateImage) X(clEnqueueMapImage)         \
	X(clCreatePipe) X(clCreateProgramWithBuiltInKernels) X(clLinkProgram) X(clCloneKernel)                         \
	X(clCreateBufferWithProperties) X(clCreateImageWithProperties) X(clCreateFromGLBuffer)
/* clang-format on */

INTS(REFUSED_INT)
HANDLES(REFUSED_HANDLE)

void refused_install(struct _cl_icd_dispatch *mine)
{
	INTS(INSTALL)
	HANDLES(INSTALL)
}
