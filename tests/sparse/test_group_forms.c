/* SPDX-License-Identifier: MIT */
/* Kernels that sum over a work-group, by sub-groups and by local memory, with the groups that GPUs get: prefix sums,
 * bitmaps, ranges, selections, means and sorts, each against the host.  Short lists: new here are the groups. */
#include "dev/launch.h"
#include "look.h"
#include "sparse/coalesce_case.h"
#include "sparse/dense.h"
#include "sparse/group_forms.h"
#include "sparse/interprets.h"
#include "sparse/mean_std.h"
#include "sparse/on_device.h"
#include "sparse/range_kernel.h"
#include "sparse/select_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void download(cl_mem mem, void *to, size_t bytes)
{
	assert_int_equal(clEnqueueReadBuffer(dev_queue(device), mem, CL_TRUE, 0, bytes, to, 0, NULL, NULL), CL_SUCCESS);
}

static void scan_of(cl_uint n, size_t group, cl_uint each)
{
	char options[32];
	uint32_t *data = malloc((n + 1) * 4), *want = malloc((n + 1) * 4), total = 1, sum = 0;
	uint64_t seed = n + group;

	for (cl_uint i = 0; i < n; i++) {
		data[i] = (uint32_t)(reference_next(&seed) % 70000);
		want[i] = sum;
		sum += data[i];
	}
	cl_mem mem = upload(data, (n + 1) * 4), total_mem = upload(&total, 4);
	struct launch_arg args[] = { LAUNCH_ARG(mem), LAUNCH_ARG(n), LAUNCH_ARG(each), LAUNCH_ARG(total_mem) };
	struct launch launch = { .source = "scan.cl",
		                 .options = options,
		                 .kernel = "scan_group",
		                 .args = args,
		                 .n_args = sizeof args / sizeof *args,
		                 .global = group,
		                 .local = group };

	snprintf(options, sizeof options, "-DGROUP=%zu", group);
	assert_int_equal(launch_run(device, &launch, NULL), CHOIR_SUCCESS);
	download(mem, data, (n + 1) * 4);
	download(total_mem, &total, 4);
	assert_memory_equal(data, want, n * 4);
	assert_int_equal(total, sum);
	clReleaseMemObject(mem);
	clReleaseMemObject(total_mem);
	free(data);
	free(want);
}

static void prefix_sums(void **state)
{
	static const size_t groups[] = { 2, 64 };
	static const cl_uint sizes[] = { 0, 1, 2, 63, 64, 65, 257, 4099 };

	(void)state;
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			scan_of(sizes[s], groups[g], 1);
			scan_of(sizes[s], groups[g], 8);
			scan_of(sizes[s], groups[g], sizes[s]); /* in one block, as on CPUs */
		}
}

/* Bits are numbered: before[w] = bits below word w. */
static void bitmap_of(cl_uint words)
{
	uint32_t *bits = malloc(words * 4), *want = malloc(words * 4), *got = blank(words * 4), total, sum = 0;
	uint64_t seed = words;
	cl_mem scratch = NULL;

	for (cl_uint w = 0; w < words; w++) {
		bits[w] = (uint32_t)reference_next(&seed) & (uint32_t)reference_next(&seed);
		want[w] = sum;
		sum += (uint32_t)__builtin_popcount(bits[w]);
	}
	cl_mem mem = upload(bits, words * 4), before = upload(got, words * 4), total_mem = upload(&sum, 4);
	struct dense_bitmap bitmap = { .mem = mem, .words = words };

	assert_int_equal(dev_buffer_create(device, dense_kernel_spans(device, words) * 4, &scratch), CHOIR_SUCCESS);
	assert_int_equal(dense_kernel_number(device, &bitmap, scratch, before, total_mem, NULL), CHOIR_SUCCESS);
	download(before, got, words * 4);
	download(total_mem, &total, 4);
	assert_memory_equal(got, want, words * 4);
	assert_int_equal(total, sum);
	dev_buffer_free(scratch);
	clReleaseMemObject(mem);
	clReleaseMemObject(before);
	clReleaseMemObject(total_mem);
	free(bits);
	free(want);
	free(got);
}

static void bitmaps(void **state)
{
	static const cl_uint sizes[] = { 1, 3, 256, 1025, 4099 };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		bitmap_of(sizes[s]);
}

