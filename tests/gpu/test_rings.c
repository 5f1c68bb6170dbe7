/* SPDX-License-Identifier: MIT */
/* A thread that waits long for a command of a device sleeps until the command's end rings the doorbell, or, where
 * callbacks are late, for a moment at a time, beside a thread that drives up to WAIT_BESIDE_DRIVER_US.  In the way of a
 * call stands a command that does not end before somebody sleeps: this program's own read, an event that it completes
 * when the library goes to sleep.
 *
 * And before it sleeps it looks at commands that can be over only: of those that read one buffer, in one queue, the
 * first that it has not seen the end of. */
#include "base/wait.h"
#include "dev/device_impl.h"
#include "node/bell.h"
#include "world/memory.h"
#include "world/world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 2, MOMENT_US = 50, MANY_SLEEPS = 300, LONG_US = 30 * 1000 * 1000 };

static atomic_bool armed;          /* the next read is the slow one */
static _Atomic(cl_event) slow;     /* its event, until it is completed */
static _Atomic cl_int outcome;     /* what it then says */
static atomic_int watched;         /* callbacks that the library has set */
static atomic_bool swallows;       /* they are never made, and sleeps are as long as the library says */
static atomic_int sleeps;          /* before the slow read is completed */
static _Atomic int64_t longest_us; /* that the library wanted to sleep while it was under way */
static _Atomic int64_t knowing_us; /* the same, of the thread that enqueued it */
static atomic_int n_slow;          /* slow reads so far */
static _Thread_local int knows;    /* the last of them that this thread enqueued */

enum { MOST_READS = 256 };
static struct {
	cl_event event;
	cl_mem mem;
	bool over;
} reads[MOST_READS];
static int n_reads;
static atomic_bool notes; /* reads are noted, and looks at them */
static atomic_int looks, looks_in_vain;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_read(cl_event event, cl_mem mem)
{
	pthread_mutex_lock(&notes_lock);
	if (n_reads < MOST_READS) {
		reads[n_reads].event = event;
		reads[n_reads].over = false;
		reads[n_reads++].mem = mem;
	}
	pthread_mutex_unlock(&notes_lock);
}

static void note_look(cl_event event, cl_int status)
{
	int at, before;

	pthread_mutex_lock(&notes_lock);
	for (at = n_reads - 1; at >= 0 && reads[at].event != event; at--)
		;
	for (before = at - 1; before >= 0 && (reads[before].over || reads[before].mem != reads[at].mem); before--)
		;
	if (at >= 0) {
		reads[at].over = status <= CL_COMPLETE;
		atomic_fetch_add(&looks, 1);
		atomic_fetch_add(&looks_in_vain, before >= 0);
	}
	pthread_mutex_unlock(&notes_lock);
}

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out, size_t *bytes_p);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out, size_t *bytes_p);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out, size_t *bytes_p)
{
	cl_int rc = __real_clGetEventInfo(event, what, room, out, bytes_p);

	if (rc == CL_SUCCESS && what == CL_EVENT_COMMAND_EXECUTION_STATUS && atomic_load(&notes))
		note_look(event, *(cl_int *)out);
	return rc;
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off, size_t bytes,
                                  void *to, cl_uint n, const cl_event *list, cl_event *event_p)
{
	cl_event event;
	cl_int rc;

	if (event_p == NULL || !atomic_exchange(&armed, false)) {
		rc = __real_clEnqueueReadBuffer(queue, mem, blocking, off, bytes, to, n, list, event_p);
		if (rc == CL_SUCCESS && event_p != NULL && atomic_load(&notes))
			note_read(*event_p, mem);
		return rc;
	}
	rc = __real_clEnqueueReadBuffer(queue, mem, CL_TRUE, off, bytes, to, n, list, NULL);
	event = rc == CL_SUCCESS ? clCreateUserEvent(choir_device_context(world_device()), &rc) : NULL;
	if (rc != CL_SUCCESS)
		return rc;
	clRetainEvent(event); /* the library's; the other reference is this program's */
	knows = atomic_fetch_add(&n_slow, 1) + 1;
	atomic_store(&slow, event);
	*event_p = event;
	return CL_SUCCESS;
}

typedef void(CL_CALLBACK *callback_fn)(cl_event, cl_int, void *);
cl_int __real_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx);
cl_int __wrap_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx);
cl_int __wrap_clSetEventCallback(cl_event event, cl_int state, callback_fn fn, void *ctx)
{
	atomic_fetch_add(&watched, 1);
	if (atomic_load(&swallows))
		return CL_SUCCESS;
	return __real_clSetEventCallback(event, state, fn, ctx);
}

/* The slow read ends after a third sleep has begun, and a long one: on a loaded machine another rank's short sleeps may
 * come first; or after many.  From then on sleeps that should be short last until a ring. */
