/* SPDX-License-Identifier: MIT */
#include "exec/commit.h"

#include "base/arithmetic.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 64, SHORT_BYTES = 1 << 20 };

struct copy {
	struct dev_access to;
	uint64_t off, from, bytes; /* off: in `to`; from: in the room */
	cl_mem mem;                /* retained while the commit is taken; NULL = none */
};

struct commit {
	_Atomic int refs;
	atomic_bool taken;
	bool held;
	choir_device *device; /* a reference */
	struct dev_memory room;
	uint64_t used;
	void *kept;
	size_t n;
	struct copy copies[];
};

choir_status commit_create(choir_device *device, size_t n, uint64_t bytes, struct commit **out_p)
{
	struct commit *commit = calloc(1, sizeof *commit + n * sizeof(struct copy));
	choir_status st;

	if (commit == NULL)
		return error_no_memory("results", n * sizeof(struct copy));
	atomic_init(&commit->refs, 1);
	commit->device = dev_retain(device);
	st = bytes > 0 ? dev_memory_create(device, bytes, &commit->room) : CHOIR_SUCCESS;
	if (st != CHOIR_SUCCESS) {
		commit_release(commit);
		return st;
	}
	*out_p = commit;
	return CHOIR_SUCCESS;
}

/* The cl_mems of the first n copies. */
static void release_first(const struct commit *commit, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (commit->copies[i].mem != NULL)
			clReleaseMemObject(commit->copies[i].mem);
}

/* All of them, or none. */
static choir_status retain_all(const struct commit *commit)
{
	for (size_t i = 0; i < commit->n; i++) {
		cl_mem mem = commit->copies[i].mem;
		cl_int rc = mem != NULL ? clRetainMemObject(mem) : CL_SUCCESS;

		if (rc != CL_SUCCESS) {
			release_first(commit, i);
			return error_cl("clRetainMemObject", rc);
		}
	}
	return CHOIR_SUCCESS;
}

void commit_release(struct commit *commit)
{
	if (commit == NULL || atomic_fetch_sub_explicit(&commit->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (commit->held)
		release_first(commit, commit->n);
	dev_memory_free(commit->device, &commit->room);
	choir_device_destroy(commit->device);
	free(commit->kept);
	free(commit);
}

choir_status commit_take(struct commit *commit, bool *taken_p)
{
	choir_status st;

	*taken_p = true;
	if (commit == NULL)
		return CHOIR_SUCCESS;
	*taken_p = !atomic_exchange_explicit(&commit->taken, true, memory_order_acquire);
	if (!*taken_p)
		return CHOIR_SUCCESS;
	st = retain_all(commit);
	if (st != CHOIR_SUCCESS)
		atomic_store_explicit(&commit->taken, false, memory_order_release);
	else
		atomic_fetch_add_explicit(&commit->refs, 1, memory_order_relaxed);
	return st;
}

void commit_give(struct commit *commit)
{
	if (commit == NULL)
		return;
	release_first(commit, commit->n);
	atomic_store_explicit(&commit->taken, false, memory_order_release);
	commit_release(commit);
}

choir_status commit_hold(struct commit *commit)
{
	if (commit == NULL)
		return CHOIR_SUCCESS;
	TRY(retain_all(commit));
	commit->held = true;
	return CHOIR_SUCCESS;
}

bool commit_is_short(const struct commit *commit)
{
	return commit->room.bytes <= SHORT_BYTES;
}

uint64_t commit_room(uint64_t bytes)
{
	return round_up(bytes, ALIGNED);
}

choir_status commit_add_blocks(struct commit *commit, choir_buffer buffer, uint64_t bytes, int n, const uint64_t *offs,
                               const uint64_t *lens, choir_buffer *stage_p)
{
	struct dev_access to;
	cl_mem mem = buffer.kind == CHOIR_BUFFER_MEM ? buffer.base : NULL;

	TRY(dev_resolve(commit->device, buffer, bytes, true, &to));
	for (int i = 0; i < n; i++)
		commit->copies[commit->n++] =
		    (struct copy){ to, offs[i], commit->used + offs[i], lens[i], i == 0 ? mem : NULL };
	*stage_p = choir_host((unsigned char *)commit->room.ptr + commit->used);
	commit->used += commit_room(bytes);
	return CHOIR_SUCCESS;
}

choir_status commit_add(struct commit *commit, choir_buffer buffer, uint64_t bytes, choir_buffer *stage_p)
{
	const uint64_t off = 0;

	return commit_add_blocks(commit, buffer, bytes, 1, &off, &bytes, stage_p);
}

void commit_keep(struct commit *commit, void *kept)
{
	commit->kept = kept;
}

/* Copies of the device are enqueued, and waited for together. */
static choir_status write_device(const struct commit *commit)
{
	choir_status st = CHOIR_SUCCESS;
	bool enqueued = false;
	cl_event event = NULL;

	for (size_t i = 0; i < commit->n && st == CHOIR_SUCCESS; i++) {
		const struct copy *copy = &commit->copies[i];

		if (copy->bytes == 0 || copy->to.direct)
			continue;
		enqueued = true;
		st = dev_write(commit->device, &copy->to, copy->off,
		               (const unsigned char *)commit->room.ptr + copy->from, copy->bytes, NULL);
	}
	if (!enqueued)
		return CHOIR_SUCCESS;
	if (st == CHOIR_SUCCESS)
		st = dev_marker(dev_queue(commit->device), &event);
	if (st == CHOIR_SUCCESS)
		return dev_wait(&event);
	dev_drain(commit->device); /* what was enqueued still reads the room */
	return st;
}

/* Results on the host come last: they stand where a device fails. */
choir_status commit_write(const struct commit *commit)
{
	TRY(write_device(commit));
	for (size_t i = 0; i < commit->n; i++) {
		const struct copy *copy = &commit->copies[i];

		if (copy->bytes > 0 && copy->to.direct)
			memcpy(copy->to.ptr + copy->off, (const unsigned char *)commit->room.ptr + copy->from,
			       copy->bytes);
	}
	return CHOIR_SUCCESS;
}
