/* SPDX-License-Identifier: MIT */
/* Reads, writes, copies and fills of buffers. */
#include "model.h"

#include <string.h>

/* A range of a buffer for a command; touches it. */
static cl_int take_range(struct command *command, cl_mem mem, size_t off, size_t bytes, bool writes, struct place *out)
{
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(mem);
	if (memory == NULL || memory->refs == 0) {
		rc = CL_INVALID_MEM_OBJECT;
	} else if (memory->context != command->queue->context) {
		rc = CL_INVALID_CONTEXT;
	} else if (bytes == 0 || off > memory->bytes || bytes > memory->bytes - off) {
		rc = CL_INVALID_VALUE;
	} else {
		out->root = memory_root(memory, &off);
		out->off = off;
		command_touch(command, out->root, off, off + bytes, writes);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

/* May the host do that to the buffer? */
static cl_int check_host(cl_mem mem, cl_mem_flags forbidding)
{
	cl_int rc = CL_INVALID_MEM_OBJECT;

	pthread_mutex_lock(&model_lock);
	struct memory *memory = memory_of(mem);
	if (memory != NULL)
		rc = (memory->flags & (forbidding | CL_MEM_HOST_NO_ACCESS)) != 0 ? CL_INVALID_OPERATION : CL_SUCCESS;
	pthread_mutex_unlock(&model_lock);
	return rc;
}

static cl_int end(struct command *command, cl_int rc, cl_command_type type, cl_bool blocking, cl_event *event_p)
{
	if (rc == CL_SUCCESS)
		return command_submit(command, type, blocking, event_p);
	command_drop(command);
	return rc;
}

static void take_host(struct command *command, const void *ptr, size_t bytes, bool writes, struct place *out)
{
	out->host = (unsigned char *)ptr;
	pthread_mutex_lock(&model_lock);
	command_touch(command, NULL, (uintptr_t)ptr, (uintptr_t)ptr + bytes, writes);
	pthread_mutex_unlock(&model_lock);
}

static cl_int CL_API_CALL read(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                               void *ptr, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "read", &command);

	if (rc != CL_SUCCESS)
		return rc;
	command->kind = DO_MOVE;
	command->engine = ENGINE_DOWN;
	command->bytes = bytes;
	rc = ptr != NULL ? take_range(command, mem, off, bytes, false, &command->from) : CL_INVALID_VALUE;
	if (rc == CL_SUCCESS)
		rc = check_host(mem, CL_MEM_HOST_WRITE_ONLY);
	take_host(command, ptr, rc == CL_SUCCESS ? bytes : 0, true, &command->to);
	return end(command, rc, CL_COMMAND_READ_BUFFER, blocking, event_p);
}

static cl_int CL_API_CALL write(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                const void *ptr, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "write", &command);

	if (rc != CL_SUCCESS)
		return rc;
	command->kind = DO_MOVE;
	command->engine = ENGINE_UP;
	command->bytes = bytes;
	rc = ptr != NULL ? take_range(command, mem, off, bytes, true, &command->to) : CL_INVALID_VALUE;
	if (rc == CL_SUCCESS)
		rc = check_host(mem, CL_MEM_HOST_READ_ONLY);
	take_host(command, ptr, rc == CL_SUCCESS ? bytes : 0, false, &command->from);
	return end(command, rc, CL_COMMAND_WRITE_BUFFER, blocking, event_p);
}

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off, size_t to_off,
                               size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "copy", &command);

	if (rc != CL_SUCCESS)
		return rc;
	command->kind = DO_MOVE;
	command->engine = ENGINE_COMPUTE;
	command->bytes = bytes;
	rc = take_range(command, from, from_off, bytes, false, &command->from);
	if (rc == CL_SUCCESS)
		rc = take_range(command, to, to_off, bytes, true, &command->to);
	if (rc == CL_SUCCESS && command->from.root == command->to.root && command->from.off < command->to.off + bytes &&
	    command->to.off < command->from.off + bytes)
		rc = CL_MEM_COPY_OVERLAP;
	return end(command, rc, CL_COMMAND_COPY_BUFFER, CL_FALSE, event_p);
}

static cl_int CL_API_CALL fill(cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_bytes,
                               size_t off, size_t bytes, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "fill", &command);

	if (rc != CL_SUCCESS)
		return rc;
	command->kind = DO_FILL;
	command->engine = ENGINE_COMPUTE;
	command->bytes = bytes;
	command->pattern_bytes = pattern_bytes;
	if (pattern == NULL || pattern_bytes == 0 || pattern_bytes > sizeof command->pattern ||
	    (pattern_bytes & (pattern_bytes - 1)) != 0 || bytes % pattern_bytes != 0 || off % pattern_bytes != 0)
		rc = CL_INVALID_VALUE;
	else
		memcpy(command->pattern, pattern, pattern_bytes);
	if (rc == CL_SUCCESS)
		rc = take_range(command, mem, off, bytes, true, &command->to);
	return end(command, rc, CL_COMMAND_FILL_BUFFER, CL_FALSE, event_p);
}

