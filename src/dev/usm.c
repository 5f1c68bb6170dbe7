/* SPDX-License-Identifier: MIT */
#include "dev/device_impl.h"

choir_status usm_find(const choir_device *device, const char *role, const void *pointer, cl_uint *kind_p,
                      uintptr_t *base_p, size_t *bytes_p)
{
	cl_unified_shared_memory_type_intel kind = CL_MEM_TYPE_UNKNOWN_INTEL;
	void *base = NULL;
	size_t bytes = 0;
	cl_int rc = device->usm.info(device->context, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof kind, &kind, NULL);

	if (rc == CL_SUCCESS && kind == CL_MEM_TYPE_UNKNOWN_INTEL)
		return error_set(CHOIR_ARGUMENT,
		                 "%s buffer: the pointer is in no unified shared memory of the device's context", role);
	if (rc == CL_SUCCESS)
		rc = device->usm.info(device->context, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof base, &base, NULL);
	if (rc == CL_SUCCESS)
		rc = device->usm.info(device->context, pointer, CL_MEM_ALLOC_SIZE_INTEL, sizeof bytes, &bytes, NULL);
	if (rc != CL_SUCCESS)
		return error_cl("clGetMemAllocInfoINTEL", rc);
	*kind_p = kind;
	*base_p = (uintptr_t)base;
	*bytes_p = bytes;
	return CHOIR_SUCCESS;
}
