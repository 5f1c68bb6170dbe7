/* SPDX-License-Identifier: MIT */
/* For loops of tests that look again and again whether a device is done. */
#ifndef TESTS_LOOK_H
#define TESTS_LOOK_H

#include <stdbool.h>
#include <time.h>

/* look_again: unless it is done, rests for 50 us, as choir's threads do between two looks.  A device that is threads of
 * a CPU, a model GPU too, needs the core for its work. */
static inline void look_again(bool done)
{
	if (!done)
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

#endif
