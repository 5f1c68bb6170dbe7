/* SPDX-License-Identifier: MIT */
/* Kernels that a call needs before it is submitted, and a compiler that hangs: clBuildProgram is wrapped and waits
 * until the test lets it go.  The call ends at its deadline and is refused; it may be made again on the same comm. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "hung_builds.h"
#include "lib/ranks.h"
#include "world/gate.h"
#include "world/gathered_set.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS = 2, DEADLINE_MS = 300, HANG_S = 40, SOON_MS = 15000, COUNT = 100, PAIRS = 50 };

cl_int __real_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx)
{
	hung_builds_wait(HANG_S);
	return __real_clBuildProgram(program, n, devices, options, notify, ctx);
}

/* --- the calls --- */

/* Of one rank. */
struct attempt {
	choir_comm *comm;
	int rank, n;
	choir_op op;
	choir_call *call;
};

/* Makes the call; did the right result come out, if it succeeded? */
typedef choir_status (*attempt_fn)(const struct attempt *a, bool *right_p);

static choir_status list_of_mems(const struct attempt *a, bool *right_p)
{
	struct gathered_set set = { .shape = { .form = ALLREDUCE, .dtype = CHOIR_F32 }, .rank = a->rank, .n = a->n };
	choir_status st = CHOIR_OPENCL;

	if (gathered_set_make(&set, a->comm->device)) {
		gathered_set_fill(&set);
		st = gathered_set_call(&set, a->comm, a->call, NULL);
		*right_p = gathered_set_wrong(&set) < 0;
	}
	gathered_set_drop(&set);
	return st;
}

enum form { BLOCKING, WITH_EVENT, PERSISTENT };

static choir_status allreduce_as(const struct attempt *a, enum form form, bool *right_p)
{
	int32_t send[COUNT], recv[COUNT] = { 0 };
	choir_event *event = NULL;
	choir_request *request = NULL;
	choir_status st;

	for (int i = 0; i < COUNT; i++)
		send[i] = i + a->rank;
	if (form == PERSISTENT) {
		st = choir_allreduce_init(a->comm, choir_host(send), choir_host(recv), COUNT, CHOIR_I32, a->op, a->call,
		                          &request);
		st = st == CHOIR_SUCCESS ? choir_start(request, NULL, NULL) : st;
	} else {
		st = choir_allreduce(a->comm, choir_host(send), choir_host(recv), COUNT, CHOIR_I32, a->op, a->call,
		                     form == WITH_EVENT ? &event : NULL);
	}
	if (form == WITH_EVENT)
		st = world_wait(st, event);
	choir_request_free(request);
	*right_p = true;
	for (int i = 0; i < COUNT; i++)
		*right_p &= recv[i] == 2 * i + 1;
	return st;
}

static choir_status own_dense(const struct attempt *a, bool *right_p)
{
	return allreduce_as(a, BLOCKING, right_p);
}

static choir_status own_with_event(const struct attempt *a, bool *right_p)
{
	return allreduce_as(a, WITH_EVENT, right_p);
}

static choir_status own_persistent(const struct attempt *a, bool *right_p)
{
	return allreduce_as(a, PERSISTENT, right_p);
}

/* On a GPU a kernel copies between SVM and the host's memory. */
static choir_status svm_dense(const struct attempt *a, bool *right_p)
{
	cl_context context = choir_device_context(a->comm->device);
	int32_t *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, COUNT * sizeof *svm, 0), got[COUNT];
	cl_command_queue queue = dev_queue(a->comm->device);
	const cl_map_flags both = CL_MAP_READ | CL_MAP_WRITE;
	choir_status st = CHOIR_OPENCL;

	if (svm == NULL || clEnqueueSVMMap(queue, CL_TRUE, both, svm, sizeof got, 0, NULL, NULL) != 0)
		return st;
	for (int i = 0; i < COUNT; i++)
		svm[i] = i + a->rank;
	if (clEnqueueSVMUnmap(queue, svm, 0, NULL, NULL) == CL_SUCCESS && clFinish(queue) == CL_SUCCESS)
		st = choir_allreduce(a->comm, choir_svm(svm), choir_svm(svm), COUNT, CHOIR_I32, a->op, a->call, NULL);
	*right_p = clEnqueueSVMMap(queue, CL_TRUE, both, svm, sizeof got, 0, NULL, NULL) == CL_SUCCESS;
	for (int i = 0; i < COUNT && *right_p; i++)
		*right_p = svm[i] == 2 * i + 1;
	clEnqueueSVMUnmap(queue, svm, 0, NULL, NULL);
	clFinish(queue);
	clSVMFree(context, svm);
	return st;
}

