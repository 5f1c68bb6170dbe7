/* SPDX-License-Identifier: MIT */
/* Copies between a caller's memory and the library's host memory, on the internal queue or on one for each direction: a
 * GPU has a copy engine for each direction, and one in-order queue would let only one of them work. */
#include "dev/device_impl.h"

static choir_status check_copy(const char *what, const struct dev_access *access, uint64_t off, uint64_t bytes)
{
	if (access->direct || (access->mem == NULL && access->usm == NULL && access->svm == NULL))
		return error_set(CHOIR_ARGUMENT, "%s: the buffer is reached directly", what);
	if (off > access->bytes || bytes > access->bytes - off)
		return error_set(CHOIR_ARGUMENT, "%s: %llu bytes from %llu are outside the range of %llu", what,
		                 (unsigned long long)bytes, (unsigned long long)off, (unsigned long long)access->bytes);
	return CHOIR_SUCCESS;
}

/* Between the caller's memory and a second buffer, by the device alone. */
static choir_status copy_second(choir_device *device, cl_command_queue queue, const struct dev_access *access,
                                uint64_t off, cl_mem second, bool to_second, uint64_t bytes, cl_event *event_p)
{
	cl_int rc;

	if (access->svm != NULL) {
		struct dev_bytes svm = { .pointer = (unsigned char *)access->svm + off }, buffer = { .mem = second };

		return to_second ? dev_copy_svm(device, buffer, svm, bytes, event_p)
		                 : dev_copy_svm(device, svm, buffer, bytes, event_p);
	}
	if (to_second)
		rc = clEnqueueCopyBuffer(queue, access->mem, second, access->off + off, 0, bytes, 0, NULL, event_p);
	else
		rc = clEnqueueCopyBuffer(queue, second, access->mem, 0, access->off + off, bytes, 0, NULL, event_p);
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("clEnqueueCopyBuffer", rc);
}

/* The bytes go through a second buffer, which lives as long as the two commands. */
static choir_status copy_through_buffer(choir_device *device, cl_command_queue queue, cl_bool blocks,
                                        const struct dev_access *access, uint64_t off, void *to, const void *from,
                                        uint64_t bytes, cl_event *event_p)
{
	cl_int rc;
	cl_mem second = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &rc);
	choir_status st;

	if (rc != CL_SUCCESS)
		return error_cl("clCreateBuffer", rc);
	if (to != NULL) {
		st = copy_second(device, queue, access, off, second, true, bytes, NULL);
		if (st == CHOIR_SUCCESS)
			rc = clEnqueueReadBuffer(queue, second, blocks, 0, bytes, to, 0, NULL, event_p);
	} else {
		rc = clEnqueueWriteBuffer(queue, second, CL_FALSE, 0, bytes, from, 0, NULL, NULL);
		st = rc != CL_SUCCESS ? CHOIR_SUCCESS
		                      : copy_second(device, queue, access, off, second, false, bytes, event_p);
	}
	if (rc != CL_SUCCESS)
		st = error_cl(to != NULL ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer", rc);
	if (st != CHOIR_SUCCESS)
		clFinish(queue);    /* the first command may still read `from` */
	clReleaseMemObject(second); /* the commands hold it */
	return st;
}

/* Note [SVM and host memory].  On a GPU no driver is asked to copy between SVM and memory that is not its own: NVIDIA's
 * driver 580 copies with memcpy, and the process ends if the GPU is at work meanwhile, whether the copy blocks or not;
 * ROCm's (ROCclr issue 14) and Intel's (compute-runtime issue 865) ended in it too.  A kernel copies between the SVM
 * and a second buffer instead, on the internal queue: coarse-grained SVM is ordered by allocations, so its parts on two
 * queues would be a race. */
bool dev_through_kernel(const choir_device *device, const struct dev_access *access)
{
	return access->svm != NULL && !dev_is_cpu(device);
}

static cl_int copy_pointer(choir_device *device, cl_command_queue queue, cl_bool blocks,
                           const struct dev_access *access, void *to, const void *from, uint64_t bytes,
                           cl_event *event_p)
{
	if (access->usm != NULL)
		return device->usm.copy(queue, blocks, to, from, bytes, 0, NULL, event_p);
	return clEnqueueSVMMemcpy(queue, blocks, to, from, bytes, 0, NULL, event_p);
}

static choir_status read_on(choir_device *device, cl_command_queue queue, cl_bool blocks,
                            const struct dev_access *access, uint64_t off, void *to, uint64_t bytes, cl_event *event_p)
{
	cl_int rc;

	if (bytes == 0)
		return event_p != NULL ? dev_marker(queue, event_p) : CHOIR_SUCCESS;
	TRY(check_copy("dev_read", access, off, bytes));
	if (access->no_read || dev_through_kernel(device, access))
		return copy_through_buffer(device, queue, blocks, access, off, to, NULL, bytes, event_p);
	if (access->mem == NULL)
		rc = copy_pointer(device, queue, blocks, access, to,
		                  (unsigned char *)(access->usm != NULL ? access->usm : access->svm) + off, bytes,
		                  event_p);
	else
		rc = clEnqueueReadBuffer(queue, access->mem, blocks, access->off + off, bytes, to, 0, NULL, event_p);
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("dev_read: enqueue", rc);
}

