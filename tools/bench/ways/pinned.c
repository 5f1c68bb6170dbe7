/* SPDX-License-Identifier: MIT */
#include "pinned.h"

bool pinned_init(struct pinned *pinned, cl_context context, cl_command_queue queue, size_t bytes)
{
	cl_int rc;

	*pinned = (struct pinned){ .queue = queue };
	pinned->mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &rc);
	if (rc != CL_SUCCESS)
		return false;
	pinned->host =
	    clEnqueueMapBuffer(queue, pinned->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &rc);
	return rc == CL_SUCCESS;
}

void pinned_fini(struct pinned *pinned)
{
	if (pinned->host != NULL)
		clEnqueueUnmapMemObject(pinned->queue, pinned->mem, pinned->host, 0, NULL, NULL);
	if (pinned->mem != NULL)
		clReleaseMemObject(pinned->mem);
	*pinned = (struct pinned){ .queue = NULL };
}
