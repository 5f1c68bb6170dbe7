/* SPDX-License-Identifier: MIT */
#include "world/bus.h"

#include <choir/device.h>
#include <stdatomic.h>

static _Atomic uint64_t down, up;

uint64_t bus_down(void)
{
	return down;
}

uint64_t bus_up(void)
{
	return up;
}

void bus_reset(void)
{
	down = up = 0;
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	atomic_fetch_add(&down, bytes);
	return __real_clEnqueueReadBuffer(queue, mem, blocking, off, bytes, to, n, list, event);
}

cl_int __real_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event)
{
	atomic_fetch_add(&up, bytes);
	return __real_clEnqueueWriteBuffer(queue, mem, blocking, off, bytes, from, n, list, event);
}

void *__real_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc)
{
	atomic_fetch_add(&down, bytes);
	atomic_fetch_add(&up, bytes);
	return __real_clEnqueueMapBuffer(queue, mem, blocking, flags, off, bytes, n, list, event, rc);
}
