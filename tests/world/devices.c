/* SPDX-License-Identifier: MIT */
#include "world/devices.h"

#include "exec/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_DEVICES = 16, MOST_RANKS = 16 };

static choir_device *devices[MOST_DEVICES];
static int n_devices;

static cl_uint list_ids(cl_device_id ids[MOST_DEVICES])
{
	static const cl_device_partition_property halves[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_device_id first = choir_device_id(world_device());
	cl_platform_id platform;
	cl_uint n = 0, n_parts = 0, most = 0;

	if (clGetDeviceInfo(first, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &n) != CL_SUCCESS)
		fail_msg("the devices of a platform cannot be listed");
	n = n < MOST_DEVICES ? n : MOST_DEVICES;
	/* What cannot be divided is not asked to: a GPU's driver refuses, and the model reports. */
	clGetDeviceInfo(first, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL);
	if (n == 1 && most > 1 && clCreateSubDevices(first, halves, 0, NULL, &n_parts) == CL_SUCCESS && n_parts > 1 &&
	    n_parts <= MOST_DEVICES && clCreateSubDevices(first, halves, n_parts, ids, NULL) == CL_SUCCESS)
		n = n_parts;
	return n;
}

int devices_open(void **state)
{
	choir_device_config config = CHOIR_DEVICE_CONFIG_INIT;
	cl_device_id ids[MOST_DEVICES];
	cl_uint n = list_ids(ids);
	cl_int rc;
	cl_context context = clCreateContext(NULL, n, ids, NULL, NULL, &rc);

	(void)state;
	if (rc != CL_SUCCESS)
		fail_msg("no context of %u devices: %d", n, rc);
	config.memory_class = CHOIR_CLASS_STAGE;
	for (n_devices = 0; n_devices < (int)n; n_devices++)
		if (choir_device_create(context, ids[n_devices], &config, &devices[n_devices]) != CHOIR_SUCCESS)
			fail_msg("%s", choir_last_error());
	clReleaseContext(context);
	print_message("%u devices in one context\n", n);
	return 0;
}

int devices_close(void **state)
{
	(void)state;
	while (n_devices > 0)
		choir_device_destroy(devices[--n_devices]);
	world_device_drop();
	return 0;
}

void devices_begin_measured(struct world *world, int n)
{
	choir_device *of_rank[MOST_RANKS];

	assert_true(n <= MOST_RANKS);
	for (int i = 0; i < n; i++)
		of_rank[i] = devices[i % n_devices];
	world_begin_on(world, n, of_rank, NULL);
	for (int i = 0; i < n; i++)
		assert_true(n == 1 || world->comms[i]->device_bytes > 0);
}

/* Choices go by bytes, not by what was measured here. */
void devices_begin(struct world *world, int n, uint64_t device_bytes)
{
	devices_begin_measured(world, n);
	for (int i = 0; i < n; i++) {
		world->comms[i]->peer_percent = 0;
		world->comms[i]->command_bytes = 0;
		if (device_bytes > 0)
			world->comms[i]->device_bytes = device_bytes;
	}
}
