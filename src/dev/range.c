/* SPDX-License-Identifier: MIT */
/* Checks a caller's buffer, and finds whether two buffers overlap. */
#include "dev/device_impl.h"

#include "base/plural.h"

#include <string.h>

static choir_status check_fits(const char *role, uint64_t size, uint64_t offset, uint64_t bytes)
{
	if (offset > size || bytes > size - offset)
		return error_set(CHOIR_ARGUMENT,
		                 "%s buffer: a range of %llu byte%s from offset %llu does not fit into its %llu byte%s",
		                 role, (unsigned long long)bytes, plural(bytes), (unsigned long long)offset,
		                 (unsigned long long)size, plural(size));
	return CHOIR_SUCCESS;
}

static choir_status check_aligned(const char *role, const char *what, uint64_t value, uint64_t elem_bytes)
{
	if (elem_bytes > 1 && value % elem_bytes != 0)
		return error_set(CHOIR_ARGUMENT, "%s buffer: %s %llu is not a multiple of the element's %llu bytes",
		                 role, what, (unsigned long long)value, (unsigned long long)elem_bytes);
	return CHOIR_SUCCESS;
}

static choir_status mem_info(const char *role, cl_mem mem, cl_mem_info what, size_t bytes, void *out)
{
	cl_int rc = clGetMemObjectInfo(mem, what, bytes, out, NULL);

	if (rc != CL_SUCCESS)
		return error_prefix(error_cl("clGetMemObjectInfo", rc) == CHOIR_NO_MEMORY ? CHOIR_NO_MEMORY
		                                                                          : CHOIR_ARGUMENT,
		                    "%s buffer", role);
	return CHOIR_SUCCESS;
}

static choir_status range_mem(choir_device *device, const char *role, choir_buffer buffer, uint64_t bytes,
                              uint64_t elem_bytes)
{
	cl_mem mem = buffer.base;
	cl_mem_object_type type;
	cl_mem_flags flags;
	cl_context context;
	size_t size;
	void *host = NULL;

	TRY(mem_info(role, mem, CL_MEM_TYPE, sizeof type, &type));
	if (type != CL_MEM_OBJECT_BUFFER)
		return error_set(CHOIR_ARGUMENT, "%s buffer: the cl_mem is an image or a pipe, not a buffer", role);
	TRY(mem_info(role, mem, CL_MEM_CONTEXT, sizeof context, &context));
	if (context != device->context)
		return error_set(CHOIR_ARGUMENT,
		                 "%s buffer: the cl_mem belongs to another context than the comm's device", role);
	TRY(mem_info(role, mem, CL_MEM_SIZE, sizeof size, &size));
	TRY(check_fits(role, size, buffer.offset_bytes, bytes));
	TRY(check_aligned(role, "offset", buffer.offset_bytes, elem_bytes));
	TRY(mem_info(role, mem, CL_MEM_FLAGS, sizeof flags, &flags));
	if ((flags & CL_MEM_USE_HOST_PTR) == 0)
		return CHOIR_SUCCESS;
	TRY(mem_info(role, mem, CL_MEM_HOST_PTR, sizeof host, &host));
	return check_aligned(role, "host pointer", (uintptr_t)host, elem_bytes);
}

static choir_status range_pointer(const char *role, choir_buffer buffer, uint64_t bytes, uint64_t elem_bytes)
{
	uintptr_t start = (uintptr_t)buffer.base;

	if (buffer.offset_bytes > UINTPTR_MAX - start || bytes > UINTPTR_MAX - start - buffer.offset_bytes)
		return error_set(
		    CHOIR_ARGUMENT,
		    "%s buffer: a range of %llu byte%s from offset %zu runs past the end of the address space", role,
		    (unsigned long long)bytes, plural(bytes), buffer.offset_bytes);
	return check_aligned(role, "address", start + buffer.offset_bytes, elem_bytes);
}

static choir_status range_svm(choir_device *device, const char *role)
{
	if (device->facts.svm == 0)
		return error_set(CHOIR_UNSUPPORTED, "%s buffer: %s has no shared virtual memory", role,
		                 device->facts.name);
	return CHOIR_SUCCESS;
}

