/* SPDX-License-Identifier: MIT */
#include "node/shared.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/wait.h"
#include "node/memory_left.h"
#include "node/porter.h"
#include "node/process_id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Note [shared memory that never signals].  The first access to a page of a sparse file raises SIGBUS if there is no
 * memory for it.  So fallocate allocates every page before it is used, and the file is sealed against shrinking before
 * a peer can open it.  fallocate itself can end the process, by SIGXFSZ beyond RLIMIT_FSIZE and by the out-of-memory
 * killer beyond the memory of the machine or a control group; both are checked before.  It is called in portions,
 * and in smaller ones after a signal: Linux before 6.10 gives up at a signal what a call has allocated, so a profiler's
 * timer would keep a long one from ever ending. */
#define MOST_PORTION_BYTES  ((off_t)64 << 20)
#define LEAST_PORTION_BYTES ((off_t)64 << 10)

const char *shared_root = "";
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static _Atomic unsigned forks;

static void child_forked(void)
{
	atomic_fetch_add(&forks, 1);
	pthread_mutex_unlock(&lists_lock);
}

static void lock_lists(void)
{
	pthread_mutex_lock(&lists_lock);
}

static void unlock_lists(void)
{
	pthread_mutex_unlock(&lists_lock);
}

static void watch_forks(void)
{
	pthread_atfork(lock_lists, unlock_lists, child_forked);
}

void shared_lock(void)
{
	pthread_once(&fork_once, watch_forks);
	lock_lists();
}

void shared_unlock(void)
{
	unlock_lists();
}

unsigned shared_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* Note [spare memory].  To ask what memory is left takes some twenty files, as long as all else of a split.  So each
 * reading sets a 64th of what is left aside, which is taken without another one for SPARE_MS. */
enum { SPARE_MS = 100, SPARE_PARTS = 64 };
static _Atomic uint64_t spare_bytes;
static _Atomic int64_t spare_until_ns; /* 0: there was no reading yet */

static bool take_spare(uint64_t bytes)
{
	uint64_t spare = atomic_load(&spare_bytes);

	if (wait_now_ns() >= atomic_load(&spare_until_ns))
		return false;
	while (spare >= bytes)
		if (atomic_compare_exchange_weak(&spare_bytes, &spare, spare - bytes))
			return true;
	return false;
}

void shared_forget_spare(void)
{
	atomic_store(&spare_until_ns, 0);
}

static choir_status check_available(const char *what, uint64_t bytes)
{
	struct memory_left left;

	if (take_spare(bytes))
		return CHOIR_SUCCESS;
	left = memory_left(shared_root);
	atomic_store(&spare_bytes, left.bytes / SPARE_PARTS);
	atomic_store(&spare_until_ns, wait_now_ns() + (int64_t)SPARE_MS * 1000000);
	if (bytes > left.bytes)
		return error_set(
		    CHOIR_NO_MEMORY, "no memory for %s: %llu bytes, %s has %llu left", what, (unsigned long long)bytes,
		    left.of_cgroup ? "the process's memory cgroup" : "the machine", (unsigned long long)left.bytes);
	return CHOIR_SUCCESS;
}

