/* SPDX-License-Identifier: MIT */
#include "node/borrow.h"

#include "base/error.h"
#include "base/plural.h"
#include "node/arena.h"
#include "node/porter.h"
#include "node/process_id.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/self/maps. */
struct mapping {
	uint64_t start, end, offset, inode;
	unsigned major, minor;
	bool shared, writable;
	char path[256];
};

static bool read_mapping(const char *line, struct mapping *m)
{
	char flags[5] = "";

	*m = (struct mapping){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %255[^\n]", &m->start, &m->end,
	           flags, &m->offset, &m->major, &m->minor, &m->inode, m->path) < 7)
		return false;
	m->writable = flags[1] == 'w';
	m->shared = flags[3] == 's';
	return true;
}

/* *found: the mapping that contains address; its end is 0 if there is none. */
static void find_mapping(uint64_t address, struct mapping *found)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping m;

	*found = (struct mapping){ 0 };
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
		if (read_mapping(line, &m) && m.start <= address && address < m.end)
			*found = m;
	if (maps != NULL)
		fclose(maps);
}

static bool is_file(int fd, uint64_t device, uint64_t inode)
{
	struct stat stat;

	return fd >= 0 && fstat(fd, &stat) == 0 && (uint64_t)stat.st_dev == device && (uint64_t)stat.st_ino == inode;
}

/* Opens the file by its name if that still leads to it, else through /proc/self/map_files, which needs privileges. */
static int open_file(const struct mapping *m, uint64_t device)
{
	char path[64];
	int fd = open(m->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (is_file(fd, device, m->inode))
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !is_file(fd, device, m->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

choir_status borrow_begin(const void *ptr, uint64_t bytes, struct borrow_address *out)
{
	uint64_t at = (uintptr_t)ptr, device;
	struct mapping m;
	int fd;

	find_mapping(at, &m);
	if (m.end == 0 || bytes > m.end - at)
		return error_set(CHOIR_UNSUPPORTED, "%p, %" PRIu64 " byte%s: the memory is not within one mapping", ptr,
		                 bytes, plural(bytes));
	if (!m.shared || !m.writable || m.inode == 0)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%p, %" PRIu64
		                 " byte%s: private or read-only memory, which other processes cannot map",
		                 ptr, bytes, plural(bytes));
	device = makedev(m.major, m.minor);
	fd = open_file(&m, device);
	if (fd < 0)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%p, %" PRIu64 " byte%s: the file behind it (%s) cannot be opened again", ptr, bytes,
		                 plural(bytes), m.path);
	*out = (struct borrow_address){ .process = process_id(),
		                        .device = device,
		                        .inode = m.inode,
		                        .offset = m.offset + (at - m.start),
		                        .bytes = bytes,
		                        .fd = fd };
	return CHOIR_SUCCESS;
}

void borrow_end(const struct borrow_address *address)
{
	if (address->bytes > 0 && address->process == process_id())
		close(address->fd);
}

static int open_peer(const struct borrow_address *address)
{
	char path[64];
	int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", process_pid(address->process), (int)address->fd);
	if (process_is_visible(address->process))
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (is_file(fd, address->device, address->inode))
		return fd;
	if (fd >= 0)
		close(fd);
	return porter_fetch(address->process, PORTER_FILE, address->fd, address->device, address->inode);
}

choir_status borrow_map(const struct borrow_address *address, struct borrow_map *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = address->offset / page * page,
		 bytes = address->offset - from + address->bytes;
	struct stat stat;
	void *base = MAP_FAILED;
	int fd = open_peer(address);

	/* A file shorter than the mapping would raise SIGBUS later. */
	if (is_file(fd, address->device, address->inode) && fstat(fd, &stat) == 0 &&
	    (uint64_t)stat.st_size >= from + bytes)
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)from);
	if (fd >= 0)
		close(fd);
	if (base == MAP_FAILED) {
		error_set(CHOIR_TRANSPORT, "memory of process %d cannot be mapped here", process_pid(address->process));
		return peer_lost(address->process);
	}
	*out = (struct borrow_map){ .base = base,
		                    .bytes = bytes,
		                    .ptr = (unsigned char *)base + (address->offset - from) };
	return CHOIR_SUCCESS;
}

void borrow_unmap(struct borrow_map *map)
{
	if (map->base != NULL)
		munmap(map->base, map->bytes);
	*map = (struct borrow_map){ 0 };
}
