/* SPDX-License-Identifier: MIT */
#include "watchdog.h"

#include "clock.h"
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static double limit_s;
static _Atomic double last_pat_us;
static const char *_Atomic doing;
static atomic_bool stopped;

static void *watch(void *unused)
{
	while (!atomic_load(&stopped)) {
		usleep(200000);
		if (clock_us() - atomic_load(&last_pat_us) < limit_s * 1e6 || atomic_load(&stopped))
			continue;
		fprintf(stderr, "choir-bench: time-out: %s took longer than %g s\n", atomic_load(&doing), limit_s);
		_exit(EXIT_LATE); /* whatever hangs would hang exit() too; under mpiexec this ends all ranks */
	}
	return unused;
}

void watchdog_start(double timeout_s)
{
	pthread_t thread;

	limit_s = timeout_s;
	watchdog_pat("the start");
	if (pthread_create(&thread, NULL, watch, NULL) == 0)
		pthread_detach(thread);
}

void watchdog_pat(const char *what)
{
	atomic_store_explicit(&doing, what, memory_order_relaxed);
	atomic_store_explicit(&last_pat_us, clock_us(), memory_order_relaxed);
}

void watchdog_stop(void)
{
	atomic_store(&stopped, true);
}