static choir_status check_file_size(const char *what, uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
		return error_set(CHOIR_NO_MEMORY,
		                 "no memory for %s: %llu bytes exceed the file size limit of %llu (ulimit -f)", what,
		                 (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
	return CHOIR_SUCCESS;
}

/* One portion from *at on; true also where a signal came instead. */
static bool allocate_portion(int fd, int mode, off_t *at, off_t end, off_t *portion)
{
	off_t bytes = end - *at < *portion ? end - *at : *portion;

	if (fallocate(fd, mode, *at, bytes) == 0) {
		*at += bytes;
		*portion = *portion < MOST_PORTION_BYTES ? *portion * 2 : *portion;
		return true;
	}
	*portion = *portion > LEAST_PORTION_BYTES ? *portion / 2 : *portion;
	return errno == EINTR;
}

static choir_status allocate(const char *what, int fd, off_t at, off_t end)
{
	off_t bytes = end - at, portion = MOST_PORTION_BYTES;

	while (at < end) {
		/* checked for each portion: other processes allocate memory meanwhile */
		TRY(check_available(what, (uint64_t)(end - at)));
		if (!allocate_portion(fd, 0, &at, end, &portion))
			return error_set(CHOIR_NO_MEMORY, "no memory for %s (%lld bytes): %m", what, (long long)bytes);
	}
	return CHOIR_SUCCESS;
}

/* What the file has yet to get of the machine's memory; 0 on a disk. */
static uint64_t memory_missing(int fd, uint64_t bytes)
{
	struct statfs system;
	struct stat file;

	if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC || fstat(fd, &file) != 0)
		return 0;
	return bytes - min_u64(bytes, (uint64_t)file.st_blocks * 512);
}

choir_status shared_reserve(const char *what, int fd, off_t at, off_t bytes)
{
	off_t end = at + bytes, portion = MOST_PORTION_BYTES;

	TRY(check_available(what, memory_missing(fd, (uint64_t)bytes)));
	while (at < end)
		if (!allocate_portion(fd, FALLOC_FL_KEEP_SIZE, &at, end, &portion))
			return errno == EOPNOTSUPP ? CHOIR_SUCCESS
			                           : error_set(CHOIR_NO_MEMORY, "no room for %s (%lld bytes): %m", what,
			                                       (long long)bytes);
	return CHOIR_SUCCESS;
}

static choir_status fill_file(const char *what, int fd, off_t bytes, off_t first)
{
	if (ftruncate(fd, bytes) != 0)
		return error_set(CHOIR_NO_MEMORY, "no memory for %s (%lld bytes): %m", what, (long long)bytes);
	TRY(allocate(what, fd, 0, first));
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
		return error_errno(CHOIR_NO_MEMORY, "sealing shared memory");
	return CHOIR_SUCCESS;
}

static choir_status map_file(const char *what, int fd, uint64_t bytes, struct shared_map *out)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return error_set(CHOIR_NO_MEMORY, "no memory for %s (%llu bytes): mmap: %m", what,
		                 (unsigned long long)bytes);
	*out = (struct shared_map){ .base = base, .bytes = bytes, .fd = -1 };
	return CHOIR_SUCCESS;
}

/* Maps the first bytes again, populated, so that the first collectives take no page faults.  The memory is not in use
 * yet. */
