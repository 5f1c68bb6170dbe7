/* SPDX-License-Identifier: MIT */
#include "world/bus.h"

#include <choir/device.h>
#include <stdatomic.h>

struct counter {
	_Atomic uint64_t commands, bytes;
};

static struct counter reads, writes, maps;

static void count(struct counter *counter, size_t bytes)
{
	atomic_fetch_add(&counter->commands, 1);
	atomic_fetch_add(&counter->bytes, bytes);
}

struct bus_count bus_reads(void)
{
	return (struct bus_count){ reads.commands, reads.bytes };
}

struct bus_count bus_writes(void)
{
	return (struct bus_count){ writes.commands, writes.bytes };
}

uint64_t bus_down(void)
{
	return reads.bytes + maps.bytes;
}

uint64_t bus_up(void)
{
	return writes.bytes + maps.bytes;
}

void bus_reset(void)
{
	reads.commands = reads.bytes = writes.commands = writes.bytes = maps.commands = maps.bytes = 0;
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	count(&reads, bytes);
	return __real_clEnqueueReadBuffer(queue, mem, blocking, off, bytes, to, n, list, event);
}

cl_int __real_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                   const void *from, cl_uint n, const cl_event *list, cl_event *event)
{
	count(&writes, bytes);
	return __real_clEnqueueWriteBuffer(queue, mem, blocking, off, bytes, from, n, list, event);
}

void *__real_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc);
void *__wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                                size_t bytes, cl_uint n, const cl_event *list, cl_event *event, cl_int *rc)
{
	count(&maps, bytes);
	return __real_clEnqueueMapBuffer(queue, mem, blocking, flags, off, bytes, n, list, event, rc);
}
