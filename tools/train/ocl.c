/* SPDX-License-Identifier: MIT */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: 1.2 is all that we ask of a device */
#include "ocl.h"

#include <clblast_c.h>
#include <embedded.h>
#include <stdio.h>
#include <stdlib.h>

static choir_status fail_build(struct ocl *ocl, cl_int rc)
{
	char log[900] = "";

	clGetProgramBuildInfo(ocl->program, ocl->device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
	return failure(CHOIR_OPENCL, "clBuildProgram returned %d: %s", rc, log);
}

static choir_status build(struct ocl *ocl, size_t width)
{
	const char *sources[] = { embedded_source("rows.cl"), embedded_source("layers.cl"),
		                  embedded_source("softmax.cl") };
	static const char *const names[] = {
#define KERNEL(name) #name,
#include "kernels.def"
#undef KERNEL
	};
	char options[128];
	cl_int rc;

	ocl->program = clCreateProgramWithSource(ocl->context, sizeof sources / sizeof *sources, sources, NULL, &rc);
	if (rc)
		return fail_cl("clCreateProgramWithSource", rc);
	snprintf(options, sizeof options, "-cl-std=CL1.2 -D WIDTH=%zu -D GROUP=%d", width, OCL_GROUP);
	rc = clBuildProgram(ocl->program, 1, &ocl->device, options, NULL, NULL);
	if (rc)
		return fail_build(ocl, rc);
	for (int i = 0; i < OCL_N_KERNELS; i++) {
		ocl->kernels[i] = clCreateKernel(ocl->program, names[i], &rc);
		if (rc)
			return fail_cl(names[i], rc);
	}
	return CHOIR_SUCCESS;
}

choir_status ocl_queue(struct ocl *ocl, cl_command_queue *out)
{
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueue(ocl->context, ocl->device, 0, &rc);

	if (rc)
		return fail_cl("clCreateCommandQueue", rc);
	*out = queue;
	return CHOIR_SUCCESS;
}

choir_status ocl_open(struct ocl *ocl, cl_context context, cl_device_id device, size_t width)
{
	cl_int rc;

	*ocl = (struct ocl){ .context = context, .device = device };
	rc = clRetainContext(context);
	if (rc) {
		ocl->context = NULL;
		return fail_cl("clRetainContext", rc);
	}
	TRY(ocl_queue(ocl, &ocl->queue));
	return build(ocl, width);
}

void ocl_close(struct ocl *ocl)
{
	if (ocl->queue)
		clFinish(ocl->queue);
	for (int i = 0; i < OCL_N_KERNELS; i++)
		if (ocl->kernels[i])
			clReleaseKernel(ocl->kernels[i]);
	if (ocl->program)
		clReleaseProgram(ocl->program);
	if (ocl->queue)
		clReleaseCommandQueue(ocl->queue);
	if (ocl->context)
		clReleaseContext(ocl->context);
	*ocl = (struct ocl){ 0 };
}

/* In parts of so many groups at most: a driver may drop what is beyond. */
static choir_status launch_parts(struct ocl *ocl, cl_kernel kernel, size_t global, cl_event *event_p)
{
	size_t group = OCL_GROUP, most = (size_t)OCL_MOST_GROUPS * OCL_GROUP;

	for (size_t at = 0; at < global; at += most) {
		size_t part = global - at < most ? global - at : most;
		cl_int rc = clEnqueueNDRangeKernel(ocl->queue, kernel, 1, at > 0 ? &at : NULL, &part, &group, 0, NULL,
		                                   at + part == global ? event_p : NULL);

		if (rc)
			return fail_cl("clEnqueueNDRangeKernel", rc);
	}
	return CHOIR_SUCCESS;
}

choir_status ocl_launch(struct ocl *ocl, enum ocl_kernel kernel, size_t n, const struct ocl_arg *args, size_t n_args,
                        cl_event *event_p)
{
	for (size_t i = 0; i < n_args && n > 0; i++) {
		cl_int rc = clSetKernelArg(ocl->kernels[kernel], (cl_uint)i, args[i].bytes, args[i].value);

		if (rc)
			return fail_cl("clSetKernelArg", rc);
	}
	return launch_parts(ocl, ocl->kernels[kernel], (n + OCL_GROUP - 1) / OCL_GROUP * OCL_GROUP, event_p);
}

choir_status ocl_buffer(struct ocl *ocl, size_t bytes, cl_mem *out)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(ocl->context, CL_MEM_READ_WRITE, bytes < 4 ? 4 : bytes, NULL, &rc);

	if (rc)
		return fail_cl("clCreateBuffer", rc);
	*out = mem;
	return CHOIR_SUCCESS;
}

choir_status ocl_write(struct ocl *ocl, cl_mem mem, size_t off, size_t bytes, const void *from)
{
	cl_int rc =
	    bytes ? clEnqueueWriteBuffer(ocl->queue, mem, CL_FALSE, off, bytes, from, 0, NULL, NULL) : CL_SUCCESS;

	return rc ? fail_cl("clEnqueueWriteBuffer", rc) : CHOIR_SUCCESS;
}

choir_status ocl_read(struct ocl *ocl, cl_mem mem, size_t off, size_t bytes, void *to)
{
	cl_int rc = bytes ? clEnqueueReadBuffer(ocl->queue, mem, CL_TRUE, off, bytes, to, 0, NULL, NULL) : CL_SUCCESS;

	return rc ? fail_cl("clEnqueueReadBuffer", rc) : CHOIR_SUCCESS;
}

/* CLBlast's kernel writes columns, so a row-major c is written to a buffer aside and transposed.  What is c by rows is
 * the transposed c by columns, and that is b transposed by a transposed. */
choir_status ocl_product(struct ocl *ocl, size_t m, size_t n, size_t k, struct ocl_matrix a, struct ocl_matrix b,
                         float beta, struct ocl_matrix c, cl_event *event_p)
{
	CLBlastStatusCode rc =
	    CLBlastSgemm(CLBlastLayoutColMajor, b.transposed ? CLBlastTransposeYes : CLBlastTransposeNo,
	                 a.transposed ? CLBlastTransposeYes : CLBlastTransposeNo, n, m, k, 1.0f, b.mem, b.first,
	                 b.columns, a.mem, a.first, a.columns, beta, c.mem, c.first, c.columns, &ocl->queue, event_p);

	return rc ? fail_cl("CLBlastSgemm", (int)rc) : CHOIR_SUCCESS;
}
