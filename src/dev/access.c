/* SPDX-License-Identifier: MIT */
/* Finds how the bytes of a caller's buffer are reached, and maps buffers. */
#include "dev/device_impl.h"

#include "base/fork_lock.h"

#define HOST_RESTRICTED (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)

/* The maps that find a pointer, one at a time in the process: PoCL 3.1 answers CL_INVALID_VALUE to an unmap while
 * another thread maps or unmaps the same buffer.  (Class map on PoCL, which has to be asked for, is not kept from it:
 * two maps of the same bytes at once end the process in PoCL, whatever lock is held where they are enqueued.) */
FORK_LOCK(mapping_lock)

/* Maps the whole cl_mem and unmaps it: on a device of class direct the pointer stays valid (probe.c).  Blocks briefly:
 * the internal queue has no commands that wait for others. */
static choir_status map_and_keep_pointer(choir_device *device, cl_mem mem, unsigned char **ptr_p)
{
	cl_event unmapped = NULL;
	size_t size;
	cl_int rc = clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL);

	if (rc != CL_SUCCESS)
		return error_cl("clGetMemObjectInfo", rc);
	unsigned char *ptr =
	    clEnqueueMapBuffer(device->queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &rc);
	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueMapBuffer", rc);
	rc = clEnqueueUnmapMemObject(device->queue, mem, ptr, 0, NULL, &unmapped);
	if (rc != CL_SUCCESS)
		return error_cl("clEnqueueUnmapMemObject", rc);
	clFlush(device->queue);
	TRY(dev_wait(&unmapped));
	TRY(pointer_cache_add(device->pointers, mem, ptr));
	*ptr_p = ptr;
	return CHOIR_SUCCESS;
}

/* The pointer of the cl_mem's first byte: from the cache, or mapped now. */
static choir_status direct_pointer(choir_device *device, cl_mem mem, unsigned char **ptr_p)
{
	choir_status st = CHOIR_SUCCESS;

	*ptr_p = pointer_cache_find(device->pointers, mem);
	if (*ptr_p != NULL)
		return CHOIR_SUCCESS;
	pthread_mutex_lock(&mapping_lock);
	*ptr_p = pointer_cache_find(device->pointers, mem); /* another thread may have added it meanwhile */
	if (*ptr_p == NULL)
		st = map_and_keep_pointer(device, mem, ptr_p);
	pthread_mutex_unlock(&mapping_lock);
	return st;
}

bool dev_watch_death(choir_device *device, cl_mem mem)
{
	return pointer_cache_add(device->pointers, mem, NULL) == CHOIR_SUCCESS;
}

static choir_status resolve_mem(choir_device *device, choir_buffer buffer, struct dev_access *access)
{
	cl_mem mem = buffer.base;
	cl_mem_flags flags;
	cl_int rc = clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL);

	if (rc != CL_SUCCESS)
		return error_cl("clGetMemObjectInfo", rc);
	access->mem = mem;
	access->off = buffer.offset_bytes;
	access->no_kernel = (flags & CL_MEM_WRITE_ONLY) != 0;
	access->no_kernel_write = (flags & CL_MEM_READ_ONLY) != 0;
	if (device->memory_class == CHOIR_CLASS_DIRECT && (flags & HOST_RESTRICTED) == 0) {
		TRY(direct_pointer(device, mem, &access->ptr));
		access->ptr += buffer.offset_bytes;
		access->direct = true;
		return CHOIR_SUCCESS;
	}
	access->stage = device->memory_class == CHOIR_CLASS_STAGE || (flags & HOST_RESTRICTED) != 0;
	access->no_read = (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY)) != 0;
	access->no_write = (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY)) != 0;
	return CHOIR_SUCCESS;
}

/* OpenCL cannot tell a fine-grained pointer from a coarse one of clSVMAlloc.  Both are plain memory on CPUs; elsewhere
 * a pointer is mapped, which is legal for both, unless the device has system SVM. */
