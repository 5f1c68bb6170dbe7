/* SPDX-License-Identifier: MIT */
/* Buffers: device memory that only commands reach, and a view where maps show it to the host. */
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct table memories;
static struct memory *viewed;

struct memory *memory_of(cl_mem handle)
{
	return handle != NULL ? table_find(&memories, handle) : NULL;
}

struct memory *memory_root(struct memory *memory, size_t *off)
{
	while (memory->parent != NULL) {
		*off += memory->origin;
		memory = memory->parent;
	}
	return memory;
}

struct memory *memory_viewed_at(const void *ptr)
{
	const unsigned char *at = ptr;
	struct memory *memory = viewed;

	while (memory != NULL && !(at >= memory->view && at < memory->view + memory->bytes))
		memory = memory->next;
	return memory;
}

void memory_use(struct memory *memory)
{
	memory->uses++;
}

static void hide_view(struct memory *memory)
{
	struct memory **link = &viewed;

	while (*link != NULL && *link != memory)
		link = &(*link)->next;
	if (*link != NULL)
		*link = memory->next;
}

bool memory_unuse(struct memory *memory)
{
	if (--memory->uses > 0 || memory->refs > 0)
		return false;
	if (memory->handle != NULL)
		table_remove(&memories, memory->handle);
	hide_view(memory);
	return true;
}

void memory_destroy(struct memory *memory)
{
	struct memory *parent = memory->parent;

	if (memory->handle != NULL)
		below->clReleaseMemObject(memory->handle);
	pthread_mutex_lock(&model_lock);
	order_forget(memory);
	bool last = parent != NULL && memory_unuse(parent);
	pthread_mutex_unlock(&model_lock);
	if (memory->device != NULL)
		munmap(memory->device, memory->room);
	if (memory->view != NULL && memory->view != memory->host_ptr)
		munmap(memory->view, memory->room);
	while (memory->mappings != NULL) {
		struct mapping *next = memory->mappings->next;

		free(memory->mappings);
		memory->mappings = next;
	}
	free(memory);
	if (last)
		memory_destroy(parent);
}

/* Bytes that no program should count on. */
void memory_scramble(struct memory *root, size_t from, size_t to)
{
	if (root->view != NULL && root->view != root->host_ptr)
		memset(root->view + from, 0xdb, to - from);
}

static unsigned char *pages(size_t room)
{
	void *ptr = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ptr != MAP_FAILED)
		(void)madvise(ptr, room, MADV_HUGEPAGE);
	return ptr != MAP_FAILED ? ptr : NULL;
}

/* A root with its device memory, whose first bytes are what a GPU's fresh memory is: anything. */
struct memory *memory_create(struct context *context, cl_mem_flags flags, size_t bytes, void *host_ptr)
{
	enum { SCRAMBLED = 1 << 20 };
	struct memory *memory = calloc(1, sizeof *memory);

	if (memory == NULL)
		return NULL;
	*memory = (struct memory){ .context = context, .bytes = bytes, .flags = flags, .refs = 1, .uses = 1 };
	memory->room = (bytes + 4095) / 4096 * 4096;
	memory->device = pages(memory->room);
	if (memory->device == NULL) {
		free(memory);
		return NULL;
	}
	if ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0)
		memcpy(memory->device, host_ptr, bytes);
	else
		memset(memory->device, 0xe7, bytes < SCRAMBLED ? bytes : SCRAMBLED);
	if ((flags & CL_MEM_USE_HOST_PTR) != 0)
		memory->host_ptr = host_ptr;
	memory->pinned = (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR)) != 0;
	return memory;
}

/* The view is made by the first map; false: no memory. */
bool memory_show(struct memory *root)
{
	if (root->view != NULL)
		return true;
	root->view = root->host_ptr != NULL ? root->host_ptr : pages(root->room);
	if (root->view == NULL)
		return false;
	root->next = viewed;
	viewed = root;
	return true;
}

static cl_int check_flags(cl_mem_flags flags, size_t bytes, const void *host_ptr)
{
	bool wants_ptr = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;

	if ((flags & CL_MEM_USE_HOST_PTR) != 0 && (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) != 0)
		return CL_INVALID_VALUE;
	if (bytes == 0)
		return CL_INVALID_BUFFER_SIZE;
	return wants_ptr == (host_ptr != NULL) ? CL_SUCCESS : CL_INVALID_HOST_PTR;
}

static cl_mem CL_API_CALL create(cl_context handle, cl_mem_flags flags, size_t bytes, void *host_ptr, cl_int *rc_p)
{
	cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
	cl_int rc = check_flags(flags, bytes, host_ptr);
	struct memory *memory = NULL;
	cl_ulong most = 0;

	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS && context == NULL)
		rc = CL_INVALID_CONTEXT;
	if (rc == CL_SUCCESS) {
		below->clGetDeviceInfo(context->devices[0]->below, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most,
		                       NULL);
		rc = bytes > most ? CL_INVALID_BUFFER_SIZE : CL_SUCCESS;
	}
	if (rc == CL_SUCCESS && (memory = memory_create(context, flags, bytes, host_ptr)) == NULL)
		rc = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	if (rc == CL_SUCCESS)
		memory->handle =
		    below->clCreateBuffer(handle, access | CL_MEM_USE_HOST_PTR, memory->room, memory->device, &rc);
	if (rc == CL_SUCCESS) {
		pthread_mutex_lock(&model_lock);
		if (memory->host_ptr != NULL)
			(void)memory_show(memory); /* copies from and to it find that it is pinned */
		table_add(&memories, memory->handle, memory);
		pthread_mutex_unlock(&model_lock);
	} else if (memory != NULL) {
		munmap(memory->device, memory->room);
		free(memory);
	}
	if (rc_p != NULL)
		*rc_p = rc;
	return rc == CL_SUCCESS ? memory->handle : NULL;
}

