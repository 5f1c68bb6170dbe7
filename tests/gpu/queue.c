/* SPDX-License-Identifier: MIT */
/* Queues, in order; what they hold until it may start. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x6d6f64656c717565u

struct queue *queues;

struct queue *queue_of(cl_command_queue handle)
{
	for (struct queue *queue = queues; queue != NULL; queue = queue->next)
		if (queue == (struct queue *)handle)
			return queue->magic == MAGIC && queue->refs > 0 ? queue : NULL;
	return NULL;
}

void queue_flush(struct queue *queue)
{
	int64_t now = now_ns();

	for (struct command *c = queue->head; c != NULL; c = c->next)
		if (!c->flushed) {
			int64_t jitter = options.jitter_us > 0 && draw_one_in(4)
			                     ? (int64_t)(draw() % (uint64_t)(options.jitter_us * 1000 + 1))
			                     : 0;

			c->flushed = true;
			c->ready_ns = now + jitter;
			c->event->status = CL_SUBMITTED;
			c->event->times[1] = (cl_ulong)now;
		}
	schedule();
}

/* The last use: nothing is in the queue any more. */
void queue_unuse(struct queue *queue)
{
	struct queue **link = &queues;

	if (--queue->uses > 0 || queue->refs > 0)
		return;
	while (*link != NULL && *link != queue)
		link = &(*link)->next;
	if (*link != NULL)
		*link = queue->next;
	clock_slot_give(queue->slot, queue->index);
	queue->magic = 0;
	free(queue);
}

static cl_command_queue create_with(cl_context handle, cl_device_id id, cl_command_queue_properties properties,
                                    cl_int *rc_p)
{
	struct queue *queue = NULL;
	cl_int rc = CL_SUCCESS;

	blocking_call("clCreateCommandQueue");
	pthread_mutex_lock(&model_lock);
	struct context *context = context_of(handle);
	struct device *device = device_of(id);
	if (context == NULL)
		rc = CL_INVALID_CONTEXT;
	else if (device == NULL || !context_has(context, device))
		rc = CL_INVALID_DEVICE;
	else if ((properties & ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE) != 0)
		rc = CL_INVALID_QUEUE_PROPERTIES;
	else if ((queue = calloc(1, sizeof *queue)) == NULL)
		rc = CL_OUT_OF_HOST_MEMORY;
	if (rc == CL_SUCCESS) {
		*queue = (struct queue){ .magic = MAGIC,
			                 .refs = 1,
			                 .uses = 1,
			                 .context = context,
			                 .device = device,
			                 .properties = properties,
			                 .next = queues };
		queue->slot = clock_slot_take(&queue->index);
		queues = queue;
	}
	pthread_mutex_unlock(&model_lock);
	if (rc_p != NULL)
		*rc_p = rc;
	return (cl_command_queue)queue;
}

static cl_command_queue CL_API_CALL create(cl_context handle, cl_device_id id, cl_command_queue_properties properties,
                                           cl_int *rc_p)
{
	return create_with(handle, id, properties, rc_p);
}

static cl_command_queue CL_API_CALL create_new(cl_context handle, cl_device_id id,
                                               const cl_queue_properties *properties, cl_int *rc_p)
{
	cl_command_queue_properties all = 0;

	for (; properties != NULL && properties[0] != 0; properties += 2) {
		if (properties[0] != CL_QUEUE_PROPERTIES) {
			refuse("clCreateCommandQueueWithProperties with more than CL_QUEUE_PROPERTIES");
			if (rc_p != NULL)
				*rc_p = CL_INVALID_OPERATION;
			return NULL;
		}
		all = properties[1];
	}
	return create_with(handle, id, all, rc_p);
}

static cl_int CL_API_CALL retain(cl_command_queue handle)
{
	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	if (queue != NULL)
		queue->refs++;
	pthread_mutex_unlock(&model_lock);
	return queue != NULL ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

/* The last release flushes. */
static cl_int CL_API_CALL release(cl_command_queue handle)
{
	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	if (queue == NULL) {
		report("freed", "clReleaseCommandQueue of a queue that is no more");
	} else {
		queue_flush(queue);
		if (--queue->refs == 0)
			queue_unuse(queue);
	}
	pthread_mutex_unlock(&model_lock);
	return queue != NULL ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static cl_int CL_API_CALL get_info(cl_command_queue handle, cl_command_queue_info what, size_t room, void *out,
                                   size_t *bytes_p)
{
	cl_int rc = CL_INVALID_VALUE;

	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	if (queue == NULL) {
		rc = CL_INVALID_COMMAND_QUEUE;
	} else if (what == CL_QUEUE_CONTEXT) {
		rc = answer(&queue->context->handle, sizeof queue->context->handle, room, out, bytes_p);
	} else if (what == CL_QUEUE_DEVICE) {
		rc = answer(&queue->device, sizeof queue->device, room, out, bytes_p);
	} else if (what == CL_QUEUE_REFERENCE_COUNT) {
		cl_uint refs = queue->refs;

		rc = answer(&refs, sizeof refs, room, out, bytes_p);
	} else if (what == CL_QUEUE_PROPERTIES) {
		rc = answer(&queue->properties, sizeof queue->properties, room, out, bytes_p);
	}
	pthread_mutex_unlock(&model_lock);
	return rc;
}

static cl_int CL_API_CALL flush(cl_command_queue handle)
{
	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	if (queue != NULL)
		queue_flush(queue);
	pthread_mutex_unlock(&model_lock);
	return queue != NULL ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static cl_int CL_API_CALL finish(cl_command_queue handle)
{
	pthread_mutex_lock(&model_lock);
	struct queue *queue = queue_of(handle);
	struct event *last = queue != NULL ? queue->last : NULL;
	blocking_call("clFinish");
	if (last != NULL) {
		event_retain(last);
		queue_flush(queue);
		event_wait(last);
		event_unref(last);
	} else if (queue != NULL) {
		clock_join(&host_clock, &queue->clock); /* nothing is in it: all that started is over */
	}
	pthread_mutex_unlock(&model_lock);
	return queue != NULL ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

void queue_install(struct _cl_icd_dispatch *mine)
{
	mine->clCreateCommandQueue = create;
	mine->clCreateCommandQueueWithProperties = create_new;
	mine->clRetainCommandQueue = retain;
	mine->clReleaseCommandQueue = release;
	mine->clGetCommandQueueInfo = get_info;
	mine->clFlush = flush;
	mine->clFinish = finish;
}
