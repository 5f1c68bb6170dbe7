/* SPDX-License-Identifier: MIT */
#include "topk/pairs_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void pairs_good(choir_status got)
{
	if (got != CHOIR_SUCCESS)
		fail_msg("%s: %s", choir_status_name(got), choir_last_error());
}

choir_device *pairs_device;
static void *svm[8];
static size_t n_svm;

bool pairs_has_svm(void)
{
	cl_device_svm_capabilities can = 0;

	return clGetDeviceInfo(choir_device_id(pairs_device), CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) ==
	           CL_SUCCESS &&
	       (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
}

static uint64_t seed = 1;

uint64_t pairs_draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* A buffer of a kind with these bytes; SVM has no sentinels of its own. */
struct memory pairs_make(int kind, const void *from, size_t bytes)
{
	struct memory m;

	assert_true(memory_make(&m, pairs_device, kind == 1, bytes, 8));
	if (from != NULL && bytes > 0)
		memcpy(memory_payload(&m), from, bytes);
	memory_push(&m);
	if (kind == 2 && bytes > 0) {
		void *p = svm[n_svm++] = clSVMAlloc(choir_device_context(pairs_device),
		                                    CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, bytes, 0);

		assert_non_null(p);
		memcpy(p, memory_payload(&m), bytes);
		m.buffer = choir_svm(p);
	}
	return m;
}

/* Its first `bytes` bytes are these, and all behind them stands as it was. */
void pairs_is(struct memory *m, const void *wanted, size_t bytes)
{
	const unsigned char *got;

	memory_pull(m);
	assert_true(memory_sentinels_stand(m));
	got = m->buffer.kind == CHOIR_BUFFER_SVM ? m->buffer.base : memory_payload(m);
	if (bytes > 0)
		assert_memory_equal(got, wanted, bytes);
	for (size_t i = bytes; i < m->bytes; i++)
		assert_int_equal(got[i], SENTINEL);
}

void pairs_drop(struct memory *a, struct memory *b, struct memory *c, struct memory *d)
{
	struct memory *all[] = { a, b, c, d };

	for (int i = 0; i < 4; i++)
		if (all[i] != NULL)
			memory_free(all[i]);
	while (n_svm > 0)
		clSVMFree(choir_device_context(pairs_device), svm[--n_svm]);
}

int pairs_open(void **state)
{
	(void)state;
	pairs_device = world_device();
	return pairs_device == NULL;
}

int pairs_close(void **state)
{
	(void)state;
	memory_drop();
	world_device_drop();
	return 0;
}