static choir_status write_on(choir_device *device, cl_command_queue queue, cl_bool blocks,
                             const struct dev_access *access, uint64_t off, const void *from, uint64_t bytes,
                             cl_event *event_p)
{
	cl_int rc;

	if (bytes == 0)
		return event_p != NULL ? dev_marker(queue, event_p) : CHOIR_SUCCESS;
	TRY(check_copy("dev_write", access, off, bytes));
	if (access->no_write || dev_through_kernel(device, access))
		return copy_through_buffer(device, queue, blocks, access, off, NULL, from, bytes, event_p);
	if (access->mem == NULL)
		rc = copy_pointer(device, queue, blocks, access,
		                  (unsigned char *)(access->usm != NULL ? access->usm : access->svm) + off, from, bytes,
		                  event_p);
	else
		rc = clEnqueueWriteBuffer(queue, access->mem, blocks, access->off + off, bytes, from, 0, NULL, event_p);
	return rc == CL_SUCCESS ? CHOIR_SUCCESS : error_cl("dev_write: enqueue", rc);
}

choir_status dev_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to, uint64_t bytes,
                      cl_event *event_p)
{
	TRY(read_on(device, device->queue, CL_FALSE, access, off, to, bytes, event_p));
	if (event_p != NULL)
		clFlush(device->queue);
	return CHOIR_SUCCESS;
}

choir_status dev_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                       uint64_t bytes, cl_event *event_p)
{
	TRY(write_on(device, device->queue, CL_FALSE, access, off, from, bytes, event_p));
	if (event_p != NULL)
		clFlush(device->queue);
	return CHOIR_SUCCESS;
}

/* The queue is created at first use; of two threads that create it at once the second releases its own. */
static choir_status copy_queue(choir_device *device, const struct dev_access *access, int direction,
                               cl_command_queue *out_p)
{
	cl_command_queue mine, none = NULL;

	if (dev_through_kernel(device, access)) {
		*out_p = device->queue;
		return CHOIR_SUCCESS;
	}
	*out_p = atomic_load(&device->copies[direction]);
	if (*out_p != NULL)
		return CHOIR_SUCCESS;
	TRY(queue_create(device, &mine));
	*out_p = mine;
	if (!atomic_compare_exchange_strong(&device->copies[direction], &none, mine)) {
		clReleaseCommandQueue(mine);
		*out_p = none;
	}
	return CHOIR_SUCCESS;
}

choir_status dev_stage_read(choir_device *device, const struct dev_access *access, uint64_t off, void *to,
                            uint64_t bytes, cl_event *event_p)
{
	cl_command_queue queue;

	TRY(copy_queue(device, access, COPY_READS, &queue));
	TRY(read_on(device, queue, CL_FALSE, access, off, to, bytes, event_p));
	clFlush(queue);
	return CHOIR_SUCCESS;
}

choir_status dev_stage_write(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                             uint64_t bytes, cl_event *event_p)
{
	cl_command_queue queue;

	TRY(copy_queue(device, access, COPY_WRITES, &queue));
	TRY(write_on(device, queue, CL_FALSE, access, off, from, bytes, event_p));
	clFlush(queue);
	return CHOIR_SUCCESS;
}

/* Note [copies that block].  A blocking copy is what programs call most, so drivers are quick at it: Mesa's rusticl
 * wakes a thread in every clWaitForEvents, Intel's runtime executes a small command in the calling thread.  It may
 * return before the copy is complete: a write of less than 1 KB on Intel's runtime, a read on rusticl.  So the event's
 * status is looked at, and waited for if it is not complete.
 *
 * On a CPU device both directions share a queue: a second one is a second thread that has to be woken. */
static choir_status ended(cl_event *event_p)
{
	cl_int state = CL_QUEUED;

	if (clGetEventInfo(*event_p, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) != CL_SUCCESS ||
	    state != CL_COMPLETE)
		return dev_wait(event_p);
	clReleaseEvent(*event_p);
	*event_p = NULL;
	return CHOIR_SUCCESS;
}

choir_status dev_stage_read_now(choir_device *device, const struct dev_access *access, uint64_t off, void *to,
                                uint64_t bytes)
{
	cl_command_queue queue;
	cl_event event;

	TRY(copy_queue(device, access, COPY_READS, &queue));
	TRY(read_on(device, queue, CL_TRUE, access, off, to, bytes, &event));
	return ended(&event);
}

choir_status dev_stage_write_now(choir_device *device, const struct dev_access *access, uint64_t off, const void *from,
                                 uint64_t bytes)
{
	/* through a second buffer nothing blocks */
	bool blocks = !access->no_write && !dev_through_kernel(device, access);
	cl_command_queue queue;
	cl_event event;

	TRY(copy_queue(device, access, dev_is_cpu(device) ? COPY_READS : COPY_WRITES, &queue));
	TRY(write_on(device, queue, blocks, access, off, from, bytes, &event));
	return blocks ? ended(&event) : dev_wait(&event);
}

choir_status dev_copy(choir_device *device, struct dev_bytes to, struct dev_bytes from, uint64_t bytes,
                      cl_event *event_p)
{
	unsigned char *into = (unsigned char *)to.pointer + to.off;
	const unsigned char *out_of = (const unsigned char *)from.pointer + from.off;
	cl_int rc;

	if (to.mem != NULL)
		rc = clEnqueueCopyBuffer(device->queue, from.mem, to.mem, from.off, to.off, bytes, 0, NULL, event_p);
	else if (to.is_usm)
		rc = device->usm.copy(device->queue, CL_FALSE, into, out_of, bytes, 0, NULL, event_p);
	else
		rc = clEnqueueSVMMemcpy(device->queue, CL_FALSE, into, out_of, bytes, 0, NULL, event_p);
	if (rc != CL_SUCCESS)
		return error_cl("dev_copy: enqueue", rc);
	if (event_p != NULL)
		clFlush(device->queue);
	return CHOIR_SUCCESS;
}
