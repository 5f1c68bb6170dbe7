/* SPDX-License-Identifier: MIT */
#include "dev/dev.h"

static _Thread_local int64_t deadline_ns;

int64_t dev_build_until(void)
{
	return deadline_ns;
}

void dev_build_deadline(int64_t until_ns)
{
	deadline_ns = until_ns;
}