static choir_status populate(const char *what, int fd, const struct shared_map *map, uint64_t first)
{
	if (mmap(map->base, first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
		return error_set(CHOIR_NO_MEMORY, "no memory for %s (%llu bytes): mmap: %m", what,
		                 (unsigned long long)first);
	return CHOIR_SUCCESS;
}

static choir_status draw_nonce(uint64_t *out)
{
	do
		if (getrandom(out, sizeof *out, 0) != sizeof *out)
			return error_errno(CHOIR_NO_MEMORY, "getrandom");
	while (*out == 0);
	return CHOIR_SUCCESS;
}

int shared_above_standard(int fd)
{
	int above;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return above;
}

choir_status shared_make(const char *what, uint64_t bytes, struct shared_map *out)
{
	return shared_make_growing(what, bytes, bytes, out);
}

choir_status shared_make_growing(const char *what, uint64_t bytes, uint64_t first, struct shared_map *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), nonce = 0;
	struct shared_head *head;
	choir_status st;
	int fd;

	if (bytes > (uint64_t)INT64_MAX - page)
		return error_set(CHOIR_NO_MEMORY, "no memory for %s: %llu bytes", what, (unsigned long long)bytes);
	bytes = round_up(bytes, page);
	first = round_up(first, page);
	TRY(check_file_size(what, bytes));
	TRY(draw_nonce(&nonce));
	fd = shared_above_standard(memfd_create(what, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return error_errno(CHOIR_NO_MEMORY, "memfd_create");
	st = fill_file(what, fd, (off_t)bytes, (off_t)first);
	if (st == CHOIR_SUCCESS)
		st = map_file(what, fd, bytes, out);
	if (st == CHOIR_SUCCESS && populate(what, fd, out, first) != CHOIR_SUCCESS) {
		shared_drop(out);
		st = CHOIR_NO_MEMORY;
	}
	if (st != CHOIR_SUCCESS) {
		close(fd);
		return st;
	}
	out->fd = fd;
	out->nonce = nonce;
	head = out->base;
	head->magic = SHARED_MAGIC;
	head->nonce = nonce;
	head->bytes = bytes;
	head->first = first;
	return CHOIR_SUCCESS;
}

choir_status shared_fill(const struct shared_map *map, const char *what, uint64_t off, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = off / page * page, end = round_up(off + bytes, page);

	TRY(allocate(what, map->fd, (off_t)from, (off_t)end));
#ifdef MADV_POPULATE_WRITE
	/* if this fails each page is mapped at its first access */
	(void)madvise((unsigned char *)map->base + from, end - from, MADV_POPULATE_WRITE);
#endif
	return CHOIR_SUCCESS;
}

void shared_map_ahead(const struct shared_map *map, uint64_t off, uint64_t bytes)
{
#ifdef MADV_POPULATE_READ
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = off / page * page, end = round_up(off + bytes, page);

	(void)madvise((unsigned char *)map->base + from, end - from, MADV_POPULATE_READ);
#endif
}

/* Opens the descriptor only if its link names a memfd of choir: opening another process's device or pipe could
 * block. */
static int open_peer(const char *what, int64_t process, int fd)
{
	char path[64], target[96], expected[96];
	ssize_t len;

	errno = ESRCH;
	if (!process_is_visible(process))
		return -1;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", process_pid(process), fd);
	len = readlink(path, target, sizeof target - 1);
	if (len < 0)
		return -1;
	target[len] = '\0';
	snprintf(expected, sizeof expected, "/memfd:%s ", what); /* the kernel adds "(deleted)" */
	if (strncmp(target, expected, strlen(expected)) != 0) {
		errno = ESTALE;
		return -1;
	}
	return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* Closes `file`, or keeps it in *out where it still grows. */
static choir_status map_peer(const char *what, int64_t process, int file, uint64_t nonce, uint64_t min_bytes,
                             struct shared_map *out)
{
	struct stat stat;
	struct shared_map map;
	const struct shared_head *head;
	choir_status st;

	if (fstat(file, &stat) != 0 || (uint64_t)stat.st_size < min_bytes || (uint64_t)stat.st_size < sizeof *head) {
		close(file);
		return error_set(CHOIR_TRANSPORT, "%s of process %d has another size", what, process_pid(process));
	}
	st = map_file(what, file, (uint64_t)stat.st_size, &map);
	if (st != CHOIR_SUCCESS) {
		close(file);
		return error_prefix(CHOIR_TRANSPORT, "%s of process %d", what, process_pid(process));
	}
	map.fd = file;
	head = map.base;
	if (head->magic != SHARED_MAGIC || head->nonce != nonce || head->bytes != map.bytes ||
	    head->first > map.bytes) {
		shared_drop(&map);
		return error_set(CHOIR_TRANSPORT, "%s of process %d is not the one that was announced", what,
		                 process_pid(process));
	}
	if (populate(what, file, &map, head->first) != CHOIR_SUCCESS) {
		shared_drop(&map);
		return error_prefix(CHOIR_TRANSPORT, "%s of process %d", what, process_pid(process));
	}
	if (head->first == map.bytes) {
		close(file);
		map.fd = -1;
	}
	map.nonce = nonce;
	*out = map;
	return CHOIR_SUCCESS;
}

choir_status shared_find(const char *what, int64_t process, int fd, uint64_t nonce, uint64_t min_bytes,
                         struct shared_map *out)
{
	int file = shared_above_standard(open_peer(what, process, fd)), passed;
	choir_status st;

	if (file < 0)
		st = error_set(CHOIR_TRANSPORT, "cannot open %s of process %d: %m", what, process_pid(process));
	else
		st = map_peer(what, process, file, nonce, min_bytes, out);
	if (st != CHOIR_TRANSPORT)
		return st;
	passed = shared_above_standard(porter_fetch(process, PORTER_MEMORY, fd, nonce, 0));
	return passed < 0 ? st : map_peer(what, process, passed, nonce, min_bytes, out);
}

void shared_drop(struct shared_map *map)
{
	if (map->base != NULL)
		munmap(map->base, map->bytes);
	if (map->fd >= 0)
		close(map->fd);
	*map = (struct shared_map){ .fd = -1 };
}