static choir_status own_sparse(const struct attempt *a, bool *right_p)
{
	int32_t from_ind[PAIRS], from_val[PAIRS], ind[PAIRS] = { 0 }, val[PAIRS] = { 0 };
	size_t n_ind = PAIRS, n_val = PAIRS;
	choir_status st;

	for (int i = 0; i < PAIRS; i++) {
		from_ind[i] = 3 * i;
		from_val[i] = i + a->rank;
	}
	st = choir_sparse_allreduce(a->comm, choir_host(from_ind), PAIRS, choir_host(from_val), PAIRS, choir_host(ind),
	                            &n_ind, choir_host(val), &n_val, CHOIR_I32, CHOIR_I32, a->op, NULL, a->call, NULL);
	*right_p = st == CHOIR_SUCCESS && n_ind == PAIRS;
	for (int i = 0; i < PAIRS && *right_p; i++)
		*right_p = ind[i] == 3 * i && val[i] == 2 * i + 1;
	return st;
}

/* --- what becomes of them --- */

struct example {
	const char *text;   /* of the operator, of a program of its own; NULL = sum */
	const char *called; /* in the sentence */
	const char *built;
	attempt_fn make;
	bool of_comm; /* the deadline */
};

struct asked {
	const struct example *example;
	choir_op op;
};

static void is_refused(struct world *world, int rank, choir_comm *comm, void *asked_p)
{
	const struct asked *asked = asked_p;
	const struct example *example = asked->example;
	choir_call call = CHOIR_CALL_INIT;
	struct attempt attempt = { comm, rank, world->n, asked->op, &call };
	int64_t start = rank_now_ms();
	char words[160];
	bool right = false;

	if (example->of_comm)
		comm->deadline_ms = DEADLINE_MS;
	else
		call.deadline_ms = DEADLINE_MS;
	snprintf(words, sizeof words, "rank %d: %s: |%s (|the deadline passed", rank, example->called, example->built);
	SAYS(example->make(&attempt, &right), CHOIR_TIMEOUT, words);
	CHECK(rank_now_ms() - start < SOON_MS);
	OK(choir_comm_status(comm));
	line_up();
	if (rank == 0)
		hung_builds_set(false);
	line_up();
	call.deadline_ms = INT64_MAX; /* never */
	right = false;
	OK(example->make(&attempt, &right));
	CHECK(right);
}

static void run_example(const struct example *example)
{
	choir_device *devices[RANKS] = { world_far_device(CHOIR_REDUCE_KERNEL), devices[0] };
	struct asked asked = { example, CHOIR_OP_SUM };
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	struct world world;

	config.name = "own";
	config.fold_text = example->text;
	if (example->text != NULL)
		assert_int_equal(choir_op_create(&config, &asked.op), CHOIR_SUCCESS);
	world_begin_on(&world, RANKS, devices, NULL);
	line_up_begin(RANKS);
	hung_builds_set(true);
	world_threads(&world, is_refused, &asked);
	hung_builds_set(false);
	line_up_end();
	world_end(&world);
	if (example->text != NULL)
		assert_int_equal(choir_op_destroy(asked.op), CHOIR_SUCCESS);
}

static void test_refused_calls(void **state)
{
	static const struct example examples[] = {
		{ NULL, "choir_allreduce_multi", "gather.cl", list_of_mems, false },
		{ "a + b", "choir_allreduce", "reduce.cl", own_dense, false },
		{ "b + a", "choir_allreduce", "reduce.cl", own_dense, true },
		{ "(a + b)", "choir_allreduce", "reduce.cl", own_with_event, false },
		{ "(b + a)", "choir_allreduce", "reduce.cl", own_persistent, false },
		{ "a + b + 0", "sparse_allreduce", "reduce.cl", own_sparse, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		run_example(&examples[i]);
}

static void test_refused_svm(void **state)
{
	static const struct example svm = { NULL, "choir_allreduce", "copy.cl", svm_dense, false };
	choir_device *device = world_far_device(CHOIR_REDUCE_KERNEL);

	(void)state;
	if (dev_is_cpu(device) || device->facts.svm == 0)
		print_message("skipped: this device's driver copies SVM itself\n");
	else
		run_example(&svm);
}

/* --- calls on one device --- */

static choir_status select_top(choir_device *device, cl_mem mems[3], int64_t deadline_ms)
{
	choir_call call = CHOIR_CALL_INIT;

	call.deadline_ms = deadline_ms;
	return choir_select_top(device, choir_mem(mems[0], 0), COUNT, CHOIR_F32, 5, choir_mem(mems[1], 0), CHOIR_I32,
	                        choir_mem(mems[2], 0), &call, NULL);
}

static void test_call_on_one_device(void **state)
{
	choir_device *device = world_far_device(CHOIR_REDUCE_KERNEL);
	int64_t start = rank_now_ms();
	cl_mem mems[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_non_null(
		    mems[i] = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, COUNT * 8, NULL, NULL));
	hung_builds_set(true);
	assert_int_equal(select_top(device, mems, DEADLINE_MS), CHOIR_TIMEOUT);
	if (!says(choir_last_error(), "choir_select_top: |the deadline passed while the OpenCL compiler was building"))
		fail_msg("%s", choir_last_error());
	assert_true(rank_now_ms() - start < SOON_MS);
	hung_builds_set(false);
	assert_int_equal(select_top(device, mems, 120000), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++)
		clReleaseMemObject(mems[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_refused_calls), cmocka_unit_test(test_refused_svm),
		                            cmocka_unit_test(test_call_on_one_device) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