static cl_mem CL_API_CALL create_sub(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
                                     cl_int *rc_p)
{
	const cl_buffer_region *region = info;
	struct memory *memory = calloc(1, sizeof *memory);
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct memory *parent = memory_of(handle);
	if (memory == NULL)
		rc = CL_OUT_OF_HOST_MEMORY;
	else if (parent == NULL || parent->parent != NULL)
		rc = CL_INVALID_MEM_OBJECT;
	else if (type != CL_BUFFER_CREATE_TYPE_REGION || region == NULL || region->origin > parent->bytes ||
	         region->size > parent->bytes - region->origin)
		rc = CL_INVALID_VALUE;
	else
		memory_use(parent);
	pthread_mutex_unlock(&model_lock);
	cl_mem sub = NULL;
	if (rc == CL_SUCCESS) {
		cl_mem_flags mask = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;

		sub = below->clCreateSubBuffer(handle, flags & mask, type, info, &rc);
		cl_mem_flags host = CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY;
		cl_mem_flags kinds = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
		cl_mem_flags all = flags | ((flags & mask) == 0 ? parent->flags & mask : 0) |
		                   ((flags & host) == 0 ? parent->flags & host : 0) | (parent->flags & kinds);
		*memory = (struct memory){ .handle = sub,
			                   .parent = parent,
			                   .origin = region->origin,
			                   .bytes = region->size,
			                   .context = parent->context,
			                   .flags = all,
			                   .refs = 1,
			                   .uses = 1 };
		if (parent->host_ptr != NULL)
			memory->host_ptr = (unsigned char *)parent->host_ptr + region->origin;
		pthread_mutex_lock(&model_lock);
		if (rc == CL_SUCCESS)
			table_add(&memories, sub, memory);
		else
			memory_unuse(parent);
		pthread_mutex_unlock(&model_lock);
	}
	if (rc != CL_SUCCESS)
		free(memory);
	if (rc_p != NULL)
		*rc_p = rc;
	return rc == CL_SUCCESS ? sub : NULL;
}

static cl_int CL_API_CALL retain(cl_mem handle)
{
	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(handle);
	bool known = memory != NULL && memory->refs > 0;
	if (known)
		memory->refs++;
	pthread_mutex_unlock(&model_lock);
	return known ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

static cl_int CL_API_CALL release(cl_mem handle)
{
	bool last = false;

	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(handle);
	bool known = memory != NULL && memory->refs > 0;
	if (known && --memory->refs == 0) {
		if (memory->view != NULL)
			order_freed("a released buffer's map", NULL, (uintptr_t)memory->view,
			            (uintptr_t)memory->view + memory->bytes);
		last = memory_unuse(memory);
	}
	pthread_mutex_unlock(&model_lock);
	if (!known) {
		report("freed", "clReleaseMemObject of a buffer that is no more");
		return CL_INVALID_MEM_OBJECT;
	}
	if (last)
		memory_destroy(memory);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_info(cl_mem handle, cl_mem_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_uint maps = 0, refs;

	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(handle);
	if (memory == NULL || memory->refs == 0) {
		pthread_mutex_unlock(&model_lock);
		return CL_INVALID_MEM_OBJECT;
	}
	cl_mem_flags flags = memory->flags;
	size_t bytes = memory->bytes;
	void *host_ptr = memory->host_ptr;
	for (const struct mapping *m = memory->mappings; m != NULL; m = m->next)
		maps += !m->leaving;
	refs = memory->refs;
	pthread_mutex_unlock(&model_lock);
	flags |= (flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)) == 0 ? CL_MEM_READ_WRITE : 0;
	switch (what) {
	case CL_MEM_FLAGS:
		return answer(&flags, sizeof flags, room, out, bytes_p);
	case CL_MEM_SIZE:
		return answer(&bytes, sizeof bytes, room, out, bytes_p);
	case CL_MEM_HOST_PTR:
		return answer(&host_ptr, sizeof host_ptr, room, out, bytes_p);
	case CL_MEM_MAP_COUNT:
		return answer(&maps, sizeof maps, room, out, bytes_p);
	case CL_MEM_REFERENCE_COUNT:
		return answer(&refs, sizeof refs, room, out, bytes_p);
	default:
		return below->clGetMemObjectInfo(handle, what, room, out, bytes_p);
	}
}

struct destructor {
	void(CL_CALLBACK *fn)(cl_mem, void *);
	void *arg;
};

static void CL_CALLBACK call_destructor(cl_mem handle, void *arg)
{
	struct destructor *destructor = arg;
	bool outer = callback_enter();

	destructor->fn(handle, destructor->arg);
	callback_leave(outer);
	free(destructor);
}

static cl_int CL_API_CALL set_destructor(cl_mem handle, void(CL_CALLBACK *fn)(cl_mem, void *), void *arg)
{
	struct destructor *destructor = fn != NULL ? malloc(sizeof *destructor) : NULL;

	if (destructor == NULL)
		return fn == NULL ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
	*destructor = (struct destructor){ fn, arg };
	cl_int rc = below->clSetMemObjectDestructorCallback(handle, call_destructor, destructor);
	if (rc != CL_SUCCESS)
		free(destructor);
	return rc;
}

void memory_install(struct _cl_icd_dispatch *mine)
{
	mine->clCreateBuffer = create;
	mine->clCreateSubBuffer = create_sub;
	mine->clRetainMemObject = retain;
	mine->clReleaseMemObject = release;
	mine->clGetMemObjectInfo = get_info;
	mine->clSetMemObjectDestructorCallback = set_destructor;
}