/* From the second index on; that at `bad` and each 1000th after it is negative. */
static void range_of(size_t n, size_t bad)
{
	int64_t *ind = malloc((n + 1) * 8), bad_index = 0;
	struct index_range want = { .lo = INT64_MAX, .hi = INT64_MIN }, got;
	struct range_job *job;
	uint64_t seed = n + bad, bad_at;
	bool done = false;

	ind[0] = -1;
	for (size_t i = 0; i < n; i++) {
		int64_t x = (int64_t)(reference_next(&seed) >> 20);

		ind[i + 1] = x = i >= bad && (i - bad) % 1000 == 0 ? -x - 1 : x;
		want.lo = x < want.lo ? x : want.lo;
		want.hi = x > want.hi ? x : want.hi;
	}
	cl_mem mem = upload(ind, (n + 1) * 8);

	assert_int_equal(range_job_create(device, mem, 8, 8, n, &job), CHOIR_SUCCESS);
	for (; !done; look_again(done))
		assert_int_equal(range_job_poll(job, &got, &bad_at, &bad_index, &done), CHOIR_SUCCESS);
	range_job_destroy(job);
	assert_true(got.lo == want.lo && got.hi == want.hi);
	assert_int_equal(bad_at, bad < n ? bad : n);
	assert_true(bad >= n || bad_index == ind[bad + 1]);
	clReleaseMemObject(mem);
	free(ind);
}

static void ranges(void **state)
{
	static const size_t sizes[] = { 1, 255, 1024, 5003 };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		range_of(sizes[s], 0);
		range_of(sizes[s], sizes[s] / 3);
		range_of(sizes[s], sizes[s]);
	}
}

/* The k largest of n, of which many are equal. */
static void selection_of(size_t n, size_t k, uint32_t group)
{
	uint32_t *data = malloc(n * 4), *val = blank(k * 4), *got_val = blank(k * 4);
	int32_t *ind = blank(k * 4), *got_ind = blank(k * 4);
	struct select_input in = { .val = data, .elem_bytes = 4, .n = n };
	struct select_output out = { .ind = ind, .form = { .bytes = 4 }, .val = val, .capacity = k };
	struct select_limit limit;
	struct select_job *job;
	uint64_t seed = n, count;
	bool done = false;

	for (size_t i = 0; i < n; i++)
		data[i] = (uint32_t)(reference_next(&seed) % 23 << 20);
	cl_mem from = upload(data, n * 4), to_ind = upload(ind, k * 4), to_val = upload(val, k * 4);
	struct select_source source = { .mem = from, .elem_bytes = 4, .group = group, .n = n };
	struct select_target target = { .ind = to_ind, .val = to_val, .ind_bytes = 4, .capacity = k };

	assert_int_equal(select_top(&in, k, &out, &limit), CHOIR_SUCCESS);
	assert_int_equal(select_job_top(device, &source, k, &target, &job), CHOIR_SUCCESS);
	for (; !done; look_again(done))
		assert_int_equal(select_job_poll(job, &count, &limit, &done), CHOIR_SUCCESS);
	select_job_destroy(job);
	download(to_ind, got_ind, k * 4);
	download(to_val, got_val, k * 4);
	assert_int_equal(count, k);
	assert_memory_equal(got_ind, ind, k * 4);
	assert_memory_equal(got_val, val, k * 4);
	clReleaseMemObject(from);
	clReleaseMemObject(to_ind);
	clReleaseMemObject(to_val);
	free(data);
	free(ind);
	free(val);
	free(got_ind);
	free(got_val);
}

static void selections(void **state)
{
	static const uint32_t groups[] = { 64, 0 }; /* 0: what the device gets by itself */

	(void)state;
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		selection_of(1, 1, groups[g]);
		selection_of(777, 100, groups[g]);
		selection_of(777, 777, groups[g]);
		selection_of(5003, 1250, groups[g]);
		selection_of(70001, 9000, groups[g]);
	}
}

/* One block, several, several a span; entries of either size, that carry elements and positions; runs of equal keys
 * from one block to the next. */
