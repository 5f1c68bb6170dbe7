/* SPDX-License-Identifier: MIT */
/* Note [short maps].  Of class map a call maps and unmaps two buffers, or reads one and writes the other.  Which is
 * faster depends on the driver and on the bytes.  So both are timed when the device is created, at growing sizes until
 * maps win, the shortest of some tries each.  No try begins BUDGET_NS after the driver's own first map, which alone
 * takes as long on some drivers. */
#include "dev/rates.h"

#include "base/wait.h"
#include "dev/device_impl.h"

#include <stdlib.h>

enum { TRIES = 3, BUDGET_NS = 3000000, MOST_BYTES = 1024 * 1024 };

struct trial {
	choir_device *device;
	struct dev_access access;
	unsigned char *host;
	int64_t end_ns;
	bool failed;
};

static void map_and_unmap(struct trial *trial, uint64_t bytes)
{
	struct dev_access access = trial->access;
	cl_event event = NULL;

	access.stage = false;
	access.write = true;
	access.bytes = bytes;
	trial->failed |=
	    dev_map(trial->device, &access, &event) != CHOIR_SUCCESS || dev_wait(&event) != CHOIR_SUCCESS ||
	    dev_unmap(trial->device, &access, &event) != CHOIR_SUCCESS || dev_wait(&event) != CHOIR_SUCCESS;
}

static void read_and_write(struct trial *trial, uint64_t bytes)
{
	trial->failed |= dev_stage_read_now(trial->device, &trial->access, 0, trial->host, bytes) != CHOIR_SUCCESS ||
	                 dev_stage_write_now(trial->device, &trial->access, 0, trial->host, bytes) != CHOIR_SUCCESS;
}

static int64_t shortest_ns(struct trial *trial, void (*way)(struct trial *, uint64_t), uint64_t bytes)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < TRIES && !trial->failed; i++) {
		int64_t start = wait_now_ns(), ns;

		way(trial, bytes);
		ns = wait_now_ns() - start;
		best = ns < best ? ns : best;
	}
	return best;
}

static bool maps_win(struct trial *trial, uint64_t bytes)
{
	int64_t map = shortest_ns(trial, map_and_unmap, bytes), copy = shortest_ns(trial, read_and_write, bytes);

	return trial->failed || copy > 2 * map;
}

static uint64_t find_border(struct trial *trial)
{
	uint64_t border = 0;

	map_and_unmap(trial, 64); /* the driver's own first time */
	read_and_write(trial, 64);
	trial->end_ns = wait_now_ns() + BUDGET_NS;
	for (uint64_t bytes = 64; bytes <= MOST_BYTES && wait_now_ns() < trial->end_ns; bytes *= 4) {
		if (maps_win(trial, bytes))
			break;
		border = bytes;
	}
	return border;
}

uint64_t rates_short_map_bytes(choir_device *device)
{
	struct trial trial = { .device = device, .host = calloc(1, MOST_BYTES) };
	cl_mem mem = NULL;
	uint64_t border = 0;

	if (trial.host != NULL && dev_buffer_create(device, MOST_BYTES, &mem) == CHOIR_SUCCESS) {
		trial.access = dev_buffer_access(mem, 0, MOST_BYTES);
		border = find_border(&trial);
	}
	dev_buffer_free(mem);
	free(trial.host);
	return border;
}
