/* SPDX-License-Identifier: MIT */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <choir/mpi.h>
#include <stdio.h>

/* With CHOIR_LOG=debug in the environment every call is a line on standard error; with CHOIR_LOG=warn late ranks are
 * named there. */
int main(void)
{
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	float x[4] = { 1, 10, 100, 1000 };

	if (choir_device_create_default(0, &device) || choir_comm_create_world(1, &device, NULL, &comm))
		return fprintf(stderr, "%s\n", choir_last_error()), 1;
	cl_context context = choir_device_context(device);
	cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(x), x, NULL);
	cl_command_queue queue = clCreateCommandQueue(context, choir_device_id(device), 0, NULL);

	choir_buffer buffer = choir_mem(mem, 0); /* given twice: the sum comes back in place */
	if (choir_allreduce(comm, buffer, buffer, 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL))
		return fprintf(stderr, "%s\n", choir_last_error()), 1;
	clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
	printf("rank %d of %d: %g %g %g %g\n", choir_comm_rank(comm), choir_comm_size(comm), x[0], x[1], x[2], x[3]);
	choir_comm_destroy(comm);
	return choir_finalize_world() != CHOIR_SUCCESS;
}
