/* SPDX-License-Identifier: MIT */
#include "node/borrow.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/plural.h"
#include "node/arena.h"
#include "node/porter.h"
#include "node/process_id.h"
#include "node/shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPPED_PATH_BYTES = 4096 };

/* A line of /proc/self/maps. */
struct mapping {
	uint64_t start, end, offset, inode;
	unsigned major, minor;
	bool shared, writable;
	char path[MAPPED_PATH_BYTES];
};

static bool read_mapping(const char *line, struct mapping *m)
{
	char flags[5] = "";

	*m = (struct mapping){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]", &m->start, &m->end,
	           flags, &m->offset, &m->major, &m->minor, &m->inode, m->path) < 7)
		return false;
	m->writable = flags[1] == 'w';
	m->shared = flags[3] == 's';
	return true;
}

/* *found: the mapping that contains address; its end is 0 if there is none. */
static void find_mapping(uint64_t address, struct mapping *found)
{
	char line[MAPPED_PATH_BYTES + 128];
	FILE *maps = fopen("/proc/self/maps", "re");
	bool there = false;

	while (maps != NULL && !there && fgets(line, sizeof line, maps) != NULL)
		there = read_mapping(line, found) && found->start <= address && address < found->end;
	if (maps != NULL)
		fclose(maps);
	if (!there)
		*found = (struct mapping){ 0 };
}

static bool is_file(int fd, uint64_t device, uint64_t inode)
{
	struct stat stat;

	return fd >= 0 && fstat(fd, &stat) == 0 && (uint64_t)stat.st_dev == device && (uint64_t)stat.st_ino == inode;
}

/* Is that the file behind the mapping?  Its own numbers may be others than the maps show (btrfs, overlayfs), so a page
 * of it is mapped, and its line compared. */
static bool is_behind(int fd, const struct mapping *m)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct mapping found;
	struct stat file;
	void *base;

	if (fd < 0 || fstat(fd, &file) != 0)
		return false;
	bytes = max_u64(bytes, (uint64_t)file.st_blksize); /* a large page, where the file is of those */
	base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)m->offset);
	if (base == MAP_FAILED)
		return false;
	find_mapping((uintptr_t)base, &found);
	munmap(base, bytes);
	return found.major == m->major && found.minor == m->minor && found.inode == m->inode;
}

/* Opens the file by its name if that still leads to it, else through /proc/self/map_files, which needs privileges. */
static int open_file(const struct mapping *m)
{
	char path[64];
	int fd = shared_above_standard(open(m->path, O_RDWR | O_CLOEXEC | O_NONBLOCK));

	if (is_behind(fd, m))
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	fd = shared_above_standard(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
	if (fd >= 0 && !is_behind(fd, m)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* An access to a page that the file lacks, or that its file system has no room for, would end the process by SIGBUS. */
static choir_status make_room(int fd, const void *ptr, const struct borrow_address *address, const struct stat *file)
{
	if ((uint64_t)file->st_size < address->offset + address->bytes)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%p, %" PRIu64 " byte%s: the file behind it ends before, at byte %" PRIu64, ptr,
		                 address->bytes, plural(address->bytes), (uint64_t)file->st_size);
	return shared_reserve("the file behind registered memory", fd, (off_t)address->offset, (off_t)address->bytes);
}

choir_status borrow_begin(const void *ptr, uint64_t bytes, struct borrow_address *out)
{
	uint64_t at = (uintptr_t)ptr;
	struct borrow_address address;
	struct mapping m;
	struct stat file;
	choir_status st;
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
	fd = open_file(&m);
	if (fd < 0 || fstat(fd, &file) != 0)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%p, %" PRIu64 " byte%s: the file behind it (%s) cannot be opened again", ptr, bytes,
		                 plural(bytes), m.path);
	address = (struct borrow_address){ .process = process_id(),
		                           .device = file.st_dev,
		                           .inode = file.st_ino,
		                           .offset = m.offset + (at - m.start),
		                           .bytes = bytes,
		                           .fd = fd };
	st = make_room(fd, ptr, &address, &file);
	if (st != CHOIR_SUCCESS)
		close(fd);
	else
		*out = address;
	return st;
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