static void resolve_svm(const choir_device *device, unsigned char *ptr, struct dev_access *access)
{
	cl_device_svm_capabilities svm = device->facts.svm;
	bool fine = (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0 ||
	            ((svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0 && dev_is_cpu(device));

	if (fine && (device->memory_class == CHOIR_CLASS_DIRECT || (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0)) {
		access->ptr = ptr;
		access->direct = true;
	} else {
		access->svm = ptr;
	}
}

static choir_status resolve_usm(const choir_device *device, unsigned char *ptr, struct dev_access *access)
{
	cl_uint kind;
	uintptr_t base;
	size_t size;

	TRY(usm_find(device, "usm", ptr, &kind, &base, &size));
	if (kind != CL_MEM_TYPE_HOST_INTEL)
		access->usm = ptr;
	access->no_kernel = device->usm.set_argument == NULL;
	if (kind == CL_MEM_TYPE_DEVICE_INTEL) {
		access->stage = true;
	} else {
		access->ptr = ptr;
		access->direct = true;
	}
	return CHOIR_SUCCESS;
}

choir_status dev_resolve(choir_device *device, choir_buffer buffer, uint64_t bytes, bool write, struct dev_access *out)
{
	struct dev_access access = { .bytes = bytes, .write = write };
	unsigned char *ptr = buffer.base;

	if (bytes == 0) {
		access.direct = true;
	} else if (buffer.kind == CHOIR_BUFFER_MEM) {
		TRY(resolve_mem(device, buffer, &access));
	} else if (buffer.kind == CHOIR_BUFFER_HOST) {
		access.ptr = ptr + buffer.offset_bytes;
		access.direct = true;
	} else if (buffer.kind == CHOIR_BUFFER_SVM && device->facts.svm != 0) {
		resolve_svm(device, ptr + buffer.offset_bytes, &access);
		if (device->memory_class == CHOIR_CLASS_STAGE && dev_through_kernel(device, &access))
			TRY(dev_copy_svm_warm(device)); /* once the call is under way nothing bounds a build */
	} else if (buffer.kind == CHOIR_BUFFER_USM && device->usm.info != NULL) {
		TRY(resolve_usm(device, ptr + buffer.offset_bytes, &access));
	} else {
		return error_set(CHOIR_UNSUPPORTED, "%s does not support buffers of kind %d", device->facts.name,
		                 (int)buffer.kind);
	}
	*out = access;
	return CHOIR_SUCCESS;
}

bool dev_kernels_may(const struct dev_access *access)
{
	return !access->no_kernel && !(access->write && access->no_kernel_write);
}

bool dev_is_on_device(const struct dev_access *access)
{
	bool mem = access->mem != NULL && access->stage;

	return access->bytes == 0 || ((mem || access->svm != NULL || access->usm != NULL) && dev_kernels_may(access));
}

bool dev_is_whole(const struct dev_access *access)
{
	cl_mem parent = NULL;
	cl_mem_flags flags = 0;
	size_t bytes = 0;

	return access->mem != NULL && access->off == 0 &&
	       clGetMemObjectInfo(access->mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) == CL_SUCCESS &&
	       bytes == access->bytes &&
	       clGetMemObjectInfo(access->mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL) == CL_SUCCESS &&
	       (flags & CL_MEM_USE_HOST_PTR) == 0 &&
	       clGetMemObjectInfo(access->mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) ==
	           CL_SUCCESS &&
	       parent == NULL;
}

/* Note [maps of RECV].  A map for writing brings the buffer's bytes along, though a call overwrites all of RECV.
 * CL_MAP_WRITE_INVALIDATE_REGION would save that copy, but bytes that are not written then are undefined after the
 * unmap.  Buffers are mapped before all ranks have compared their calls, and a call that is refused then, or whose
 * peers never come, leaves RECV as it was. */
bool dev_needs_map(const struct dev_access *access)
{
	return !access->direct && !access->stage && access->ptr == NULL;
}

choir_status dev_map(choir_device *device, struct dev_access *access, cl_event *event_p)
{
	/* Note [maps of RECV] */
	cl_map_flags flags = access->write ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
	void *ptr = access->svm;
	cl_int rc;

	if (!dev_needs_map(access))
		return error_set(CHOIR_ARGUMENT, "dev_map: the buffer is reached without a map");
	if (access->svm != NULL)
		rc = clEnqueueSVMMap(device->queue, CL_FALSE, flags, access->svm, access->bytes, 0, NULL, event_p);
	else
		ptr = clEnqueueMapBuffer(device->queue, access->mem, CL_FALSE, flags, access->off, access->bytes, 0,
		                         NULL, event_p, &rc);
	if (rc != CL_SUCCESS)
		return error_cl(access->svm != NULL ? "clEnqueueSVMMap" : "clEnqueueMapBuffer", rc);
	clFlush(device->queue);
	access->ptr = ptr;
	return CHOIR_SUCCESS;
}

choir_status dev_unmap(choir_device *device, struct dev_access *access, cl_event *event_p)
{
	cl_int rc;

	if (access->direct || access->stage || access->ptr == NULL)
		return error_set(CHOIR_ARGUMENT, "dev_unmap: the buffer is not mapped");
	if (access->svm != NULL)
		rc = clEnqueueSVMUnmap(device->queue, access->svm, 0, NULL, event_p);
	else
		rc = clEnqueueUnmapMemObject(device->queue, access->mem, access->ptr, 0, NULL, event_p);
	if (rc != CL_SUCCESS)
		return error_cl(access->svm != NULL ? "clEnqueueSVMUnmap" : "clEnqueueUnmapMemObject", rc);
	clFlush(device->queue);
	access->ptr = NULL;
	return CHOIR_SUCCESS;
}
