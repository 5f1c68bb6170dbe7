/* SPDX-License-Identifier: MIT */
/* Borrowed memory: memory of the caller in a shared mapping of a file, which other processes of the machine map too. */
#ifndef NODE_BORROW_H
#define NODE_BORROW_H

#include <choir/types.h>
#include <stdint.h>

/* The address by which a peer maps the memory. */
struct borrow_address {
	int64_t process;        /* process_id.h */
	uint64_t device, inode; /* identify the file; the peer checks them */
	uint64_t offset, bytes; /* of the memory in the file */
	int32_t fd;             /* descriptor of that process, open until borrow_end */
	int32_t unused;
};

/* borrow_begin: opens the file behind [ptr, ptr + bytes).  UNSUPPORTED, with a sentence, unless the range lies in one
 * shared, writable mapping of a file that this process can open again.  NO_MEMORY where the file's system has no room
 * for pages of it that were never written.  borrow_end: closes it; {0} is silent. */
choir_status borrow_begin(const void *ptr, uint64_t bytes, struct borrow_address *out);
void borrow_end(const struct borrow_address *address);

struct borrow_map {
	void *base; /* the mapping, page aligned; NULL = none */
	uint64_t bytes;
	unsigned char *ptr; /* the first borrowed byte */
};

/* borrow_map: maps a peer's borrowed memory.  TRANSPORT if it cannot be mapped, PEER_DEAD if that process is dead.
 * borrow_unmap: {0} is silent. */
choir_status borrow_map(const struct borrow_address *address, struct borrow_map *out);
void borrow_unmap(struct borrow_map *map);

#endif
