/* SPDX-License-Identifier: MIT */
/* Memory of the caller's that other processes of the machine can map too: it lies in a shared mapping of a file that
 * they can open. */
#ifndef NODE_BORROW_H
#define NODE_BORROW_H

#include <choir/types.h>
#include <stdint.h>

/* How a peer finds it. */
struct borrow_address {
	int64_t pid;
	uint64_t device, inode; /* of the file, which is looked at before anything is believed */
	uint64_t offset, bytes; /* in it */
	int32_t fd;             /* of process pid, open until borrow_end */
	int32_t unused;
};

/* borrow_begin: opens the file behind [ptr, ptr + bytes).  UNSUPPORTED with a sentence if that is no shared mapping of
 * one file that this process can open again. */
choir_status borrow_begin(const void *ptr, uint64_t bytes, struct borrow_address *out);
void borrow_end(const struct borrow_address *address);

struct borrow_map {
	void *base; /* of the mapping, page aligned; NULL = none */
	uint64_t bytes;
	unsigned char *ptr; /* the first byte of what was borrowed */
};

/* borrow_map: maps a peer's.  TRANSPORT if it cannot be, PEER_DEAD if that process is dead.  borrow_unmap: {0} is
 * silent. */
choir_status borrow_map(const struct borrow_address *address, struct borrow_map *out);
void borrow_unmap(struct borrow_map *map);

#endif