/* Pitches left out are those of rows and slices without gaps. */
static size_t rect_span(const size_t *region, size_t *row, size_t *slice)
{
	*row = *row != 0 ? *row : region[0];
	*slice = *slice != 0 ? *slice : *row * region[1];
	return (region[2] - 1) * *slice + (region[1] - 1) * *row + region[0];
}

static size_t rect_off(const size_t *origin, size_t row, size_t slice)
{
	return origin[2] * slice + origin[1] * row + origin[0];
}

static cl_int rect(cl_command_queue queue, bool reads, cl_mem mem, cl_bool blocking, const size_t *mem_origin,
                   const size_t *host_origin, const size_t *region, size_t mem_row, size_t mem_slice, size_t host_row,
                   size_t host_slice, void *ptr, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, reads ? "read of a rectangle" : "write of a rectangle", &command);

	if (rc != CL_SUCCESS)
		return rc;
	size_t mem_span = rect_span(region, &mem_row, &mem_slice), span = rect_span(region, &host_row, &host_slice);
	unsigned char *host = (unsigned char *)ptr + rect_off(host_origin, host_row, host_slice);
	struct rect *r = &command->rect;

	command->kind = DO_RECT;
	command->engine = reads ? ENGINE_DOWN : ENGINE_UP;
	command->bytes = region[0] * region[1] * region[2];
	memcpy(r->region, region, sizeof r->region);
	r->to_row = reads ? host_row : mem_row;
	r->to_slice = reads ? host_slice : mem_slice;
	r->from_row = reads ? mem_row : host_row;
	r->from_slice = reads ? mem_slice : host_slice;
	rc = take_range(command, mem, rect_off(mem_origin, mem_row, mem_slice), mem_span, !reads,
	                reads ? &command->from : &command->to);
	if (rc == CL_SUCCESS)
		rc = check_host(mem, reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
	take_host(command, host, span, reads, reads ? &command->to : &command->from);
	return end(command, rc, reads ? CL_COMMAND_READ_BUFFER_RECT : CL_COMMAND_WRITE_BUFFER_RECT, blocking, event_p);
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *mem_origin,
                                    const size_t *host_origin, const size_t *region, size_t mem_row, size_t mem_slice,
                                    size_t host_row, size_t host_slice, void *ptr, cl_uint n, const cl_event *list,
                                    cl_event *event_p)
{
	return rect(queue, true, mem, blocking, mem_origin, host_origin, region, mem_row, mem_slice, host_row,
	            host_slice, ptr, n, list, event_p);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *mem_origin,
                                     const size_t *host_origin, const size_t *region, size_t mem_row, size_t mem_slice,
                                     size_t host_row, size_t host_slice, const void *ptr, cl_uint n,
                                     const cl_event *list, cl_event *event_p)
{
	return rect(queue, false, mem, blocking, mem_origin, host_origin, region, mem_row, mem_slice, host_row,
	            host_slice, (void *)ptr, n, list, event_p);
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                                    const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                                    size_t to_row, size_t to_slice, cl_uint n, const cl_event *list, cl_event *event_p)
{
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "copy of a rectangle", &command);

	if (rc != CL_SUCCESS)
		return rc;
	size_t from_span = rect_span(region, &from_row, &from_slice), to_span = rect_span(region, &to_row, &to_slice);

	command->kind = DO_RECT;
	command->engine = ENGINE_COMPUTE;
	command->bytes = region[0] * region[1] * region[2];
	memcpy(command->rect.region, region, sizeof command->rect.region);
	command->rect.to_row = to_row;
	command->rect.to_slice = to_slice;
	command->rect.from_row = from_row;
	command->rect.from_slice = from_slice;
	rc = take_range(command, from, rect_off(from_origin, from_row, from_slice), from_span, false, &command->from);
	if (rc == CL_SUCCESS)
		rc = take_range(command, to, rect_off(to_origin, to_row, to_slice), to_span, true, &command->to);
	return end(command, rc, CL_COMMAND_COPY_BUFFER_RECT, CL_FALSE, event_p);
}

void copies_install(struct _cl_icd_dispatch *mine)
{
	mine->clEnqueueReadBuffer = read;
	mine->clEnqueueWriteBuffer = write;
	mine->clEnqueueCopyBuffer = copy;
	mine->clEnqueueFillBuffer = fill;
	mine->clEnqueueReadBufferRect = read_rect;
	mine->clEnqueueWriteBufferRect = write_rect;
	mine->clEnqueueCopyBufferRect = copy_rect;
}
