/* SPDX-License-Identifier: MIT */
#include "world/transfers.h"

#include <choir/device.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

_Atomic long transfers;

static void *next_of(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		abort();
	atomic_fetch_add(&transfers, 1);
	return fn;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                    size_t bytes, void *to, cl_uint n, const cl_event *events,
                                                    cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,
	                         cl_event *);
	void *symbol = next_of("clEnqueueReadBuffer");

	memcpy(&fn, &symbol, sizeof fn);
	return fn(queue, mem, blocking, off, bytes, to, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                     size_t bytes, const void *from, cl_uint n, const cl_event *events,
                                                     cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
	                         const cl_event *, cl_event *);
	void *symbol = next_of("clEnqueueWriteBuffer");

	memcpy(&fn, &symbol, sizeof fn);
	return fn(queue, mem, blocking, off, bytes, from, n, events, event_p);
}
