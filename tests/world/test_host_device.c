/* SPDX-License-Identifier: MIT */
/* Comms whose devices are of host memory alone: every kind of call, driven by one thread, without OpenCL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <choir/choir.h>
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

enum { N = 3, COUNT = 5000 };

static choir_comm *comms[N];
static choir_device *device;

#define OK(expr)                                                                                                       \
	do {                                                                                                           \
		if ((expr) != CHOIR_SUCCESS)                                                                           \
			fail_msg("%s: %s", #expr, choir_last_error());                                                 \
	} while (0)

#define FAILS(expr, status, part)                                                                                      \
	do {                                                                                                           \
		assert_int_equal(expr, status);                                                                        \
		if (strstr(choir_last_error(), part) == NULL)                                                          \
			fail_msg("%s: '%s'", #expr, choir_last_error());                                               \
	} while (0)

static int set_up(void **state)
{
	choir_device *devices[N];

	(void)state;
	OK(choir_device_create_host(&device));
	for (int i = 0; i < N; i++)
		devices[i] = device;
	OK(choir_comm_create_local(N, devices, NULL, comms));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++)
		OK(choir_comm_destroy(comms[i]));
	choir_device_destroy(device);
	return 0;
}

static void test_description(void **state)
{
	char *text = NULL;

	(void)state;
	assert_int_equal(choir_device_create_host(NULL), CHOIR_ARGUMENT);
	assert_null(choir_device_context(device));
	assert_null(choir_device_id(device));
	assert_int_equal(choir_device_class(device), CHOIR_CLASS_DIRECT);
	OK(choir_device_json(device, &text));
	assert_non_null(strstr(text, "\"host memory\""));
	free(text);
	OK(choir_comm_warm(comms[0], CHOIR_F32, CHOIR_OP_SUM));
	FAILS(choir_comm_warm(comms[0], CHOIR_F32, CHOIR_OP_BAND), CHOIR_UNSUPPORTED, "band");
}

static void add(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)dtype, (void)ctx;
	for (size_t i = 0; i < count; i++)
		((int32_t *)acc)[i] += ((const int32_t *)src)[i];
}

/* An operator of both forms needs its text for kernels alone, and one of a text alone cannot be warmed here. */
static void test_warm_operators(void **state)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op;

	(void)state;
	config.name = "own";
	config.fold_text = "a + b";
	OK(choir_op_create(&config, &op));
	FAILS(choir_comm_warm(comms[0], CHOIR_I32, op), CHOIR_UNSUPPORTED, "no fold function");
	OK(choir_op_destroy(op));
	config.fold = add;
	OK(choir_op_create(&config, &op));
	OK(choir_comm_warm(comms[0], CHOIR_I32, op));
	OK(choir_op_destroy(op));
}

static void test_dense(void **state)
{
	static int32_t in[N][N * COUNT], sum[N][N * COUNT], all[N][N * COUNT];
	choir_event *events[N];
	int wrong = 0;

	(void)state;
	for (int r = 0; r < N; r++)
		for (int i = 0; i < N * COUNT; i++)
			in[r][i] = i * 10 + r;
	for (int r = 0; r < N; r++)
		OK(choir_allreduce(comms[r], choir_host(in[r]), choir_host(sum[r]), N * COUNT, CHOIR_I32, CHOIR_OP_SUM,
		                   NULL, &events[r]));
	for (int r = 0; r < N; r++) {
		OK(choir_event_wait(events[r], 20000));
		choir_event_release(events[r]);
	}
	OK(choir_group_begin());
	for (int r = 0; r < N; r++)
		OK(choir_alltoall(comms[r], choir_host(in[r]), choir_host(all[r]), COUNT, CHOIR_I32, NULL, NULL));
	OK(choir_group_end());
	for (int r = 0; r < N; r++)
		for (int i = 0; i < N * COUNT; i++) {
			wrong += sum[r][i] != N * i * 10 + N * (N - 1) / 2;
			wrong += all[r][i] != (r * COUNT + i % COUNT) * 10 + i / COUNT;
		}
	assert_int_equal(wrong, 0);
}

static choir_status keep(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val,
                         size_t val_count, choir_dtype val_dtype)
{
	int *good = ctx;

	(void)ind_dtype;
	(void)val_dtype;
	*good = ind.kind == CHOIR_BUFFER_HOST && val.kind == CHOIR_BUFFER_HOST && ind_count == 2 && val_count == 4 &&
	        ((int32_t *)ind.base)[1] == 7 && ((float *)val.base)[3] == 2.5f;
	return CHOIR_SUCCESS;
}

