/* SPDX-License-Identifier: MIT */
/* Devices and fork.  The first call on a device makes the device's comm: while another process is forked, and on two
 * threads at once.  A forked child leaves its parent's device alone. */
#include <choir/choir.h>
#include <choir/pairs.h>

#include "world/world.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 100, TOP = 3, CHILD_S = 30 };

static bool gated; /* a thread that makes a comm says so, and waits */
static sem_t making, go_on;

choir_status __real_choir_comm_create_local(int n, choir_device *const *devices, const choir_comm_config *config,
                                            choir_comm **comms);
choir_status __wrap_choir_comm_create_local(int n, choir_device *const *devices, const choir_comm_config *config,
                                            choir_comm **comms);

choir_status __wrap_choir_comm_create_local(int n, choir_device *const *devices, const choir_comm_config *config,
                                            choir_comm **comms)
{
	if (gated) {
		sem_post(&making);
		sem_wait(&go_on);
	}
	return __real_choir_comm_create_local(n, devices, config, comms);
}

/* The largest elements are found. */
static bool selects(choir_device *device)
{
	float from[COUNT], val[TOP] = { 0 };
	int32_t ind[TOP] = { 0 };
	bool right = true;

	for (int i = 0; i < COUNT; i++)
		from[i] = (float)i;
	if (choir_select_top(device, choir_host(from), COUNT, CHOIR_F32, TOP, choir_host(ind), CHOIR_I32,
	                     choir_host(val), NULL, NULL) != CHOIR_SUCCESS)
		return false;
	for (int i = 0; i < TOP; i++)
		right &= ind[i] == COUNT - TOP + i && val[i] == from[ind[i]];
	return right;
}

static void *select_once(void *device)
{
	return selects(device) ? device : NULL;
}

static void begin_gated(void)
{
	gated = true;
	assert_int_equal(sem_init(&making, 0, 0), 0);
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
}

static int n_finished; /* calls of clFinish */

cl_int __real_clFinish(cl_command_queue queue);
cl_int __wrap_clFinish(cl_command_queue queue);

cl_int __wrap_clFinish(cl_command_queue queue)
{
	n_finished++;
	return __real_clFinish(queue);
}

static int call_in_child(void)
{
	choir_device *device;

	alarm(CHILD_S);
	gated = false;
	return choir_device_create_host(&device) == CHOIR_SUCCESS && selects(device) ? 0 : 1;
}