void __real_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);
void __wrap_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us);
void __wrap_bell_sleep(struct bell *bell, uint32_t seen, int64_t timeout_us)
{
	cl_event event;

	if (atomic_load(&slow) == NULL) {
		__real_bell_sleep(bell, seen, timeout_us);
		return;
	}
	if (timeout_us > atomic_load(&longest_us))
		atomic_store(&longest_us, timeout_us);
	if (knows == atomic_load(&n_slow) && timeout_us > atomic_load(&knowing_us))
		atomic_store(&knowing_us, timeout_us);
	if (atomic_fetch_add(&sleeps, 1) < 2 ||
	    (atomic_load(&longest_us) <= WAIT_BESIDE_DRIVER_US && atomic_load(&sleeps) < MANY_SLEEPS) ||
	    (event = atomic_exchange(&slow, NULL)) == NULL) {
		__real_bell_sleep(bell, seen, MOMENT_US);
		return;
	}
	clSetUserEventStatus(event, atomic_load(&outcome));
	clReleaseEvent(event);
	__real_bell_sleep(bell, seen,
	                  timeout_us > WAIT_BESIDE_DRIVER_US && !atomic_load(&swallows) ? LONG_US : timeout_us);
}

struct trial {
	size_t count;
	double callback_us;
	cl_int outcome;
	struct memory in[N], out[N];
};

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	float *in;

	(void)comm;
	CHECK(memory_make(&trial->in[rank], world->device, true, trial->count * sizeof *in, 0));
	CHECK(memory_make(&trial->out[rank], world->device, true, trial->count * sizeof *in, 0));
	in = (float *)(void *)memory_payload(&trial->in[rank]);
	for (size_t i = 0; i < trial->count; i++)
		in[i] = (float)(i % 1000) + (float)rank;
	memory_push(&trial->in[rank]);
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	choir_event *event = NULL;
	choir_call by_host = CHOIR_CALL_INIT;

	by_host.options = "algorithm=twoshot";
	OK(choir_allreduce(comm, trial->in[rank].buffer, trial->out[rank].buffer, trial->count, CHOIR_F32, CHOIR_OP_SUM,
	                   &by_host, &event));
	IS(choir_event_wait(event, -1), trial->outcome == CL_COMPLETE ? CHOIR_SUCCESS : CHOIR_OPENCL);
	choir_event_release(event);
}

static void compare(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	const float *out;

	(void)comm;
	memory_pull(&trial->out[rank]);
	out = (const float *)(const void *)memory_payload(&trial->out[rank]);
	for (size_t i = 0; i < trial->count && trial->outcome == CL_COMPLETE; i++)
		CHECK(out[i] == 2 * (float)(i % 1000) + 1);
	memory_free(&trial->in[rank]);
	memory_free(&trial->out[rank]);
}

static void run(struct trial trial)
{
	struct world world;

	world_device()->rates = (struct device_rates){ .measured = true,
		                                       .read_us = 20,
		                                       .write_us = 20,
		                                       .read_GBps = 2,
		                                       .write_GBps = 2,
		                                       .callback_us = trial.callback_us };
	world_begin(&world, N, NULL);
	world_threads(&world, make, &trial);
	atomic_store(&outcome, trial.outcome);
	atomic_store(&watched, 0);
	atomic_store(&sleeps, 0);
	atomic_store(&longest_us, 0);
	atomic_store(&knowing_us, 0);
	atomic_store(&armed, true);
	world_threads(&world, call, &trial);
	assert_false(atomic_load(&armed));
	assert_null(atomic_load(&slow));
	assert_true(atomic_load(&sleeps) >= 3);
	world_threads(&world, compare, &trial);
	world_end(&world);
}

/* One read of the whole buffer, and chunks. */
static const size_t counts[] = { 1000, 300000 };

/* Measured, and where there was no time to. */
static void quick_callbacks_ring(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		run((struct trial){ .count = counts[i / 2], .callback_us = i % 2 ? 20 : 0 });
		assert_true(atomic_load(&watched) > 0);
		assert_true(atomic_load(&longest_us) > WAIT_BESIDE_DRIVER_US);
	}
}

/* Another thread may have looked just before the read was enqueued, and then sleeps as long as nothing is under way. */
static void late_callbacks_are_not_waited_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		run((struct trial){ .count = counts[i], .callback_us = 400 });
		assert_int_equal(atomic_load(&watched), 0);
		assert_true(atomic_load(&knowing_us) <= WAIT_BESIDE_DRIVER_US);
	}
}

/* With a callback, and where the driver calls nobody. */
static void a_failure_is_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		atomic_store(&swallows, i % 2 == 1);
		run((struct trial){ .count = counts[i / 2], .callback_us = 20, .outcome = -5 });
		atomic_store(&swallows, false);
	}
}

static void only_the_first_is_looked_at(void **state)
{
	struct trial trial = { .count = counts[1] };
	struct world world;

	(void)state;
	world_device()->rates.callback_us = 20;
	world_begin(&world, N, NULL);
	world_threads(&world, make, &trial);
	atomic_store(&notes, true);
	world_threads(&world, call, &trial);
	atomic_store(&notes, false);
	assert_true(n_reads > 2 * N);
	assert_true(atomic_load(&looks) >= n_reads);
	assert_int_equal(atomic_load(&looks_in_vain), 0);
	world_threads(&world, compare, &trial);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(quick_callbacks_ring),
		                            cmocka_unit_test(late_callbacks_are_not_waited_for),
		                            cmocka_unit_test(a_failure_is_seen),
		                            cmocka_unit_test(only_the_first_is_looked_at) };
	int failed = cmocka_run_group_tests_name("rings", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
