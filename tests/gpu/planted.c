/* SPDX-License-Identifier: MIT */
/* planted NAME fault|right: does what the model reports, or the same as it should be done.  One function a report. */
#include "planted.h"

#include <string.h>
#include <sys/mman.h>

static unsigned char host[BYTES], other[BYTES];

/* Two queues, one buffer: the second waits for the first, or does not. */
static void two_queues(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event written;

	OK(clEnqueueWriteBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, &written));
	OK(clFlush(s->queues[0]));
	OK(clEnqueueReadBuffer(s->queues[1], mem, CL_FALSE, BYTES - 1, 1, other, fault ? 0 : 1, fault ? NULL : &written,
	                       NULL));
	OK(clFinish(s->queues[1]));
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(written));
	OK(clReleaseMemObject(mem));
}

/* Two devices of one context. */
static void two_devices(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_command_queue second = session_queue(s, 1);
	cl_event written;

	OK(clEnqueueWriteBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, &written));
	OK(clFlush(s->queues[0]));
	OK(clEnqueueReadBuffer(second, mem, CL_TRUE, 0, BYTES, other, fault ? 0 : 1, fault ? NULL : &written, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(written));
	OK(clReleaseCommandQueue(second));
	OK(clReleaseMemObject(mem));
}

/* Two devices in contexts of their own, between which the host has to wait. */
static void two_contexts(struct session *s, bool fault)
{
	struct session far = { .devices = { s->devices[1] }, .n_devices = 1 };

	session_open(&far);
	cl_mem from = session_buffer(s, CL_MEM_READ_WRITE, BYTES), to = session_buffer(&far, CL_MEM_READ_WRITE, BYTES);
	OK(clEnqueueReadBuffer(s->queues[0], from, CL_FALSE, 0, BYTES, host, 0, NULL, NULL));
	OK(clFlush(s->queues[0]));
	if (!fault)
		OK(clFinish(s->queues[0]));
	OK(clEnqueueWriteBuffer(far.queues[0], to, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseMemObject(from));
	OK(clReleaseMemObject(to));
	session_end(&far);
}

/* The host has polled the first one's end, which orders nothing; or waits for it. */
static void polled(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event written;

	OK(clEnqueueWriteBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, &written));
	OK(clFlush(s->queues[0]));
	planted_look(written, CL_COMPLETE);
	if (!fault)
		OK(clWaitForEvents(1, &written));
	OK(clEnqueueReadBuffer(s->queues[1], mem, CL_TRUE, 0, BYTES, other, 0, NULL, NULL));
	OK(clReleaseEvent(written));
	OK(clReleaseMemObject(mem));
}

/* Two reads into the same host memory. */
static void same_host(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);

	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s->queues[1], mem, CL_FALSE, 0, BYTES, fault ? host : other, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clFinish(s->queues[1]));
	OK(clReleaseMemObject(mem));
}

/* The host writes that byte of the source of a write that is under way. */
static void change(struct session *s, bool fault, size_t at)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event event;

	OK(clEnqueueWriteBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, &event));
	OK(clFlush(s->queues[0]));
	planted_look(event, CL_RUNNING);
	if (fault)
		host[at]++;
	OK(clWaitForEvents(1, &event));
	host[at]++;
	OK(clReleaseEvent(event));
	OK(clReleaseMemObject(mem));
}

static void changed(struct session *s, bool fault)
{
	change(s, fault, 0);
}

static void changed_inside(struct session *s, bool fault)
{
	change(s, fault, 2000);
}

/* A copy reads what the host has mapped for writing, and gets the old bytes before the unmap. */
static void mapped(struct session *s, bool fault)
{
	cl_mem from = session_buffer(s, CL_MEM_READ_WRITE, BYTES), to = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_int rc;

	OK(clEnqueueFillBuffer(s->queues[0], from, "\1", 1, 0, BYTES, 0, NULL, NULL));
	void *ptr = clEnqueueMapBuffer(s->queues[0], from, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &rc);
	OK(rc);
	memset(ptr, 2, BYTES);
	if (!fault)
		OK(clEnqueueUnmapMemObject(s->queues[0], from, ptr, 0, NULL, NULL));
	OK(clEnqueueCopyBuffer(s->queues[0], from, to, 0, 0, BYTES, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(s->queues[0], to, CL_TRUE, 0, BYTES, other, 0, NULL, NULL));
	for (size_t i = 0; i < BYTES; i++)
		HOLDS(other[i] == (fault ? 1 : 2));
	if (fault)
		OK(clEnqueueUnmapMemObject(s->queues[0], from, ptr, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clReleaseMemObject(from));
	OK(clReleaseMemObject(to));
}

/* Those bytes of host memory go back to the system before the read into it ends. */
static void unmap_host(struct session *s, bool fault, size_t off, size_t bytes)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	unsigned char *ptr = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, NULL));
	if (!fault)
		OK(clFinish(s->queues[0]));
	munmap(ptr + off, bytes);
	clFinish(s->queues[0]);
	munmap(ptr, BYTES);
	OK(clReleaseMemObject(mem));
}

static void unmapped_host(struct session *s, bool fault)
{
	unmap_host(s, fault, 0, BYTES);
}

static void unmapped_inside(struct session *s, bool fault)
{
	unmap_host(s, fault, BYTES / 2, BYTES / 4);
}

/* A pinned buffer is released while a read into its map is under way. */
static void pinned_freed(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_mem pinned = session_buffer(s, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES);
	cl_int rc;
	void *ptr =
	    clEnqueueMapBuffer(s->queues[0], pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &rc);

	OK(rc);
	OK(clEnqueueReadBuffer(s->queues[1], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, NULL));
	OK(clFlush(s->queues[1]));
	if (!fault)
		OK(clFinish(s->queues[1]));
	OK(clEnqueueUnmapMemObject(s->queues[0], pinned, ptr, 0, NULL, NULL));
	OK(clFinish(s->queues[0]));
	OK(clFinish(s->queues[1]));
	OK(clReleaseMemObject(pinned));
	OK(clReleaseMemObject(mem));
}

