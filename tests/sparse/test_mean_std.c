/* SPDX-License-Identifier: MIT */
/* Moments: the host against long double, the kernel against the host, bit for bit. */
#include "look.h"
#include "sparse/on_device.h"
#include "sparse/mean_std.h"
#include "sparse/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OFFSET 3 /* elements before the data */

/* Values near 1000: plain f32 sums would lose the deviation. */
static double make(choir_dtype dtype, unsigned char *to, size_t i, uint64_t *seed)
{
	float x = (float)(reference_next(seed) % 2048) / 1024 + (i % 2 == 0 ? 1000 : 998);
	double wide = x;
	uint32_t bits;
	uint16_t half;

	memcpy(&bits, &x, 4);
	if (dtype == CHOIR_F64) {
		memcpy(to, &wide, 8);
		return wide;
	}
	if (dtype == CHOIR_F16 || dtype == CHOIR_BF16) { /* cut off: exponents of these values fit */
		bits &= dtype == CHOIR_F16 ? 0xffffe000u : 0xffff0000u;
		half = (uint16_t)(dtype == CHOIR_F16 ? ((bits >> 23) - 112) << 10 | (bits >> 13 & 1023) : bits >> 16);
		memcpy(to, &half, 2);
	} else {
		memcpy(to, &x, 4);
	}
	memcpy(&x, &bits, 4);
	return x;
}

static void one_case(choir_dtype dtype, size_t n)
{
	size_t elem = choir_dtype_bytes(dtype);
	unsigned char *val = calloc(n + OFFSET, elem);
	long double sum = 0, squares = 0, mean, deviation;
	struct mean_std host, kernel;
	struct mean_std_job *job;
	uint64_t seed = n + (uint64_t)dtype;
	bool done = false;
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), 0, (n + OFFSET) * elem, NULL, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	for (size_t i = 0; i < n; i++) {
		long double x = make(dtype, val + (OFFSET + i) * elem, i, &seed);

		sum += x;
		squares += x * x;
	}
	mean = n == 0 ? 0 : sum / (long double)n;
	deviation = n == 0 ? 0 : sqrtl(fmaxl(squares / (long double)n - mean * mean, 0));
	mean_std_host(dtype, val + OFFSET * elem, n, &host);
	assert_true(fabsl(host.mean - mean) <= 1e-9L * mean);
	/* The variance is as good as the squares, of which each is rounded once: for 16-bit types not at all. */
	if (fabsl((long double)host.deviation * host.deviation - deviation * deviation) >
	    (elem == 2 ? 1e-9L : 1e-7L) * squares / (long double)(n + (n == 0)))
		fail_msg("%s: deviation of %zu is %g, not %Lg", choir_dtype_name(dtype), n, host.deviation, deviation);
	assert_int_equal(
	    clEnqueueWriteBuffer(dev_queue(device), mem, CL_TRUE, 0, (n + OFFSET) * elem, val, 0, NULL, NULL),
	    CL_SUCCESS);
	if (n > 0 && mean_std_job_create(device, dtype, mem, OFFSET * elem, n, &job) == CHOIR_SUCCESS) {
		mean_std_job_destroy(job); /* early: must wait for the kernel */
		assert_int_equal(mean_std_job_create(device, dtype, mem, OFFSET * elem, n, &job), CHOIR_SUCCESS);
		for (; !done; look_again(done))
			assert_int_equal(mean_std_job_poll(job, &kernel, &done), CHOIR_SUCCESS);
		mean_std_job_destroy(job);
		if (memcmp(&kernel, &host, sizeof host) != 0)
			fail_msg("%s of %zu: mean %a, deviation %a, not %a, %a", choir_dtype_name(dtype), n,
			         kernel.mean, kernel.deviation, host.mean, host.deviation);
	}
	clReleaseMemObject(mem);
	free(val);
}

static void same_bits(void **state)
{
	static const choir_dtype dtypes[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F32, CHOIR_F64 };
	static const size_t sizes[] = { 0, 1, 15, 17, 4095, 4097, 300001 };

	(void)state;
	for (size_t t = 0; t < 4; t++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes - small; s++)
			one_case(dtypes[t], sizes[s]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits) };

	return cmocka_run_group_tests(tests, open_device, close_device);
}
