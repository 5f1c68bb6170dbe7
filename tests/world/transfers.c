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

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                                  cl_map_flags flags, size_t off, size_t bytes, cl_uint n,
                                                  const cl_event *events, cl_event *event_p, cl_int *rc_p)
{
	void *(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint,
	                         const cl_event *, cl_event *, cl_int *);
	void *symbol = next_of("clEnqueueMapBuffer");

	memcpy(&fn, &symbol, sizeof fn);
	return fn(queue, mem, blocking, flags, off, bytes, n, events, event_p, rc_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *ptr,
                                                size_t bytes, cl_uint n, const cl_event *events, cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_bool, cl_map_flags, void *, size_t, cl_uint, const cl_event *,
	                         cl_event *);
	void *symbol = next_of("clEnqueueSVMMap");

	memcpy(&fn, &symbol, sizeof fn);
	return fn(queue, blocking, flags, ptr, bytes, n, events, event_p);
}

/* Between cl_mems none is needed: the other end of one would be memory that the host reaches. */
CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                                   size_t bytes, cl_uint n, const cl_event *events, cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *,
	                         cl_event *);
	void *symbol = next_of("clEnqueueSVMMemcpy");

	memcpy(&fn, &symbol, sizeof fn);
	return fn(queue, blocking, to, from, bytes, n, events, event_p);
}
