/* SPDX-License-Identifier: MIT */
/* A blocking read.  Mesa's rusticl returns from clEnqueueReadBuffer with CL_TRUE, and from clFinish, before the
 * commands are complete if another thread has flushed the queue meanwhile; `to` may be freed memory by then. */
#ifndef TESTS_READ_MEM_H
#define TESTS_READ_MEM_H

#include <CL/cl.h>

static inline cl_int read_mem(cl_command_queue queue, cl_mem mem, size_t off, size_t bytes, void *to)
{
	cl_event event;
	cl_int rc = clEnqueueReadBuffer(queue, mem, CL_FALSE, off, bytes, to, 0, NULL, &event);

	if (rc != CL_SUCCESS)
		return rc;
	rc = clWaitForEvents(1, &event);
	clReleaseEvent(event);
	return rc;
}

#endif
