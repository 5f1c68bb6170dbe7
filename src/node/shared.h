/* SPDX-License-Identifier: MIT */
/* Memory that processes of one machine and user share: an anonymous file (memfd) that a peer opens as
 * /proc/<pid>/fd/<fd>, or gets from the process's porter where it may not do so. */
#ifndef NODE_SHARED_H
#define NODE_SHARED_H

#include <choir/types.h>
#include <stdint.h>
#include <sys/types.h>

#define SHARED_MAGIC 0x31646572616863ull /* "chared1" */

/* The first bytes of every such file.  A pid or descriptor number may mean another file here (another pid namespace, a
 * process that ended), so a peer checks magic and nonce before it uses the file. */
struct shared_head {
	uint64_t magic;
	uint64_t nonce;
	uint64_t bytes; /* the size of the file */
	uint64_t first; /* the bytes at its beginning that are allocated at creation */
};

struct shared_map {
	void *base; /* begins with a struct shared_head */
	uint64_t bytes;
	int fd; /* -1 for a peer's file that is fully allocated */
	uint64_t nonce;
};

/* shared_make: makes and maps a file of that many bytes, rounded up to pages, all allocated now, zero behind the head.
 * what: its name in /proc and in error sentences.  NO_MEMORY; never a signal, now or later. */
choir_status shared_make(const char *what, uint64_t bytes, struct shared_map *out);

/* shared_make_growing: the same, but only the first `first` bytes are allocated.  The others may not be accessed, not
 * even read, before a process has called shared_fill for them. */
choir_status shared_make_growing(const char *what, uint64_t bytes, uint64_t first, struct shared_map *out);

/* shared_fill: allocates these bytes, rounded outwards to pages, where that was not done yet.  Any thread of any
 * process that maps the file; may be repeated.  NO_MEMORY; never a signal. */
choir_status shared_fill(const struct shared_map *map, const char *what, uint64_t off, uint64_t bytes);

/* shared_map_ahead: maps bytes that are allocated, so that this process's first reads take no page faults.  May fail
 * silently: then they take them. */
void shared_map_ahead(const struct shared_map *map, uint64_t off, uint64_t bytes);

/* shared_above_standard: the descriptor, or a copy of it above 2 in its place: where a program has closed the standard
 * ones it may still write to them.  -1 stays -1. */
int shared_above_standard(int fd);

/* shared_reserve: allocates that part of a file of any kind, or finds that its file system does not.  NO_MEMORY. */
choir_status shared_reserve(const char *what, int fd, off_t at, off_t bytes);

/* shared_root: prefix of the paths that memory_left reads; tests set it. */
extern const char *shared_root;

/* shared_forget_spare: the next request reads anew what memory is left: Note [spare memory] in shared.c. */
void shared_forget_spare(void);

/* shared_find: maps the file that is descriptor fd of a process (process_id.h).  TRANSPORT if its head has another
 * nonce, it is shorter than min_bytes, or it cannot be mapped. */
choir_status shared_find(const char *what, int64_t process, int fd, uint64_t nonce, uint64_t min_bytes,
                         struct shared_map *out);

void shared_drop(struct shared_map *map); /* unmaps and closes */

/* shared_lock: the lock of the lists of open arenas and bells; held across fork, so that the child's lists are
 * whole. */
void shared_lock(void);
void shared_unlock(void);

/* shared_forks: the number of forks between the process that loaded the library and this one.  A different number marks
 * what belongs to the parent. */
unsigned shared_forks(void);

#endif
