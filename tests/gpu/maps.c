/* SPDX-License-Identifier: MIT */
/* Maps and unmaps, of buffers and of shared virtual memory; its copies and fills. */
#include "model.h"

#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

/* The command shows bytes from..to of a root; NULL: no memory.  Under the lock. */
static struct mapping *add_mapping(struct command *command, struct memory *root, size_t from, size_t to,
                                   cl_map_flags flags)
{
	struct mapping *mapping = memory_show(root) ? calloc(1, sizeof *mapping) : NULL;

	if (mapping == NULL)
		return NULL;
	*mapping =
	    (struct mapping){ root->mappings, from, to, (flags & ~(cl_map_flags)CL_MAP_READ) != 0, false, false };
	root->mappings = mapping;
	command->kind = DO_MAP;
	command->engine = ENGINE_DOWN;
	command->mapping = mapping;
	command->discards = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
	command->bytes = command->discards ? 0 : to - from;
	command->to.root = root;
	command_touch(command, root, from, to, false);
	command_touch(command, NULL, (uintptr_t)root->view + from, (uintptr_t)root->view + to, true);
	return mapping;
}

/* The map that ptr came of and that nobody unmapped yet; reads before writes. */
static struct mapping *mapping_at(struct memory *root, size_t off)
{
	struct mapping *found = NULL;

	for (struct mapping *m = root->mappings; m != NULL; m = m->next)
		if (m->from == off && !m->leaving && (found == NULL || !m->writes))
			found = m;
	return found;
}

static cl_int take_back(struct command *command, struct memory *root, const unsigned char *ptr)
{
	size_t off = (size_t)(ptr - root->view);
	struct mapping *m = root->view != NULL && off < root->bytes ? mapping_at(root, off) : NULL;

	if (m == NULL)
		return CL_INVALID_VALUE;
	m->leaving = true;
	command->kind = DO_UNMAP;
	command->engine = ENGINE_UP;
	command->mapping = m;
	command->bytes = m->writes ? m->to - m->from : 0;
	command->to.root = root;
	command_touch(command, root, m->from, m->to, m->writes);
	command_touch(command, NULL, (uintptr_t)root->view + m->from, (uintptr_t)root->view + m->to, true);
	return CL_SUCCESS;
}

static void *CL_API_CALL map(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t off,
                             size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p, cl_int *rc_p)
{
	bool reads = (flags & CL_MAP_READ) != 0, writes = (flags & ~(cl_map_flags)CL_MAP_READ) != 0;
	struct command *command;
	unsigned char *ptr = NULL;
	cl_int rc = command_begin(queue, n, list, "map", &command), ignored;

	rc_p = rc_p != NULL ? rc_p : &ignored;
	*rc_p = rc;
	if (rc != CL_SUCCESS)
		return NULL;
	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(mem);
	if (memory == NULL || memory->refs == 0)
		rc = CL_INVALID_MEM_OBJECT;
	else if (memory->context != command->queue->context)
		rc = CL_INVALID_CONTEXT;
	else if (bytes == 0 || off > memory->bytes || bytes > memory->bytes - off)
		rc = CL_INVALID_VALUE;
	else if ((memory->flags & CL_MEM_HOST_NO_ACCESS) != 0 ||
	         (reads && (memory->flags & CL_MEM_HOST_WRITE_ONLY) != 0) ||
	         (writes && (memory->flags & CL_MEM_HOST_READ_ONLY) != 0))
		rc = CL_INVALID_OPERATION;
	if (rc == CL_SUCCESS) {
		struct memory *root = memory_root(memory, &off);

		if (add_mapping(command, root, off, off + bytes, flags) == NULL)
			rc = CL_MAP_FAILURE;
		else
			ptr = root->view + off;
	}
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS)
		rc = command_submit(command, CL_COMMAND_MAP_BUFFER, blocking, event_p);
	else
		command_drop(command);
	*rc_p = rc;
	return ptr;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem mem, void *ptr, cl_uint n, const cl_event *list,
                                cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "unmap", &command);

	if (rc != CL_SUCCESS)
		return rc;
	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(mem);
	size_t off = 0;
	rc = memory == NULL || memory->refs == 0 ? CL_INVALID_MEM_OBJECT
	                                         : take_back(command, memory_root(memory, &off), ptr);
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS)
		return command_submit(command, CL_COMMAND_UNMAP_MEM_OBJECT, CL_FALSE, event_p);
	command_drop(command);
	return rc;
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *ptr, size_t bytes,
                                  cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "map of shared virtual memory", &command);

	if (rc != CL_SUCCESS)
		return rc;
	pthread_mutex_lock(&model_lock);
	struct memory *root = memory_viewed_at(ptr);
	if (root == NULL || root->handle != NULL || bytes > root->bytes - (size_t)((unsigned char *)ptr - root->view) ||
	    bytes == 0)
		rc = CL_INVALID_VALUE;
	else if (add_mapping(command, root, (size_t)((unsigned char *)ptr - root->view),
	                     (size_t)((unsigned char *)ptr - root->view) + bytes, flags) == NULL)
		rc = CL_OUT_OF_HOST_MEMORY;
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS)
		return command_submit(command, CL_COMMAND_SVM_MAP, blocking, event_p);
	command_drop(command);
	return rc;
}

