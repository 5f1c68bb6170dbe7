/* SPDX-License-Identifier: MIT */
/* The selection kernels give what the host twin gives, byte for byte. */
#include "look.h"
#include "sparse/on_device.h"
#include "sparse/reference.h"
#include "sparse/select_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD  16 /* elements */
#define OFFSET 5  /* elements before the data */

static uint32_t group; /* of work-items */
static uint32_t few;   /* elements without a sample */

static void download(cl_mem mem, void *to, size_t bytes)
{
	assert_int_equal(clEnqueueReadBuffer(dev_queue(device), mem, CL_TRUE, 0, bytes, to, 0, NULL, NULL), CL_SUCCESS);
}

static void finish(struct select_job *job, uint64_t *count, struct select_limit *limit)
{
	bool done = false;

	for (; !done; look_again(done))
		assert_int_equal(select_job_poll(job, count, limit, &done), CHOIR_SUCCESS);
	select_job_destroy(job);
}

/* top: the k largest; else by the limit of the k largest, ties as given. */
static void one_case(const unsigned char *data, uint32_t elem_bytes, size_t n, uint64_t k, bool top, uint64_t ties,
                     size_t capacity, uint32_t ind_bytes)
{
	size_t ind_room = (capacity + GUARD) * ind_bytes, val_room = (capacity + GUARD) * elem_bytes;
	unsigned char *ind = blank(ind_room), *val = blank(val_room), *got_ind = blank(ind_room),
		      *got_val = blank(val_room);
	cl_mem from = upload(data, (n + OFFSET) * elem_bytes), to_ind = upload(ind, ind_room),
	       to_val = upload(val, val_room);
	struct select_input in = { .val = data + OFFSET * elem_bytes, .elem_bytes = elem_bytes, .n = n };
	struct select_output out = { .ind = ind, .form = { .bytes = ind_bytes }, .val = val, .capacity = capacity };
	struct select_source source = {
		.mem = from, .off = OFFSET * elem_bytes, .elem_bytes = elem_bytes, .group = group, .few = few, .n = n
	};
	struct select_target target = { .ind = to_ind, .val = to_val, .ind_bytes = ind_bytes, .capacity = capacity };
	struct select_limit limit, got_limit;
	struct select_job *job;
	uint64_t count = k, got_count;

	assert_int_equal(select_top(&in, k, &out, &limit), CHOIR_SUCCESS);
	if (!top) {
		limit.ties = ties;
		memset(ind, SENTINEL, ind_room);
		memset(val, SENTINEL, val_room);
		count = select_host(&in, limit, &out);
		assert_int_equal(select_job_limit(device, &source, limit, &target, &job), CHOIR_SUCCESS);
	} else {
		assert_int_equal(select_job_top(device, &source, k, &target, &job), CHOIR_SUCCESS);
	}
	finish(job, &got_count, &got_limit);
	assert_int_equal(got_count, count);
	if (n > 0 && k > 0)
		assert_true(got_limit.key == limit.key && got_limit.ties == limit.ties);
	download(to_ind, got_ind, ind_room);
	download(to_val, got_val, val_room);
	assert_memory_equal(got_ind, ind, ind_room);
	assert_memory_equal(got_val, val, val_room);
	clReleaseMemObject(from);
	clReleaseMemObject(to_ind);
	clReleaseMemObject(to_val);
	free(ind);
	free(val);
	free(got_ind);
	free(got_val);
}

static unsigned char *make(uint32_t elem_bytes, size_t n, bool ties, uint64_t seed)
{
	unsigned char *data = malloc((n + OFFSET) * elem_bytes);

	for (size_t i = 0; i < n + OFFSET; i++) {
		uint64_t bits = reference_next(&seed);

		if (ties)
			bits = bits % 7 << (8 * elem_bytes - 9) | (bits >> 40 & 1) << (8 * elem_bytes - 1);
		memcpy(data + i * elem_bytes, &bits, elem_bytes);
	}
	return data;
}

static void all_cases(void)
{
	static const size_t sizes[] = { 0, 1, 2, 777, 2049, 100003 };
	size_t n_sizes = sizeof sizes / sizeof *sizes - (small || short_loops);

	for (size_t s = 0; s < n_sizes; s++)
		for (uint32_t bytes = 2; bytes <= 8; bytes *= 2)
			for (int ties = 0; ties < 2; ties++) {
				size_t n = sizes[s], k = n / 20 + (n > 0);
				unsigned char *data = make(bytes, n, ties == 1, n + bytes);

				one_case(data, bytes, n, k, true, 0, k, 4);
				one_case(data, bytes, n, n, true, 0, n, 8);
				one_case(data, bytes, n, 0, true, 0, 3, 4);
				one_case(data, bytes, n, n / 2, true, 0, n / 3, 4);
				one_case(data, bytes, n, n / 14, true, 0, n, 4);
				one_case(data, bytes, n, k, false, UINT64_MAX, n, 8);
				one_case(data, bytes, n, k, false, 0, n, 4);
				one_case(data, bytes, n, k, false, 3, n, 4);
				free(data);
			}
}

static void items_alone(void **state)
{
	(void)state;
	group = 1;
	all_cases();
}

static void items_in_groups(void **state)
{
	(void)state;
	group = 64;
	all_cases();
}

static void groups_with_a_sample(void **state)
{
	(void)state;
	group = 64;
	few = SELECT_SAMPLES;
	all_cases();
	few = 0;
}

/* Samples are taken at i * stride + i % stride: where just those elements are larger than all others the pivot is too
 * high, where they are smaller too low. */
static void samples_mislead(void **state)
{
	enum { N = 70001, STRIDE = N / SELECT_SAMPLES };
	float *data = (float *)(void *)make(4, N, false, 5), *from = data + OFFSET;

	(void)state;
	few = SELECT_SAMPLES;
	for (group = 1; group <= 64; group += 63) {
		for (int higher = 0; higher < 2; higher++) {
			for (size_t i = 0; i < N; i++)
				from[i] =
				    (float)((i * 7919 % N) + (higher && i / STRIDE % STRIDE == i % STRIDE ? N : 1));
			one_case((unsigned char *)data, 4, N, N / 3, true, 0, N / 3, 4);
			one_case((unsigned char *)data, 4, N, 100, true, 0, 100, 4);
		}
		for (size_t i = 0; i < N; i++)
			from[i] = i / STRIDE % STRIDE == i % STRIDE ? 0 : (float)(i % 1000 + 1);
		one_case((unsigned char *)data, 4, N, 100, true, 0, 100, 8);
		for (size_t i = 0; i < N; i++) /* all candidates, for which there is no room */
			from[i] = 1;
		one_case((unsigned char *)data, 4, N, 100, true, 0, 200, 4);
	}
	few = 0;
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(items_alone), cmocka_unit_test(items_in_groups),
		                            cmocka_unit_test(groups_with_a_sample), cmocka_unit_test(samples_mislead) };

	return cmocka_run_group_tests(tests, open_device, close_device);
}
