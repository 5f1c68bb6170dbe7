/* SPDX-License-Identifier: MIT */
/* Note [probe].  The memory class is found by trying it on buffers of the device's context.
 *
 * DIRECT: a mapped pointer is used after its unmap.  OpenCL does not promise that; CPU runtimes such as PoCL and
 * Intel's keep one storage for a buffer, so it works there.  The probe sends bytes both ways without a map and compares
 * them, in a small and in a large buffer, since allocators differ by size.  A context with another device than CPUs is
 * not tried: that device could hold the newest bytes.
 *
 * MAP: the device reports that it shares memory with the host, and a buffer maps to the same pointer twice with the
 * right bytes.  A driver that copies usually gives another pointer. */
#include "dev/device_impl.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 256
#define LARGE_BYTES ((size_t)1 << 20)

static void pattern(unsigned char *out, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)((i * 167 + (i >> 8) * 13 + seed) & 0xff);
}

/* Maps the whole buffer, unmaps it and returns the pointer; NULL on an error. */
static void *map_once(choir_device *device, cl_mem mem, size_t bytes)
{
	cl_int rc;
	void *ptr =
	    clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &rc);

	if (rc != CL_SUCCESS || ptr == NULL)
		return NULL;
	if (clEnqueueUnmapMemObject(device->queue, mem, ptr, 0, NULL, NULL) != CL_SUCCESS)
		return NULL;
	return clFinish(device->queue) == CL_SUCCESS ? ptr : NULL;
}

/* True if the device reads from mem what the host wrote through ptr without a map, and the host what the device wrote.
 * The bytes pass through `other`, so that the device reads and writes mem itself. */
static bool bytes_cross(choir_device *device, cl_mem mem, cl_mem other, unsigned char *ptr, unsigned char *host,
                        size_t bytes)
{
	cl_command_queue queue = device->queue;

	pattern(ptr, bytes, 1);
	pattern(host, bytes, 2);
	if (clEnqueueCopyBuffer(queue, mem, other, 0, 0, bytes, 0, NULL, NULL) != CL_SUCCESS ||
	    clEnqueueReadBuffer(queue, other, CL_TRUE, 0, bytes, host, 0, NULL, NULL) != CL_SUCCESS ||
	    memcmp(ptr, host, bytes) != 0)
		return false;
	pattern(host, bytes, 3);
	if (clEnqueueWriteBuffer(queue, other, CL_TRUE, 0, bytes, host, 0, NULL, NULL) != CL_SUCCESS ||
	    clEnqueueCopyBuffer(queue, other, mem, 0, 0, bytes, 0, NULL, NULL) != CL_SUCCESS ||
	    clFinish(queue) != CL_SUCCESS)
		return false;
	return memcmp(ptr, host, bytes) == 0;
}

/* A map of a part must lie inside the map of the whole. */
static bool part_is_inside(choir_device *device, cl_mem mem, const unsigned char *whole)
{
	cl_int rc;
	unsigned char *part = clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_READ, 68, 100, 0, NULL, NULL, &rc);

	if (rc != CL_SUCCESS)
		return false;
	clEnqueueUnmapMemObject(device->queue, mem, part, 0, NULL, NULL);
	return clFinish(device->queue) == CL_SUCCESS && part == whole + 68;
}

static bool direct_at(choir_device *device, size_t bytes)
{
	unsigned char *host = malloc(bytes);
	cl_int rc_mem = CL_SUCCESS, rc_other = CL_SUCCESS;
	cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &rc_mem);
	cl_mem other = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &rc_other);
	bool works = false;

	if (host != NULL && rc_mem == CL_SUCCESS && rc_other == CL_SUCCESS) {
		unsigned char *ptr = map_once(device, mem, bytes);

		works = ptr != NULL && bytes_cross(device, mem, other, ptr, host, bytes) &&
		        part_is_inside(device, mem, ptr) && map_once(device, mem, bytes) == ptr;
	}
	if (rc_mem == CL_SUCCESS)
		clReleaseMemObject(mem);
	if (rc_other == CL_SUCCESS)
		clReleaseMemObject(other);
	free(host);
	return works;
}

bool probe_direct(choir_device *device)
{
	return (device->facts.type & CL_DEVICE_TYPE_CPU) != 0 && device->facts.cpus_only &&
	       direct_at(device, SMALL_BYTES) && direct_at(device, LARGE_BYTES);
}

/* Bytes written through one map are read through the next. */
static bool map_keeps_bytes(choir_device *device, cl_mem mem, unsigned char *host, size_t bytes)
{
	cl_int rc;
	unsigned char *ptr =
	    clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &rc);

	if (rc != CL_SUCCESS)
		return false;
	pattern(ptr, bytes, 4);
	clEnqueueUnmapMemObject(device->queue, mem, ptr, 0, NULL, NULL);
	unsigned char *again =
	    clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &rc);
	if (rc != CL_SUCCESS)
		return false;
	pattern(host, bytes, 4);
	bool same = again == ptr && memcmp(again, host, bytes) == 0;
	clEnqueueUnmapMemObject(device->queue, mem, again, 0, NULL, NULL);
	return clFinish(device->queue) == CL_SUCCESS && same;
}

bool probe_map(choir_device *device)
{
	unsigned char *host;
	cl_int rc;
	bool works = false;

	if (!device->facts.host_unified)
		return false;
	cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE, LARGE_BYTES, NULL, &rc);
	if (rc != CL_SUCCESS)
		return false;
	host = malloc(LARGE_BYTES);
	if (host != NULL)
		works = map_keeps_bytes(device, mem, host, LARGE_BYTES);
	free(host);
	clReleaseMemObject(mem);
	return works;
}
