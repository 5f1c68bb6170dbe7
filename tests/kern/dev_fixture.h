/* SPDX-License-Identifier: MIT */
/* What the tests of src/dev share: a context of the default device, and bytes to look for. */
#ifndef TESTS_KERN_DEV_FIXTURE_H
#define TESTS_KERN_DEV_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dev/device_impl.h"

#define assert_ok(expr)                                                                                                \
	do {                                                                                                           \
		if ((expr) != CHOIR_SUCCESS)                                                                           \
			fail_msg("%s: %s", #expr, choir_last_error());                                                 \
	} while (0)

/* The call fails with that status, and its sentence contains part. */
#define assert_fails(expr, status, part)                                                                               \
	do {                                                                                                           \
		assert_int_equal(expr, status);                                                                        \
		if (strstr(choir_last_error(), part) == NULL)                                                          \
			fail_msg("%s: '%s' says nothing of '%s'", #expr, choir_last_error(), part);                    \
	} while (0)

extern choir_device *fixture_device; /* the default device, class as probed */

int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* Another choir_device over the same context, of a forced class; NULL if the device cannot be of that class. */
choir_device *fixture_device_of(choir_memory_class memory_class);

void fixture_pattern(unsigned char *out, size_t bytes, unsigned seed);

/* The whole cl_mem, looked at and written through another cl_mem and another queue than the library's. */
void fixture_peek(cl_mem mem, unsigned char *out, size_t bytes);
void fixture_poke(cl_mem mem, const unsigned char *in, size_t bytes);

/* Reads and writes a range by whatever way it was resolved to (maps and unmaps where needed). */
void fixture_get(choir_device *device, struct dev_access *access, unsigned char *out);
void fixture_put(choir_device *device, struct dev_access *access, const unsigned char *in);

extern const struct CMUnitTest memory_tests[], pointer_tests[], range_tests[], program_tests[], stage_tests[];
extern const size_t n_memory_tests, n_pointer_tests, n_range_tests, n_program_tests, n_stage_tests;

#endif