/* A buffer is released whose map a read still fills. */
static void released_map(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_mem pinned = session_buffer(s, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES);
	cl_event filled;
	cl_int rc;
	void *ptr = clEnqueueMapBuffer(s->queues[0], pinned, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &rc);

	OK(rc);
	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, ptr, 0, NULL, &filled));
	OK(clFlush(s->queues[0]));
	planted_look(filled, CL_RUNNING);
	if (!fault)
		OK(clWaitForEvents(1, &filled));
	OK(clReleaseMemObject(pinned));
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(filled));
	OK(clReleaseMemObject(mem));
}

static void released_twice(struct session *s, bool fault)
{
	cl_event event;

	OK(clEnqueueMarkerWithWaitList(s->queues[0], 0, NULL, &event));
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(event));
	if (fault)
		clReleaseEvent(event);
}

/* A user event, since the model has references of its own to those of commands for a while. */
static void released_event(struct session *s, bool fault)
{
	cl_int rc, state;
	cl_event event = clCreateUserEvent(s->context, &rc);

	OK(rc);
	if (fault)
		OK(clReleaseEvent(event));
	clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
	if (!fault)
		OK(clReleaseEvent(event));
}

static void released_queue(struct session *s, bool fault)
{
	cl_command_queue queue = session_queue(s, 0);

	OK(clReleaseCommandQueue(queue));
	if (fault)
		clReleaseCommandQueue(queue);
}

static void released_mem(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);

	OK(clReleaseMemObject(mem));
	if (fault)
		clReleaseMemObject(mem);
}

/* A thread polls an event whose queue nobody flushed. */
static void unflushed(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event event;
	cl_int state = CL_QUEUED;

	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, 4, host, 0, NULL, &event));
	if (!fault)
		OK(clFlush(s->queues[0]));
	for (int i = 0; state > CL_COMPLETE && i < 100; i++) {
		struct timespec moment = { 0, 10000000 };

		OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
		nanosleep(&moment, NULL);
	}
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(event));
	OK(clReleaseMemObject(mem));
}

/* Nobody waits, and the process ends. */
static void never_flushed(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);

	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, 4, host, 0, NULL, NULL));
	if (!fault)
		OK(clFinish(s->queues[0]));
	OK(clRetainCommandQueue(s->queues[0]));
	if (fault)
		exit(0);
	OK(clReleaseCommandQueue(s->queues[0]));
	OK(clReleaseMemObject(mem));
}

static void end_another(struct session *s)
{
	cl_int rc;
	cl_event event = clCreateUserEvent(s->context, &rc);

	OK(rc);
	OK(clSetUserEventStatus(event, CL_COMPLETE));
	OK(clReleaseEvent(event));
}

/* Looks as often as it can; or so, but other events end meanwhile, and then rests between two looks. */
static void polls(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);
	cl_event event;
	cl_int state = CL_QUEUED;

	OK(clEnqueueReadBuffer(s->queues[0], mem, CL_FALSE, 0, BYTES, host, 0, NULL, &event));
	OK(clFlush(s->queues[0]));
	for (int i = 0; !fault && i < 6; i++) {
		for (int look = 0; look < 1500; look++)
			OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
		end_another(s);
	}
	while (fault && state != CL_COMPLETE)
		OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
	planted_look(event, CL_COMPLETE);
	OK(clFinish(s->queues[0]));
	OK(clReleaseEvent(event));
	OK(clReleaseMemObject(mem));
}

static const struct {
	const char *name;
	void (*fn)(struct session *s, bool fault);
} all[] = {
	{ "two_queues", two_queues },
	{ "polled", polled },
	{ "kernel", kernel_races },
	{ "same_host", same_host },
	{ "changed", changed },
	{ "changed_inside", changed_inside },
	{ "mapped", mapped },
	{ "unmapped_host", unmapped_host },
	{ "unmapped_inside", unmapped_inside },
	{ "pinned_freed", pinned_freed },
	{ "svm_freed", svm_freed },
	{ "svm_blocks", svm_blocks },
	{ "svm_argument", svm_argument },
	{ "two_devices", two_devices },
	{ "two_contexts", two_contexts },
	{ "svm_map_freed", svm_map_freed },
	{ "svm_freed_twice", svm_freed_twice },
	{ "usm_freed", usm_freed },
	{ "usm_freed_twice", usm_freed_twice },
	{ "released_map", released_map },
	{ "released_twice", released_twice },
	{ "released_event", released_event },
	{ "released_queue", released_queue },
	{ "released_mem", released_mem },
	{ "released_argument", released_argument },
	{ "unflushed", unflushed },
	{ "never_flushed", never_flushed },
	{ "callback", callback },
	{ "callback_context", callback_context },
	{ "callback_wait", callback_wait },
	{ "callback_destructor", callback_destructor },
	{ "groups", groups },
	{ "groups_chosen", groups_chosen },
	{ "many_arguments", many_arguments },
	{ "polls", polls },
	{ "refused", refused },
};

int main(int argc, char **argv)
{
	struct session session;

	for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; i++)
		if (strcmp(argv[1], all[i].name) == 0) {
			session_begin(&session);
			all[i].fn(&session, strcmp(argv[2], "fault") == 0);
			session_end(&session);
			return 0;
		}
	fprintf(stderr, "usage: planted NAME fault|right\n");
	return 2;
}