static void sorts(void **state)
{
	static const struct coalesce_shape shapes[] = {
		{ .name = "one block", .n = 700, .width = 1, .base = 3, .range = 9001, .n_src = 1 },
		{ .name = "two blocks of a group", .n = 4096, .width = 1, .range = UINT64_C(1) << 40, .n_src = 2 },
		{ .name = "short lists of rows", .n = 3001, .width = 3, .base = 5, .range = 700, .n_src = 3 },
		{ .name = "several lists", .n = 5000, .width = 1, .range = 500, .n_src = 3 },
		{ .name = "several blocks a span", .n = 70001, .width = 1, .range = 4000000, .n_src = 2 },
		{ .name = "rows", .n = 5000, .width = 3, .range = 700, .n_src = 2 },
		{ .name = "one index", .n = 5000, .width = 2, .base = 7, .range = 1, .n_src = 1 },
		{ .name = "wide keys", .n = 5000, .width = 1, .range = UINT64_C(1) << 40, .n_src = 2 },
		{ .name = "long runs", .n = 5000, .width = 1, .range = 60, .n_src = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		if (short_loops && shapes[i].n > 65535)
			continue;
		coalesce_case_check(device, &shapes[i], CHOIR_F32, CHOIR_OP_SUM, 8, false);
		/* An interpreter takes half a minute for the longest. */
		if (!device_interprets(device) || shapes[i].n < 65535)
			coalesce_case_check(device, &shapes[i], CHOIR_F16, CHOIR_OP_SUM, 8, false);
	}
}

static void means_of(size_t n)
{
	float *val = malloc((n + 1) * sizeof *val);
	struct mean_std want, got;
	struct mean_std_job *job;
	uint64_t seed = n;
	bool done = false;

	for (size_t i = 0; i <= n; i++)
		val[i] = (float)(reference_next(&seed) % 2048) / 1024 - 1;
	cl_mem mem = upload(val, (n + 1) * sizeof *val);

	mean_std_host(CHOIR_F32, val + 1, n, &want);
	assert_int_equal(mean_std_job_create(device, CHOIR_F32, mem, sizeof *val, n, &job), CHOIR_SUCCESS);
	for (; !done; look_again(done))
		assert_int_equal(mean_std_job_poll(job, &got, &done), CHOIR_SUCCESS);
	mean_std_job_destroy(job);
	assert_memory_equal(&got, &want, sizeof want);
	clReleaseMemObject(mem);
	free(val);
}

/* What is read ahead ends within a lane's elements, and within a group's blocks. */
static void means(void **state)
{
	(void)state;
	means_of(1);
	means_of(4099);
	means_of(50001);
	means_of(300001);
}

static int run_all(enum group_form form, const char *name)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(prefix_sums), cmocka_unit_test(bitmaps),
		                            cmocka_unit_test(ranges),      cmocka_unit_test(selections),
		                            cmocka_unit_test(sorts),       cmocka_unit_test(means) };

	group_form = form;
	printf("# %s\n", name);
	int failed = cmocka_run_group_tests(tests, open_as_gpu, close_device);
	printf("# built with sub-groups: %u, refused: %u\n", sub_group_builds, sub_group_failures);
	return failed;
}

static bool open_device_is(bool (*is)(void))
{
	open_device(NULL);
	bool yes = is();
	close_device(NULL);
	return yes;
}

/* Oclgrind's compiler takes the functions of sub-groups, and no kernel can be made of the program. */
static bool is_oclgrind(void)
{
	return device_interprets(device);
}

/* A device that says that it has sub-groups builds every program that asks for them. */
static int run_own(void)
{
	int failed = run_all(FORM_OWN, "sums over sub-groups, the device's own");

	if (sub_group_builds == 0 || sub_group_failures > 0) {
		printf("a device with sub-groups did not build their form\n");
		failed++;
	}
	return failed;
}

int main(void)
{
	int failed = run_all(FORM_LOCAL, "sums in local memory");

	if (sub_group_builds + sub_group_failures > 0) {
		printf("a device without sub-groups got their form\n");
		failed++;
	}
	if (open_device_is(is_oclgrind)) {
		printf("sums over sub-groups are skipped: Oclgrind knows no sub-groups\n");
		return failed;
	}
	if (open_device_is(device_has_sub_groups))
		return failed + run_own();
	printf("the device says that it has no sub-groups: it is told that it has, and may refuse them\n");
	failed += run_all(FORM_CLAIMED, "sums over sub-groups, claimed");
	if (sub_group_builds + sub_group_failures == 0) {
		printf("a device that claims sub-groups did not get their form\n");
		failed++;
	}
	return failed;
}
