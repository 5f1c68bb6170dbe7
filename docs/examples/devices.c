/* SPDX-License-Identifier: MIT */
/* Several devices driven by one thread, without MPI: each rank's calls go between choir_group_begin and
 * choir_group_end, which submits them together and waits for those without an event.  With no GPU here, the ranks share
 * the CPU's OpenCL.
 *
 * ./devices [ranks] */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANKS 16
#define COUNT     1000

static void choir_ok(choir_status status, const char *what)
{
	if (status != CHOIR_SUCCESS) {
		fprintf(stderr, "%s: %s\n", what, choir_last_error());
		exit(1);
	}
}

static cl_mem mem_of(choir_device *device, const int *from, size_t bytes)
{
	cl_int rc;
	cl_mem_flags copy = from ? CL_MEM_COPY_HOST_PTR : 0;
	cl_mem mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE | copy, bytes, (void *)from, &rc);
	if (rc != CL_SUCCESS) {
		fprintf(stderr, "clCreateBuffer: OpenCL error %d\n", rc);
		exit(1);
	}
	return mem;
}

static void read_back(choir_device *device, cl_mem mem, int *to, size_t bytes)
{
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueue(choir_device_context(device), choir_device_id(device), 0, &rc);
	if (rc == CL_SUCCESS)
		rc = clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, bytes, to, 0, NULL, NULL);
	if (rc != CL_SUCCESS) {
		fprintf(stderr, "reading back: OpenCL error %d\n", rc);
		exit(1);
	}
	clReleaseCommandQueue(queue);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	if (n < 1 || n > MAX_RANKS) {
		fprintf(stderr, "usage: devices [ranks, 1 to %d]\n", MAX_RANKS);
		return 2;
	}

	choir_device *devices[MAX_RANKS];
	choir_comm *comms[MAX_RANKS];
	cl_mem send[MAX_RANKS], recv[MAX_RANKS];
	int x[COUNT];
	for (int rank = 0; rank < n; rank++) {
		choir_ok(choir_device_create_default(rank, &devices[rank]), "device");
		for (int i = 0; i < COUNT; i++)
			x[i] = rank * COUNT + i;
		send[rank] = mem_of(devices[rank], x, sizeof(x));
		recv[rank] = mem_of(devices[rank], NULL, sizeof(x));
	}
	choir_ok(choir_comm_create_local(n, devices, NULL, comms), "comm");

	/* Outside a group the first of these would wait for ranks that this very thread has yet to call for. */
	choir_ok(choir_group_begin(), "choir_group_begin");
	for (int rank = 0; rank < n; rank++)
		choir_ok(choir_allreduce(comms[rank], choir_mem(send[rank], 0), choir_mem(recv[rank], 0), COUNT,
		                         CHOIR_I32, CHOIR_OP_MAX, NULL, NULL),
		         "choir_allreduce");
	choir_ok(choir_group_end(), "choir_group_end");

	int wrong = 0;
	for (int rank = 0; rank < n; rank++) {
		read_back(devices[rank], recv[rank], x, sizeof(x));
		for (int i = 0; i < COUNT; i++)
			wrong += x[i] != (n - 1) * COUNT + i;
		clReleaseMemObject(send[rank]);
		clReleaseMemObject(recv[rank]);
		choir_ok(choir_comm_destroy(comms[rank]), "choir_comm_destroy");
		choir_device_destroy(devices[rank]);
	}
	printf("%d rank%s in one thread, %d elements each: %d wrong\n", n, n == 1 ? "" : "s", COUNT, wrong);
	return wrong != 0;
}
