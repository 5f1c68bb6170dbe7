/* SPDX-License-Identifier: MIT */
/* Whole worlds in one process: n ranks, a thread each, the whole library below them. */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <choir/choir.h>
#include <stdbool.h>
#include <stddef.h>

struct world {
	int n;
	choir_device *device;
	choir_comm **comms;
	char failure[2048]; /* the first failures of any ranks: all fail together, on the test's own thread */
};

typedef void (*world_fn)(struct world *world, int rank, choir_comm *comm, void *arg);

/* world_run: fn on every rank, then the failures as one CMocka assertion. */
void world_run(int n, const choir_comm_config *config, world_fn fn, void *arg);

/* world_run_at: the same, of a layout; 0 = as the machine is, and as long as the library waits. */
void world_run_at(int n, int ranks_per_node, int64_t deadline_ms, world_fn fn, void *arg);

/* world_begin, world_threads, world_end: its parts.  world_begin_on: on devices of one context, one a rank. */
void world_begin(struct world *world, int n, const choir_comm_config *config);
void world_begin_on(struct world *world, int n, choir_device *const *devices, const choir_comm_config *config);
void world_threads(struct world *world, world_fn fn, void *arg);
void world_end(struct world *world);

/* The one device of this test program. */
choir_device *world_device(void);
void world_device_drop(void);

/* world_far_device: the same device of class stage, with reductions there; made once, since each builds its kernels.
 * world_device_drop ends it too. */
choir_device *world_far_device(choir_reduce_where where);

/* world_fail: notes a failure of a rank; world_ok: a status must be SUCCESS. */
void world_fail(struct world *world, int rank, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool world_is(struct world *world, int rank, choir_status st, choir_status wanted, const char *what);

/* world_wait: the status of a call with an event; if it is SUCCESS, how the event ends, which is released. */
choir_status world_wait(choir_status st, choir_event *event);

#define OK(call)         world_is(world, rank, (call), CHOIR_SUCCESS, #call)
#define IS(call, wanted) world_is(world, rank, (call), (wanted), #call)
#define CHECK(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			world_fail(world, rank, "%s:%d: %s", __FILE__, __LINE__, #cond);                               \
	} while (0)

#endif
