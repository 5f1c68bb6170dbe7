/* SPDX-License-Identifier: MIT */
#include "lib/ranks.h"
#include "world/memory.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static choir_device *the_device;
static choir_device *far_devices[CHOIR_REDUCE_KERNEL + 1];
static pthread_mutex_t failure_lock = PTHREAD_MUTEX_INITIALIZER;

choir_device *world_device(void)
{
	if (the_device == NULL && choir_device_create_default(0, &the_device) != CHOIR_SUCCESS)
		fail_msg("no device: %s", choir_last_error());
	return the_device;
}

choir_device *world_far_device(choir_reduce_where where)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	choir_device *device = world_device();

	config.memory_class = CHOIR_CLASS_STAGE;
	config.reduce = where;
	if (far_devices[where] == NULL && choir_device_create(choir_device_context(device), choir_device_id(device),
	                                                      &config, &far_devices[where]) != CHOIR_SUCCESS)
		fail_msg("no device: %s", choir_last_error());
	return far_devices[where];
}

void world_device_drop(void)
{
	memory_drop();
	for (size_t i = 0; i < sizeof far_devices / sizeof *far_devices; i++) {
		choir_device_destroy(far_devices[i]);
		far_devices[i] = NULL;
	}
	choir_device_destroy(the_device);
	the_device = NULL;
}

void world_fail(struct world *world, int rank, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&failure_lock);
	if (strlen(world->failure) + 100 < sizeof world->failure) {
		size_t used = strlen(world->failure);

		used += (size_t)snprintf(world->failure + used, sizeof world->failure - used,
		                         "\nn = %d, rank %d: ", world->n, rank);
		va_start(args, format);
		vsnprintf(world->failure + used, sizeof world->failure - used, format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&failure_lock);
}

choir_status world_wait(choir_status st, choir_event *event)
{
	if (st != CHOIR_SUCCESS)
		return st;
	st = choir_event_wait(event, -1);
	choir_event_release(event);
	return st;
}

bool world_is(struct world *world, int rank, choir_status st, choir_status wanted, const char *what)
{
	if (st != wanted)
		world_fail(world, rank, "%s: %s instead of %s: %s", what, choir_status_name(st),
		           choir_status_name(wanted), choir_last_error());
	return st == wanted;
}

struct ranks_call {
	struct world *world;
	world_fn fn;
	void *arg;
};

static int run_rank(const struct rank *me, void *ctx)
{
	struct ranks_call *call = ctx;

	call->fn(call->world, me->rank, call->world->comms[me->rank], call->arg);
	return 0;
}

void world_begin_on(struct world *world, int n, choir_device *const *devices, const choir_comm_config *config)
{
	memset(world, 0, sizeof *world);
	world->n = n;
	world->device = devices[0];
	world->comms = calloc((size_t)n, sizeof *world->comms);
	if (choir_comm_create_local(n, devices, config, world->comms) != CHOIR_SUCCESS)
		fail_msg("choir_comm_create_local(%d): %s", n, choir_last_error());
}

void world_begin(struct world *world, int n, const choir_comm_config *config)
{
	choir_device **devices = calloc((size_t)n, sizeof *devices);

	for (int i = 0; i < n; i++)
		devices[i] = world_device();
	world_begin_on(world, n, devices, config);
	free(devices);
}

void world_threads(struct world *world, world_fn fn, void *arg)
{
	struct ranks_call call = { world, fn, arg };

	(void)ranks_as_threads(world->n, run_rank, &call);
}

void world_end(struct world *world)
{
	for (int i = 0; i < world->n; i++)
		choir_comm_destroy(world->comms[i]);
	free(world->comms);
	if (world->failure[0] != '\0')
		fail_msg("%s", world->failure);
}

void world_run(int n, const choir_comm_config *config, world_fn fn, void *arg)
{
	struct world world;

	world_begin(&world, n, config);
	world_threads(&world, fn, arg);
	world_end(&world);
}

void world_run_at(int n, int ranks_per_node, int64_t deadline_ms, world_fn fn, void *arg)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.ranks_per_node = ranks_per_node;
	config.deadline_ms = deadline_ms;
	world_run(n, &config, fn, arg);
}
