/* SPDX-License-Identifier: MIT */
/* What commands do to bytes, and how long that takes by the model. */
#include "model.h"

#include "base/copy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	LONG_BYTES = 32 * 1024, /* of copies that "moves=0" leaves out */
	CACHED_BYTES = 8 * 1024 * 1024
};

static unsigned char *address(const struct place *place)
{
	return place->root != NULL ? place->root->device + place->off : place->host;
}

/* Is the memory there, all of it?  A look that does not touch it. */
static bool is_there(const void *ptr, size_t bytes)
{
	enum { PAGES = 1024 }; /* looked at together */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)ptr + bytes;
	unsigned char resident[PAGES];

	for (uintptr_t at = (uintptr_t)ptr / page * page; bytes > 0 && at < end; at += PAGES * page)
		if (mincore((void *)at, end - at < PAGES * page ? end - at : PAGES * page, resident) != 0)
			return false;
	return true;
}

static double latency_ns(enum engine_kind engine)
{
	return 1000 * (engine == ENGINE_UP     ? options.up_us
	               : engine == ENGINE_DOWN ? options.down_us
	                                       : options.compute_us);
}

static const unsigned char *host_of(const struct command *command)
{
	return command->to.host != NULL ? command->to.host : command->from.host;
}

static bool is_pinned(const struct command *command)
{
	const struct memory *seen = command->to.root;

	if (host_of(command) != NULL)
		seen = memory_viewed_at(host_of(command));
	else if (command->engine == ENGINE_UP && command->from.root != NULL)
		seen = command->from.root;
	return seen != NULL && seen->pinned;
}

/* Of a copy on the compute engine: does it cross the link between two devices? */
static bool is_peer(const struct command *command)
{
	const struct device *own = command->queue->device;
	const struct memory *to = command->to.root, *from = command->from.root;

	return command->engine == ENGINE_COMPUTE &&
	       ((to != NULL && to->home != own) || (from != NULL && from->home != own));
}

double command_ns(const struct command *command)
{
	double rate = is_peer(command) ? options.peer_gbps : options.device_gbps;
	double latency = latency_ns(command->engine);

	if (command->kind == DO_KERNEL)
		return latency + (double)command->items / options.items_per_us * 1000;
	if (command->engine != ENGINE_COMPUTE) {
		rate = command->engine == ENGINE_UP ? options.up_gbps : options.down_gbps;
		rate *= is_pinned(command) ? options.pinned : options.pageable;
	}
	return latency + (double)command->bytes / rate;
}

void command_count_crossing(const struct command *command)
{
	struct crossings *all = &stats.crossings;
	bool pinned = is_pinned(command);

	if (is_peer(command))
		all->peer += command->bytes;
	if (host_of(command) == NULL)
		return;
	if (command->engine == ENGINE_UP)
		*(pinned ? &all->pinned_up : &all->pageable_up) += command->bytes;
	if (command->engine == ENGINE_DOWN)
		*(pinned ? &all->pinned_down : &all->pageable_down) += command->bytes;
}

/* A hash of the host's bytes. */
uint64_t command_sample(const struct command *command)
{
	const unsigned char *host = host_of(command);

	if (options.hash == 0 || options.moves == 0 || command->kind != DO_MOVE || host == NULL ||
	    (command->to.host != NULL && command->from.host != NULL) || !is_there(host, command->bytes))
		return 0;
	return XXH3_64bits(host, command->bytes);
}

/* A copy takes the program's core: the quickest way, by nt stores where the device's memory is not in it. */
static void move(const struct command *command)
{
	const struct memory *root = command->to.root;

	if (command->from.root == root) /* in one buffer, or from host to host */
		memmove(address(&command->to), address(&command->from), command->bytes);
	else
		copy_host(address(&command->to), address(&command->from), command->bytes,
		          root != NULL && root->bytes > CACHED_BYTES);
}

static void move_rect(const struct command *command)
{
	const struct rect *r = &command->rect;

	for (size_t z = 0; z < r->region[2]; z++)
		for (size_t y = 0; y < r->region[1]; y++)
			memmove(address(&command->to) + z * r->to_slice + y * r->to_row,
			        address(&command->from) + z * r->from_slice + y * r->from_row, r->region[0]);
}

static void fill(const struct command *command)
{
	unsigned char *to = address(&command->to);

	for (size_t at = 0; at < command->bytes; at += command->pattern_bytes)
		memcpy(to + at, command->pattern, command->pattern_bytes);
}

/* The host sees the bytes from now on. */
static void map(const struct command *command)
{
	struct memory *root = command->to.root;
	const struct mapping *m = command->mapping;

	if (command->discards)
		memory_scramble(root, m->from, m->to);
	else if (root->view != root->device)
		memcpy(root->view + m->from, root->device + m->from, m->to - m->from);
	pthread_mutex_lock(&model_lock);
	command->mapping->done = true;
	pthread_mutex_unlock(&model_lock);
}

/* The device sees what the host wrote; the view is worth nothing, but where another map shows it. */
static void unmap(const struct command *command)
{
	struct memory *root = command->to.root;
	struct mapping *m = command->mapping, **link;
	bool shared = false;

	if (m->writes)
		memcpy(root->device + m->from, root->view + m->from, m->to - m->from);
	pthread_mutex_lock(&model_lock);
	for (link = &root->mappings; *link != NULL;) {
		if (*link == m) {
			*link = m->next;
			continue;
		}
		shared = shared || ((*link)->from < m->to && m->from < (*link)->to);
		link = &(*link)->next;
	}
	if (!shared)
		memory_scramble(root, m->from, m->to);
	pthread_mutex_unlock(&model_lock);
	free(m);
}

static void count(const struct command *command)
{
	uint64_t *counter = command->engine == ENGINE_UP     ? &stats.up_bytes
	                    : command->engine == ENGINE_DOWN ? &stats.down_bytes
	                                                     : &stats.device_bytes;

	__atomic_fetch_add(counter, command->bytes, __ATOMIC_RELAXED);
}

cl_int command_move(struct command *command)
{
	const unsigned char *host[] = { command->to.host, command->from.host };

	for (int i = 0; i < 2; i++)
		if (host[i] != NULL && !is_there(host[i], command->bytes)) {
			report("freed", "host memory of a %s is gone before it ends", command->what);
			return CL_OUT_OF_RESOURCES;
		}
	count(command);
	switch (command->kind) {
	case DO_NOTHING:
		break;
	case DO_MOVE:
		if (options.moves != 0 || command->bytes < LONG_BYTES)
			move(command);
		break;
	case DO_RECT:
		move_rect(command);
		break;
	case DO_FILL:
		fill(command);
		break;
	case DO_MAP:
		map(command);
		break;
	case DO_UNMAP:
		unmap(command);
		break;
	case DO_KERNEL:
		return launch_run(command->launch, context_queue(command->queue->context, command->queue->device));
	}
	return CL_COMPLETE;
}