static void forked_while_it_is_made(void **state)
{
	choir_device *device;
	pthread_t thread;
	void *right;
	int status;
	pid_t child;

	(void)state;
	begin_gated();
	assert_int_equal(choir_device_create_host(&device), CHOIR_SUCCESS);
	assert_int_equal(pthread_create(&thread, NULL, select_once, device), 0);
	sem_wait(&making);
	child = fork();
	if (child == 0)
		_exit(call_in_child());
	assert_true(waitpid(child, &status, 0) == child);
	sem_post(&go_on);
	assert_int_equal(pthread_join(thread, &right), 0);
	assert_ptr_equal(right, device);
	choir_device_destroy(device);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* "... belongs to the process before fork" */
static bool refuses_the_parents(choir_status st)
{
	return st == CHOIR_ARGUMENT && strstr(choir_last_error(), "belongs to the process before fork") != NULL;
}

/* With the parent's device: no call, and its end waits for none of the parent's commands. */
static int use_in_child(choir_device *device)
{
	int32_t index;
	float value = 0;
	choir_comm *comm = NULL;
	bool right;

	alarm(CHILD_S);
	n_finished = 0;
	right = refuses_the_parents(choir_comm_create_local(1, &device, NULL, &comm)) && comm == NULL &&
	        refuses_the_parents(choir_select_top(device, choir_host(&value), 1, CHOIR_F32, 1, choir_host(&index),
	                                             CHOIR_I32, choir_host(&value), NULL, NULL));
	choir_device_destroy(device);
	return right && n_finished == 0 ? 0 : 1;
}

/* used: the device has a comm of its own. */
static void used_in_a_child(bool used)
{
	choir_device *device = world_device();
	pid_t child;
	int status;

	gated = false;
	assert_true(!used || selects(device));
	child = fork();
	if (child == 0)
		_exit(use_in_child(device));
	assert_true(waitpid(child, &status, 0) == child);
	assert_true(selects(device));
	world_device_drop();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_fresh_device_in_a_child(void **state)
{
	(void)state;
	used_in_a_child(false);
}

static void a_used_device_in_a_child(void **state)
{
	(void)state;
	used_in_a_child(true);
}

static int n_released; /* calls of clReleaseMemObject */

cl_int __real_clReleaseMemObject(cl_mem mem);
cl_int __wrap_clReleaseMemObject(cl_mem mem);

cl_int __wrap_clReleaseMemObject(cl_mem mem)
{
	n_released++;
	return __real_clReleaseMemObject(mem);
}

/* Of a comm, what outlives calls: a request on a cl_mem, and a state of top-k. */
struct kept {
	choir_request *request;
	choir_topk_state *state;
	choir_event *event;
};

static int end_in_child(struct kept *kept)
{
	size_t n = 0;
	bool right;

	alarm(CHILD_S);
	n_released = n_finished = 0;
	right = refuses_the_parents(choir_topk_reset(kept->state)) &&
	        refuses_the_parents(choir_topk_export(kept->state, NULL, &n)) &&
	        refuses_the_parents(choir_start(kept->request, NULL, NULL)) &&
	        refuses_the_parents(choir_sparse_fetch(kept->event, choir_none(), &n, choir_none(), &n));
	choir_topk_destroy(kept->state);
	choir_request_free(kept->request);
	return right && n_released == 0 && n_finished == 0 ? 0 : 1;
}

static void kept_in_a_child(void **state)
{
	choir_device *device = world_device();
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	struct kept kept;
	choir_comm *comm;
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), 0, COUNT * sizeof(float), NULL, &rc);
	pid_t child;
	int status;

	(void)state;
	config.count = COUNT;
	config.dtype = CHOIR_F32;
	assert_int_equal(rc, CL_SUCCESS);
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &comm), CHOIR_SUCCESS);
	assert_int_equal(choir_topk_create(comm, &config, &kept.state), CHOIR_SUCCESS);
	assert_int_equal(choir_allreduce_init(comm, choir_mem(mem, 0), choir_mem(mem, 0), COUNT, CHOIR_F32,
	                                      CHOIR_OP_SUM, NULL, &kept.request),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_barrier(comm, NULL, &kept.event), CHOIR_SUCCESS);
	clReleaseMemObject(mem);
	child = fork();
	if (child == 0)
		_exit(end_in_child(&kept));
	assert_true(waitpid(child, &status, 0) == child);
	assert_int_equal(choir_event_wait(kept.event, -1), CHOIR_SUCCESS);
	choir_event_release(kept.event);
	choir_topk_destroy(kept.state);
	n_released = 0;
	choir_request_free(kept.request);
	assert_true(n_released > 0);
	assert_int_equal(choir_comm_destroy(comm), CHOIR_SUCCESS);
	world_device_drop();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void made_by_two_threads_at_once(void **state)
{
	choir_device *device;
	pthread_t threads[2];

	(void)state;
	begin_gated();
	assert_int_equal(choir_device_create_host(&device), CHOIR_SUCCESS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, select_once, device), 0);
	for (int i = 0; i < 2; i++)
		sem_wait(&making);
	gated = false;
	for (int i = 0; i < 2; i++)
		sem_post(&go_on);
	for (int i = 0; i < 2; i++) {
		void *right;

		assert_int_equal(pthread_join(threads[i], &right), 0);
		assert_ptr_equal(right, device);
	}
	assert_true(selects(device));
	choir_device_destroy(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_while_it_is_made),   cmocka_unit_test(made_by_two_threads_at_once),
		cmocka_unit_test(a_fresh_device_in_a_child), cmocka_unit_test(a_used_device_in_a_child),
		cmocka_unit_test(kept_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
