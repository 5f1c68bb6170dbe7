/* SPDX-License-Identifier: MIT */
/* An OpenCL layer (OPENCL_LAYERS) that counts, for each thread, the calls in which the host waits for a device:
 * clFinish, clWaitForEvents of what is not complete, copies and maps that block.  waits_of_thread tells the caller's.
 *
 * A process may have several loaders of OpenCL, each of which initialises this layer: each gets a table of its own.
 * All pass on to the drivers by the handle that a call is given, so it does not matter which one is below. */
#include "info.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

unsigned long waits_of_thread(void);

static const struct _cl_icd_dispatch *below;
static _Thread_local unsigned long waits;

unsigned long waits_of_thread(void)
{
	return waits;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
	waits++;
	return below->clFinish(queue);
}

/* Of an event that is complete it only makes what the device wrote visible. */
static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	bool runs = false;

	for (cl_uint i = 0; i < n; i++) {
		cl_int status = CL_COMPLETE;

		below->clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
		runs |= status > CL_COMPLETE;
	}
	waits += runs;
	return below->clWaitForEvents(n, events);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes,
                                      void *out, cl_uint n, const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueReadBuffer(queue, mem, blocks, off, bytes, out, n, events, event_p);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t off, size_t bytes,
                                       const void *in, cl_uint n, const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueWriteBuffer(queue, mem, blocks, off, bytes, in, n, events, event_p);
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *off,
                                    const size_t *out_off, const size_t *region, size_t row, size_t slice,
                                    size_t out_row, size_t out_slice, void *out, cl_uint n, const cl_event *events,
                                    cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueReadBufferRect(queue, mem, blocks, off, out_off, region, row, slice, out_row, out_slice,
	                                      out, n, events, event_p);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *off,
                                     const size_t *in_off, const size_t *region, size_t row, size_t slice,
                                     size_t in_row, size_t in_slice, const void *in, cl_uint n, const cl_event *events,
                                     cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueWriteBufferRect(queue, mem, blocks, off, in_off, region, row, slice, in_row, in_slice,
	                                       in, n, events, event_p);
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
                                     const size_t *region, size_t row, size_t slice, void *out, cl_uint n,
                                     const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueReadImage(queue, image, blocks, origin, region, row, slice, out, n, events, event_p);
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
                                      const size_t *region, size_t row, size_t slice, const void *in, cl_uint n,
                                      const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueWriteImage(queue, image, blocks, origin, region, row, slice, in, n, events, event_p);
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocks, cl_map_flags flags,
                                   const size_t *origin, const size_t *region, size_t *row_p, size_t *slice_p,
                                   cl_uint n, const cl_event *events, cl_event *event_p, cl_int *rc_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueMapImage(queue, image, blocks, flags, origin, region, row_p, slice_p, n, events, event_p,
	                                rc_p);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, cl_map_flags flags, size_t off,
                                    size_t bytes, cl_uint n, const cl_event *events, cl_event *event_p, cl_int *rc_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueMapBuffer(queue, mem, blocks, flags, off, bytes, n, events, event_p, rc_p);
}

static cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocks, cl_map_flags flags, void *svm, size_t bytes,
                                  cl_uint n, const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueSVMMap(queue, blocks, flags, svm, bytes, n, events, event_p);
}

static cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocks, void *to, const void *from, size_t bytes,
                                   cl_uint n, const cl_event *events, cl_event *event_p)
{
	waits += blocks != CL_FALSE;
	return below->clEnqueueSVMMemcpy(queue, blocks, to, from, bytes, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out, size_t *bytes_p)
{
	return layer_info("choir's tests: the host's waits are counted", what, room, out, bytes_p);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const struct _cl_icd_dispatch *target, cl_uint *n_p,
                                            const struct _cl_icd_dispatch **out_p)
{
	struct _cl_icd_dispatch *mine;

	if (target == NULL || n_p == NULL || out_p == NULL || n * sizeof(void *) < sizeof *mine)
		return CL_INVALID_VALUE;
	mine = malloc(sizeof *mine); /* the loader's, as long as the process lives */
	if (mine == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	*mine = *target;
	mine->clFinish = finish;
	mine->clWaitForEvents = wait_for_events;
	mine->clEnqueueReadBuffer = read_buffer;
	mine->clEnqueueWriteBuffer = write_buffer;
	mine->clEnqueueReadBufferRect = read_rect;
	mine->clEnqueueWriteBufferRect = write_rect;
	mine->clEnqueueReadImage = read_image;
	mine->clEnqueueWriteImage = write_image;
	mine->clEnqueueMapImage = map_image;
	mine->clEnqueueMapBuffer = map_buffer;
	mine->clEnqueueSVMMap = svm_map;
	mine->clEnqueueSVMMemcpy = svm_copy;
	below = target;
	*n_p = sizeof *mine / sizeof(void *);
	*out_p = mine;
	return CL_SUCCESS;
}