/* The last rank sends nothing, and names no buffers: its result is host memory as well. */
static void test_sparse(void **state)
{
	int32_t ind[2] = { 7, 2 };
	float val[4] = { 1, 1.25f, 3, 3 };
	int good[N] = { 0 };
	choir_event *events[N];

	(void)state;
	for (int r = 0; r < N; r++) {
		choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
		int gives = r < N - 1;

		attr.completion_fn = keep;
		attr.fn_ctx = &good[r];
		OK(choir_sparse_allreduce(comms[r], gives ? choir_host(ind) : choir_none(), gives ? 2 : 0,
		                          gives ? choir_host(val) : choir_none(), gives ? 4 : 0, choir_none(), NULL,
		                          choir_none(), NULL, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, NULL,
		                          &events[r]));
	}
	for (int r = 0; r < N; r++) {
		OK(choir_event_wait(events[r], 20000));
		choir_event_release(events[r]);
		assert_true(good[r]);
	}
}

static void test_symmetric(void **state)
{
	void *ptrs[N];
	cl_mem mems[N] = { 0 };

	(void)state;
	OK(choir_mem_alloc_local(N, comms, 8192, ptrs, mems));
	OK(choir_group_begin());
	for (int r = 0; r < N; r++) {
		assert_null(mems[r]);
		memset(ptrs[r], r + 1, 8192);
		OK(choir_allreduce(comms[r], choir_host(ptrs[r]), choir_host(ptrs[r]), 8192, CHOIR_U8, CHOIR_OP_SUM,
		                   NULL, NULL));
	}
	OK(choir_group_end());
	for (int r = 0; r < N; r++)
		assert_int_equal(((unsigned char *)ptrs[r])[8191], N * (N + 1) / 2);
	OK(choir_mem_free_local(N, comms, ptrs));
}

/* Nothing is sent, so the other ranks need not call. */
static void test_refused(void **state)
{
	float x[4] = { 0 };
	choir_buffer host = choir_host(x);
	choir_buffer others[3] = { choir_mem((cl_mem)(void *)x, 0), choir_svm(x), choir_usm(x) };
	choir_event *events[N];
	cl_event made = NULL;

	(void)state;
	for (int i = 0; i < 3; i++)
		FAILS(choir_allreduce(comms[0], others[i], others[i], 4, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL),
		      CHOIR_UNSUPPORTED, "host memory alone");
	for (int r = 0; r < N; r++)
		OK(choir_broadcast(comms[r], host, host, 4, CHOIR_F32, 0, NULL, &events[r]));
	FAILS(choir_event_to_cl(events[0], &made), CHOIR_UNSUPPORTED, "host memory alone");
	for (int r = 0; r < N; r++) {
		OK(choir_event_wait(events[r], 20000));
		choir_event_release(events[r]);
	}
}

/* The loader reads its list of drivers, and opens them, in the first call of any OpenCL function. */
static void test_no_driver(void **state)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int opened = 0;

	(void)state;
	assert_non_null(maps);
	while (fgets(line, sizeof line, maps) != NULL)
		opened += strstr(line, "libpocl") != NULL || strstr(line, "libintelocl") != NULL ||
		          strstr(line, "libRusticl") != NULL;
	fclose(maps);
	assert_int_equal(opened, 0);
}

/* The signals that this thread of the process blocks. */
static unsigned long long blocked_by(const char *thread)
{
	char path[64], line[128];
	unsigned long long mask = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		(void)sscanf(line, "SigBlk: %llx", &mask);
	fclose(file);
	return mask;
}

/* The library's threads, which are here by now, leave signals to the program. */
static void test_signals(void **state)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *thread;
	int n = 0;

	(void)state;
	assert_non_null(threads);
	while ((thread = readdir(threads)) != NULL) {
		if (thread->d_name[0] == '.' || atoi(thread->d_name) == (int)getpid())
			continue;
		n++;
		assert_true((blocked_by(thread->d_name) & 1ull << (SIGTERM - 1)) != 0);
	}
	closedir(threads);
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_description),    cmocka_unit_test(test_dense),   cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_symmetric),      cmocka_unit_test(test_refused), cmocka_unit_test(test_no_driver),
		cmocka_unit_test(test_warm_operators), cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