static cl_int CL_API_CALL svm_unmap(cl_command_queue queue, void *ptr, cl_uint n, const cl_event *list,
                                    cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "unmap of shared virtual memory", &command);

	if (rc != CL_SUCCESS)
		return rc;
	pthread_mutex_lock(&model_lock);
	struct memory *root = memory_viewed_at(ptr);
	rc = root == NULL || root->handle != NULL ? CL_INVALID_VALUE : take_back(command, root, ptr);
	pthread_mutex_unlock(&model_lock);
	if (rc == CL_SUCCESS)
		return command_submit(command, CL_COMMAND_SVM_UNMAP, CL_FALSE, event_p);
	command_drop(command);
	return rc;
}

static void *CL_API_CALL svm_alloc(cl_context handle, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment)
{
	struct memory *root = NULL;

	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	if (context != NULL && bytes > 0 && alignment <= 4096 && (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) == 0)
		root = memory_create(context, CL_MEM_READ_WRITE, bytes, NULL);
	if (root != NULL && !memory_show(root)) {
		root->refs = 0;
		root->uses = 0;
		root = NULL;
	}
	pthread_mutex_unlock(&model_lock);
	return root != NULL ? root->view : NULL;
}

static void CL_API_CALL svm_free(cl_context handle, void *ptr)
{
	bool last = false;

	(void)handle;
	if (ptr == NULL)
		return;
	pthread_mutex_lock(&model_lock);
	struct memory *root = memory_viewed_at(ptr);
	if (root == NULL || root->handle != NULL || root->view != ptr || root->refs == 0) {
		report("freed", "clSVMFree of memory that is none");
	} else {
		order_freed("shared virtual memory", root, 0, root->bytes);
		order_freed("a map of shared virtual memory", NULL, (uintptr_t)root->view,
		            (uintptr_t)root->view + root->bytes);
		root->refs = 0;
		last = memory_unuse(root);
	}
	pthread_mutex_unlock(&model_lock);
	if (last)
		memory_destroy(root);
}

/* Does the bus lie between that place and the device? */
static bool is_host(const struct place *place)
{
	return place->root == NULL || place->root->usm == CL_MEM_TYPE_HOST_INTEL;
}

/* A side of a copy: shared virtual memory is the device's, any other pointer the host's. */
static cl_int take_pointer(struct command *command, const void *ptr, size_t bytes, bool writes, struct place *out)
{
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct memory *root = memory_viewed_at(ptr);
	if (root != NULL && root->handle == NULL) {
		out->root = root;
		out->off = (size_t)((const unsigned char *)ptr - root->view);
		rc = bytes <= root->bytes - out->off ? CL_SUCCESS : CL_INVALID_VALUE;
		command_touch(command, root, out->off, out->off + bytes, writes);
	} else {
		out->host = (unsigned char *)ptr;
		command_touch(command, NULL, (uintptr_t)ptr, (uintptr_t)ptr + bytes, writes);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,
                            cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "copy of shared virtual memory", &command);

	if (rc != CL_SUCCESS)
		return rc;
	rc = to != NULL && from != NULL && bytes > 0 ? CL_SUCCESS : CL_INVALID_VALUE;
	if (rc == CL_SUCCESS)
		rc = take_pointer(command, from, bytes, false, &command->from);
	if (rc == CL_SUCCESS)
		rc = take_pointer(command, to, bytes, true, &command->to);
	command->kind = DO_MOVE;
	command->bytes = bytes;
	command->engine = is_host(&command->to) ? ENGINE_DOWN : is_host(&command->from) ? ENGINE_UP : ENGINE_COMPUTE;
	if (rc == CL_SUCCESS)
		return command_submit(command, CL_COMMAND_SVM_MEMCPY, blocking, event_p);
	command_drop(command);
	return rc;
}

static cl_int CL_API_CALL svm_copy_of_core(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                           size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p)
{
	if (blocking)
		report("svm", "a blocking copy of shared virtual memory");
	return svm_copy(queue, blocking, to, from, bytes, n, list, event_p);
}

static cl_int CL_API_CALL svm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_bytes,
                                   size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "fill of shared virtual memory", &command);

	if (rc != CL_SUCCESS)
		return rc;
	rc = to != NULL && pattern != NULL && pattern_bytes > 0 && pattern_bytes <= sizeof command->pattern &&
	             bytes % pattern_bytes == 0
	         ? take_pointer(command, to, bytes, true, &command->to)
	         : CL_INVALID_VALUE;
	command->kind = DO_FILL;
	command->engine = ENGINE_COMPUTE;
	command->bytes = bytes;
	command->pattern_bytes = pattern_bytes;
	if (rc == CL_SUCCESS) {
		memcpy(command->pattern, pattern, pattern_bytes);
		return command_submit(command, CL_COMMAND_SVM_MEMFILL, CL_FALSE, event_p);
	}
	command_drop(command);
	return rc;
}

void maps_install(struct _cl_icd_dispatch *mine)
{
	mine->clEnqueueMapBuffer = map;
	mine->clEnqueueUnmapMemObject = unmap;
}

void svm_install(struct _cl_icd_dispatch *mine)
{
	mine->clSVMAlloc = svm_alloc;
	mine->clSVMFree = svm_free;
	mine->clEnqueueSVMMap = svm_map;
	mine->clEnqueueSVMUnmap = svm_unmap;
	mine->clEnqueueSVMMemcpy = svm_copy_of_core;
	mine->clEnqueueSVMMemFill = svm_fill;
}