static choir_status range_usm(choir_device *device, const char *role, choir_buffer buffer, uint64_t bytes)
{
	cl_uint kind;
	uintptr_t base;
	size_t size;

	if (device->usm.info == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s buffer: %s lacks cl_intel_unified_shared_memory", role,
		                 device->facts.name);
	TRY(usm_find(device, role, buffer.base, &kind, &base, &size));
	return check_fits(role, size, (uintptr_t)buffer.base - base + buffer.offset_bytes, bytes);
}

choir_status dev_range(choir_device *device, const char *role, choir_buffer buffer, uint64_t bytes, uint64_t elem_bytes)
{
	if (bytes == 0)
		return CHOIR_SUCCESS;
	if (buffer.kind == CHOIR_BUFFER_NONE)
		return error_set(CHOIR_ARGUMENT, "%s buffer: none is given, but the call needs %llu byte%s", role,
		                 (unsigned long long)bytes, plural(bytes));
	if ((unsigned)buffer.kind > CHOIR_BUFFER_USM)
		return error_set(CHOIR_ARGUMENT, "%s buffer: %d is no kind of buffer", role, (int)buffer.kind);
	if (buffer.base == NULL)
		return error_set(CHOIR_ARGUMENT, "%s buffer: null", role);
	if (dev_is_host(device) && buffer.kind != CHOIR_BUFFER_HOST)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s buffer: the comm's device is of host memory alone, so buffers are choir_host()",
		                 role);
	if (buffer.kind == CHOIR_BUFFER_MEM)
		return range_mem(device, role, buffer, bytes, elem_bytes);
	TRY(range_pointer(role, buffer, bytes, elem_bytes));
	if (buffer.kind == CHOIR_BUFFER_SVM)
		return range_svm(device, role);
	if (buffer.kind == CHOIR_BUFFER_USM)
		return range_usm(device, role, buffer, bytes);
	return CHOIR_SUCCESS;
}

/* A cl_mem over the caller's memory is placed by that memory's address, a sub-buffer by its parent. */
bool dev_origin(choir_buffer buffer, struct dev_origin *out)
{
	cl_mem mem = buffer.base, parent = NULL;
	cl_mem_flags flags = 0;
	size_t origin = 0;
	void *host = NULL;

	*out = (struct dev_origin){ NULL, (uintptr_t)buffer.base + buffer.offset_bytes };
	if (buffer.kind != CHOIR_BUFFER_MEM)
		return buffer.kind != CHOIR_BUFFER_NONE && buffer.base != NULL;
	if (mem == NULL ||
	    clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) != CL_SUCCESS)
		return false;
	if (parent != NULL) {
		if (clGetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof origin, &origin, NULL) != CL_SUCCESS)
			return false;
		mem = parent;
	}
	*out = (struct dev_origin){ mem, origin + (uint64_t)buffer.offset_bytes };
	if (clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS)
		return false;
	if ((flags & CL_MEM_USE_HOST_PTR) == 0)
		return true;
	if (clGetMemObjectInfo(mem, CL_MEM_HOST_PTR, sizeof host, &host, NULL) != CL_SUCCESS)
		return false;
	*out = (struct dev_origin){ NULL, (uintptr_t)host + out->at };
	return true;
}

bool dev_overlap(choir_buffer a, uint64_t a_bytes, choir_buffer b, uint64_t b_bytes, bool *same, int64_t *b_minus_a)
{
	struct dev_origin pa, pb;
	bool known = a_bytes > 0 && b_bytes > 0 && dev_origin(a, &pa) && dev_origin(b, &pb) &&
	             pa.root == pb.root; /* the handle of an empty range is not read */

	if (same != NULL)
		*same = known && pa.at == pb.at;
	if (b_minus_a != NULL)
		*b_minus_a = known ? (int64_t)(pb.at - pa.at) : 0;
	if (!known)
		return false;
	return pa.at <= pb.at ? pb.at - pa.at < a_bytes : pa.at - pb.at < b_bytes;
}
