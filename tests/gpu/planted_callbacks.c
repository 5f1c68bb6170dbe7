/* SPDX-License-Identifier: MIT */
/* Callbacks that block, or that flush a queue instead. */
#include "planted.h"

#include <stdatomic.h>

static struct session *session;
static cl_event over; /* a command's that has ended */
static atomic_bool called;

static void flush(void)
{
	clFlush(session->queues[1]);
}

static void finish(void)
{
	clFinish(session->queues[1]);
}

static void make_context(void)
{
	cl_int rc;
	cl_context context = clCreateContext(NULL, 1, session->devices, NULL, NULL, &rc);

	if (rc == CL_SUCCESS)
		clReleaseContext(context);
}

static void wait_for_what_is_over(void)
{
	clWaitForEvents(1, &over);
}

static void (*act)(void);

static void CL_CALLBACK at_end(cl_event event, cl_int state, void *unused)
{
	(void)event;
	(void)state;
	(void)unused;
	act();
	atomic_store(&called, true);
}

static void CL_CALLBACK at_death(cl_mem mem, void *unused)
{
	(void)mem;
	(void)unused;
	act();
	atomic_store(&called, true);
}

static void wait_until_called(void)
{
	while (!atomic_load(&called))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void act_at_end(struct session *s, void (*fn)(void))
{
	cl_event event;

	session = s;
	act = fn;
	OK(clEnqueueMarkerWithWaitList(s->queues[1], 0, NULL, &over));
	OK(clFinish(s->queues[1]));
	OK(clEnqueueMarkerWithWaitList(s->queues[0], 0, NULL, &event));
	OK(clSetEventCallback(event, CL_COMPLETE, at_end, NULL));
	OK(clFinish(s->queues[0]));
	wait_until_called();
	OK(clReleaseEvent(event));
	OK(clReleaseEvent(over));
}

void callback(struct session *s, bool fault)
{
	act_at_end(s, fault ? finish : flush);
}

void callback_context(struct session *s, bool fault)
{
	act_at_end(s, fault ? make_context : flush);
}

/* It would not block now; elsewhere it may. */
void callback_wait(struct session *s, bool fault)
{
	act_at_end(s, fault ? wait_for_what_is_over : flush);
}

void callback_destructor(struct session *s, bool fault)
{
	cl_mem mem = session_buffer(s, CL_MEM_READ_WRITE, BYTES);

	session = s;
	act = fault ? finish : flush;
	OK(clSetMemObjectDestructorCallback(mem, at_death, NULL));
	OK(clReleaseMemObject(mem));
	wait_until_called();
}
