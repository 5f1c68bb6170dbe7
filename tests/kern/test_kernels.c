/* SPDX-License-Identifier: MIT */
/* The kernels against the plain reference and the host twins: every dtype x op on the default device.  "wide": an
 * eighth of them, with work-items that take 16 bytes, as a GPU's do (Note [vector widths] in dev/facts.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dtype.h"
#include "dev/device_impl.h"
#include "inputs.h"
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SRC   17
#define MAX_COUNT 4099
#define MAX_BYTES (MAX_COUNT * 16)
#define MARGIN    256 /* bytes before and after an operand */
#define SENTINEL  0xa5

#define assert_ok(expr)                                                                                                \
	do {                                                                                                           \
		if ((expr) != CHOIR_SUCCESS)                                                                           \
			fail_msg("%s: %s", #expr, choir_last_error());                                                 \
	} while (0)

static bool wide;

struct fixture {
	choir_device *device;
	cl_mem mem[MAX_SRC + 1]; /* the last is dst */
	unsigned char *host[MAX_SRC + 1];
	unsigned char *want, *twin;
};

static void copy_to_device(struct fixture *f, int which)
{
	struct dev_access access = dev_buffer_access(f->mem[which], 0, MAX_BYTES + 2 * MARGIN);
	cl_event event;

	assert_ok(dev_write(f->device, &access, 0, f->host[which], access.bytes, &event));
	assert_ok(dev_wait(&event));
}

/* Every operand starts at another offset, all of them multiples of the element only. */
static size_t offset_of(const struct reduce_call *call, uint32_t which)
{
	return (1 + which * 3 % 15) * choir_dtype_bytes(call->dtype);
}

static void fill_sources(struct fixture *f, choir_dtype dtype)
{
	size_t bytes = choir_dtype_bytes(dtype);

	for (uint32_t k = 0; k < MAX_SRC; k++) {
		inputs_fill(dtype, f->host[k], (MAX_BYTES + 2 * MARGIN) / bytes, k + 1);
		copy_to_device(f, (int)k);
	}
}

/* dst is its own buffer, or (in_place) one of the sources. */
static void check(struct fixture *f, const struct reduce_call *call, uint32_t in_place)
{
	uint32_t to = in_place < call->n_src ? in_place : MAX_SRC;
	size_t size = call->count * choir_dtype_bytes(call->dtype), at = offset_of(call, to);
	struct reduce_operand dst = { f->mem[to], at }, src[MAX_SRC];
	struct dev_access whole = dev_buffer_access(f->mem[to], 0, MAX_BYTES + 2 * MARGIN);
	const void *args[MAX_SRC];
	cl_event event;

	if (to == MAX_SRC) {
		memset(f->host[to], SENTINEL, whole.bytes);
		copy_to_device(f, MAX_SRC);
	}
	for (uint32_t k = 0; k < call->n_src; k++) {
		src[k] = (struct reduce_operand){ f->mem[k], offset_of(call, k) };
		args[k] = f->host[k] + src[k].off;
	}
	reference_reduce(call, f->want, args);
	reduce_host(call, (void *[]){ f->twin }, args);
	reference_assert(call, f->twin, f->want, "host twin");

	assert_ok(reduce_kernel_start(f->device, call, dst, src, &event));
	assert_ok(dev_wait(&event));
	unsigned char *got = malloc(whole.bytes);
	assert_non_null(got);
	assert_ok(dev_read(f->device, &whole, 0, got, whole.bytes, &event));
	assert_ok(dev_wait(&event));
	reference_assert(call, got + at, f->want, "kernel");
	assert_memory_equal(got, f->host[to], at); /* nothing before it */
	assert_memory_equal(got + at + size, f->host[to] + at + size, whole.bytes - at - size);
	free(got);
	if (to < MAX_SRC)
		copy_to_device(f, (int)to); /* the source again */
}

static void check_pair(struct fixture *f, choir_dtype dtype, choir_op op)
{
	unsigned v = 0;

	for (const uint32_t *n_src = inputs_sources(); *n_src != 0; n_src++)
		for (const size_t *count = inputs_counts(); *count != SIZE_MAX; count++) {
			struct reduce_call call = inputs_call(dtype, op, *n_src, *count, v++);

			check(f, &call, v % 3 == 0 ? v / 3 % *n_src : MAX_SRC);
		}
}

static void test_every_pair(void **state)
{
	struct fixture *f = *state;

	for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) != 0; dtype++) {
		fill_sources(f, dtype);
		for (choir_op op = 0; op < N_OPS; op++)
			if ((!wide || (dtype + op) % 8 == 0) && reduce_supported(dtype, op) == CHOIR_SUCCESS &&
			    reduce_kernel_supported(f->device, dtype, op) == CHOIR_SUCCESS)
				check_pair(f, dtype, op);
	}
}

