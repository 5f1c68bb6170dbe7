/* SPDX-License-Identifier: MIT */
/* cl_intel_unified_shared_memory.  The device's is a pointer that the host cannot follow.  The host's and shared memory
 * is the same bytes for both. */
#include "model.h"

#include <CL/cl_ext.h>
#include <string.h>
#include <sys/mman.h>

static bool show(struct memory *root)
{
	bool is_far = root->usm == CL_MEM_TYPE_DEVICE_INTEL;

	root->pinned = root->usm == CL_MEM_TYPE_HOST_INTEL;
	root->host_ptr = is_far ? NULL : root->device;
	return memory_show(root) && (!is_far || mprotect(root->view, root->room, PROT_NONE) == 0);
}

static void *allocate(cl_context handle, cl_uint kind, size_t bytes, cl_uint alignment, cl_int *rc_p)
{
	struct memory *root = NULL;
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	if (context == NULL)
		rc = CL_INVALID_CONTEXT;
	else if (bytes == 0)
		rc = CL_INVALID_BUFFER_SIZE;
	else if (alignment > 4096 || (alignment & (alignment - 1)) != 0)
		rc = CL_INVALID_VALUE;
	else
		root = memory_create(context, CL_MEM_READ_WRITE, bytes, NULL);
	if (root != NULL) {
		root->usm = kind;
		if (!show(root)) {
			root->refs = root->uses = 0;
			root = NULL;
		}
	}
	pthread_mutex_unlock(&model_lock);
	if (rc_p != NULL)
		*rc_p = rc == CL_SUCCESS && root == NULL ? CL_OUT_OF_HOST_MEMORY : rc;
	return root != NULL ? root->view : NULL;
}

static void *CL_API_CALL alloc_host(cl_context context, const cl_mem_properties_intel *properties, size_t bytes,
                                    cl_uint alignment, cl_int *rc_p)
{
	(void)properties;
	return allocate(context, CL_MEM_TYPE_HOST_INTEL, bytes, alignment, rc_p);
}

static void *CL_API_CALL alloc_shared(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t bytes, cl_uint alignment,
                                      cl_int *rc_p)
{
	(void)device;
	(void)properties;
	return allocate(context, CL_MEM_TYPE_SHARED_INTEL, bytes, alignment, rc_p);
}

static void *CL_API_CALL alloc_device(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t bytes, cl_uint alignment,
                                      cl_int *rc_p)
{
	(void)properties;
	if (device_of(device) == NULL) {
		if (rc_p != NULL)
			*rc_p = CL_INVALID_DEVICE;
		return NULL;
	}
	return allocate(context, CL_MEM_TYPE_DEVICE_INTEL, bytes, alignment, rc_p);
}

/* Under the lock: NULL where ptr is in no memory of this kind. */
static struct memory *root_at(const void *ptr)
{
	struct memory *root = memory_viewed_at(ptr);

	return root != NULL && root->usm != 0 && root->refs > 0 ? root : NULL;
}

static cl_int CL_API_CALL give(cl_context context, void *ptr)
{
	bool last = false;

	(void)context;
	if (ptr == NULL)
		return CL_SUCCESS;
	pthread_mutex_lock(&model_lock);
	struct memory *root = root_at(ptr);
	if (root == NULL || root->view != ptr) {
		report("freed", "clMemFreeINTEL of memory that is none");
	} else {
		order_freed("unified shared memory", root, 0, root->bytes);
		root->refs = 0;
		last = memory_unuse(root);
	}
	pthread_mutex_unlock(&model_lock);
	if (last)
		memory_destroy(root);
	return root != NULL ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL get_info(cl_context context, const void *ptr, cl_mem_info_intel what, size_t room, void *out,
                                   size_t *bytes_p)
{
	cl_unified_shared_memory_type_intel kind = CL_MEM_TYPE_UNKNOWN_INTEL;
	void *base = NULL;
	size_t bytes = 0;

	pthread_mutex_lock(&model_lock);
	const struct memory *root = root_at(ptr);
	if (root != NULL && root->context == context_of(context)) {
		kind = root->usm;
		base = root->view;
		bytes = root->bytes;
	}
	pthread_mutex_unlock(&model_lock);
	switch (what) {
	case CL_MEM_ALLOC_TYPE_INTEL:
		return answer(&kind, sizeof kind, room, out, bytes_p);
	case CL_MEM_ALLOC_BASE_PTR_INTEL:
		return answer(&base, sizeof base, room, out, bytes_p);
	case CL_MEM_ALLOC_SIZE_INTEL:
		return answer(&bytes, sizeof bytes, room, out, bytes_p);
	default:
		return CL_INVALID_VALUE;
	}
}

static clHostMemAllocINTEL_fn host_fn = alloc_host;
static clSharedMemAllocINTEL_fn shared_fn = alloc_shared;
static clDeviceMemAllocINTEL_fn device_fn = alloc_device;
static clMemFreeINTEL_fn free_fn = give;
static clGetMemAllocInfoINTEL_fn info_fn = get_info;
static clEnqueueMemcpyINTEL_fn copy_fn = svm_copy;
static clSetKernelArgMemPointerINTEL_fn argument_fn = kernel_set_pointer;

void *usm_function(const char *name)
{
	static const struct {
		const char *name;
		const void *fn_p;
	} functions[] = {
		{ "clHostMemAllocINTEL", &host_fn },
		{ "clSharedMemAllocINTEL", &shared_fn },
		{ "clDeviceMemAllocINTEL", &device_fn },
		{ "clMemFreeINTEL", &free_fn },
		{ "clGetMemAllocInfoINTEL", &info_fn },
		{ "clEnqueueMemcpyINTEL", &copy_fn },
		{ "clSetKernelArgMemPointerINTEL", &argument_fn },
	};
	void *fn = NULL;

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(name, functions[i].name) == 0)
			memcpy(&fn, functions[i].fn_p, sizeof fn);
	return fn;
}
