/* SPDX-License-Identifier: MIT */
/* Memory that processes of one machine and user share: an anonymous file (memfd) that a peer finds as
 * /proc/<pid>/fd/<fd>. */
#ifndef NODE_SHARED_H
#define NODE_SHARED_H

#include <choir/types.h>
#include <stdint.h>

/* The first bytes of every such file.  A pid or a descriptor number that means something else here (another pid
 * namespace, a process that ended) leads to other bytes, so both words are checked before anything else is believed. */
struct shared_head {
	uint64_t magic;
	uint64_t nonce;
	uint64_t bytes; /* of the whole file */
	uint64_t first; /* of them, allocated at creation */
};

struct shared_map {
	void *base; /* begins with a struct shared_head */
	uint64_t bytes;
	int fd; /* -1 for a peer's that is allocated as a whole */
	uint64_t nonce;
};

/* shared_make: a file of that many bytes (rounded up to pages), all of them allocated now, zeroed behind the head,
 * mapped.  NO_MEMORY if they cannot be had: never a signal, now or later.  what names it in /proc and in messages. */
choir_status shared_make(const char *what, uint64_t bytes, struct shared_map *out);

/* shared_make_growing: the same, but only its first `first` bytes are allocated now.  The others may not be touched,
 * not even read, before some process has called shared_fill for them. */
choir_status shared_make_growing(const char *what, uint64_t bytes, uint64_t first, struct shared_map *out);

/* shared_fill: allocates these bytes, rounded outwards to pages, if they are not yet.  NO_MEMORY: never a signal.  Any
 * process that has the file mapped, any thread, any number of times. */
choir_status shared_fill(const struct shared_map *map, const char *what, uint64_t off, uint64_t bytes);

/* shared_root: precedes the paths of the files that tell how much memory there is; tests set it. */
extern const char *shared_root;

/* shared_find: maps what process pid has as descriptor fd, if its head carries the nonce and it is of at least
 * min_bytes.  TRANSPORT if not. */
choir_status shared_find(const char *what, int64_t pid, int fd, uint64_t nonce, uint64_t min_bytes,
                         struct shared_map *out);

void shared_drop(struct shared_map *map);

/* shared_lock: one lock for the room's lists of open things; held across fork so that the child finds them whole. */
void shared_lock(void);
void shared_unlock(void);

/* shared_forks: how often this process is the child of a fork since the library was loaded; what belongs to the parent
 * shows by it. */
unsigned shared_forks(void);

#endif