/* All 65536 halves through vload_half and vstore_half. */
static void test_half_conversions(void **state)
{
	struct fixture *f = *state;
	struct reduce_call call = {
		.dtype = CHOIR_F16, .op = CHOIR_OP_SUM, .n_src = 2, .n_dst = 1, .nt_from = 1, .count = 2048
	};
	struct reduce_operand src[] = { { f->mem[0], 0 }, { f->mem[1], 0 } }, dst = { f->mem[MAX_SRC], 0 };
	struct dev_access out = dev_buffer_access(f->mem[MAX_SRC], 0, 4096);

	for (uint32_t first = 0; first < 0x10000; first += 2048) {
		uint16_t got[2048], *a = (uint16_t *)(void *)f->host[0], *b = (uint16_t *)(void *)f->host[1];
		const void *args[] = { a, b };
		cl_event event;

		for (uint32_t i = 0; i < 2048; i++) {
			a[i] = (uint16_t)(first + i);
			b[i] = (uint16_t)(0x3801 + i % 7 * 0x333);
		}
		copy_to_device(f, 0);
		copy_to_device(f, 1);
		reduce_host(&call, (void *[]){ f->want }, args);
		assert_ok(reduce_kernel_start(f->device, &call, dst, src, NULL));
		assert_ok(dev_read(f->device, &out, 0, got, 4096, &event));
		assert_ok(dev_wait(&event));
		reference_assert(&call, (unsigned char *)got, f->want, "halves");
	}
}

/* The way of devices whose f32 division is inexact gives the same bits as the others'. */
static void test_division_in_f64(void **state)
{
	struct fixture *f = *state, other = *f;
	cl_event event;

	if (!f->device->facts.fp64)
		skip();
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	assert_ok(
	    choir_device_create(choir_device_context(f->device), choir_device_id(f->device), &config, &other.device));
	other.device->facts.exact_division = false;
	fill_sources(f, CHOIR_F32);
	for (int n = 1; n < 40; n++) {
		struct reduce_call call = { .dtype = CHOIR_F32,
			                    .op = CHOIR_OP_MEAN,
			                    .n_src = 2,
			                    .final = true,
			                    .n_ranks = n,
			                    .n_dst = 1,
			                    .nt_from = 1,
			                    .count = 1025 };

		check(&other, &call, MAX_SRC);
	}
	assert_ok(dev_marker(dev_queue(other.device), &event));
	assert_ok(dev_wait(&event));
	choir_device_destroy(other.device);
}

static void test_unsupported(void **state)
{
	struct fixture *f = *state;
	struct reduce_operand src[] = { { f->mem[0], 0 }, { f->mem[1], 0 } };
	struct reduce_call call = {
		.dtype = CHOIR_F32, .op = CHOIR_OP_BXOR, .n_src = 2, .n_dst = 1, .nt_from = 1, .count = 4
	};
	struct device_facts kept = f->device->facts;
	cl_event event = NULL;

	assert_int_equal(reduce_kernel_start(f->device, &call, src[0], src, &event), CHOIR_UNSUPPORTED);
	call = (struct reduce_call){
		.dtype = CHOIR_I32, .op = CHOIR_OP_SUM, .n_src = 0, .n_dst = 1, .nt_from = 1, .count = 4
	};
	assert_int_equal(reduce_kernel_start(f->device, &call, src[0], src, &event), CHOIR_ARGUMENT);
	call = (struct reduce_call){
		.dtype = CHOIR_I32, .op = CHOIR_OP_SUM, .n_src = 2, .n_dst = 2, .nt_from = 2, .count = 4
	};
	assert_int_equal(reduce_kernel_start(f->device, &call, src[0], src, &event), CHOIR_ARGUMENT);
	f->device->facts.fp64 = false;
	f->device->facts.exact_division = false;
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F64, CHOIR_OP_SUM), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "fp64"));
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F16, CHOIR_OP_MEAN), CHOIR_UNSUPPORTED);
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F16, CHOIR_OP_SUM), CHOIR_SUCCESS);
	f->device->facts.denormals = false;
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F32, CHOIR_OP_SUM), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "denormal"));
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_BF16, CHOIR_OP_MAX), CHOIR_UNSUPPORTED);
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F16, CHOIR_OP_SUM), CHOIR_SUCCESS);
	assert_int_equal(reduce_kernel_supported(f->device, CHOIR_F16, CHOIR_OP_PROD), CHOIR_UNSUPPORTED);
	f->device->facts = kept;
	assert_null(event);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (f == NULL || choir_device_create_default(0, &f->device) != CHOIR_SUCCESS)
		return -1;
	for (unsigned i = 0; i < VECTOR_WIDTHS && wide; i++)
		f->device->facts.vector_widths[i] = 16u >> i;
	for (int k = 0; k <= MAX_SRC; k++) {
		f->host[k] = malloc(MAX_BYTES + 2 * MARGIN);
		if (f->host[k] == NULL ||
		    dev_buffer_create(f->device, MAX_BYTES + 2 * MARGIN, &f->mem[k]) != CHOIR_SUCCESS)
			return -1;
	}
	f->want = malloc(MAX_BYTES);
	f->twin = malloc(MAX_BYTES);
	*state = f;
	return f->want != NULL && f->twin != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int k = 0; k <= MAX_SRC; k++) {
		dev_buffer_free(f->mem[k]);
		free(f->host[k]);
	}
	free(f->want);
	free(f->twin);
	choir_device_destroy(f->device);
	free(f);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_half_conversions),
		cmocka_unit_test(test_division_in_f64),
		cmocka_unit_test(test_unsupported),
	};

	wide = argc > 1 && strcmp(argv[1], "wide") == 0;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
