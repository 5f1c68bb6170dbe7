/* SPDX-License-Identifier: MIT */
#include "net/shm_sides.h"

#include "base/error.h"

choir_status shm_check(const struct shm *me)
{
	return me->stopped ? error_set(CHOIR_ABORTED, "the shared-memory transport was aborted") : CHOIR_SUCCESS;
}
