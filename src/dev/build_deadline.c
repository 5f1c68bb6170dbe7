/* SPDX-License-Identifier: MIT */
#include "dev/device_impl.h"

#include <stdatomic.h>

static _Thread_local int64_t deadline_ns;

int64_t dev_build_until(void)
{
	return deadline_ns;
}

static void (*_Atomic wait_begins)(void);
static void (*_Atomic wait_ends)(void);

void dev_build_waits(void (*begins)(void), void (*ends)(void))
{
	atomic_store(&wait_begins, begins);
	atomic_store(&wait_ends, ends);
}

void dev_build_wait_begins(void)
{
	void (*begins)(void) = atomic_load(&wait_begins);

	if (begins != NULL)
		begins();
}

void dev_build_wait_ends(void)
{
	void (*ends)(void) = atomic_load(&wait_ends);

	if (ends != NULL)
		ends();
}

void dev_build_deadline(int64_t until_ns)
{
	deadline_ns = until_ns;
}
