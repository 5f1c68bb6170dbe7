/* SPDX-License-Identifier: MIT */
/* Memory that the other ranks of the node read where it lies, instead of copies through the arena's slots.  A rank
 * takes a block, makes its pairs in it, lends it and sends its address with numbers that are gathered anyway; a peer
 * opens the address, reads and closes.  Any thread; nothing but share_settle waits for anybody. */
#ifndef SPARSE_SHARE_H
#define SPARSE_SHARE_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdint.h>

/* How a peer finds a block: fit to be sent, no padding. */
struct share_address {
	int64_t pid;
	uint64_t nonce;
	int32_t fd;
	uint32_t line; /* of 64 bytes, from the file's start: where in it */
};

struct share_block; /* mine */
struct share_view;  /* a block of anybody's, mapped here */

/* share_take: room for at least that many bytes, whatever was in them.  staged: written in memory of ours and copied
 * when it is lent (Note [staged writes] in share.c; readers see no difference); so are few bytes anyway.  NO_MEMORY.
 * share_ptr: where it begins; 64-byte aligned; written before it is lent, readable until it is given back. */
choir_status share_take(uint64_t bytes, bool staged, struct share_block **out_p);
void *share_ptr(const struct share_block *block);

/* share_has_ways: for so many bytes, of scalars or of rows, either way may be the faster one; fewer are
 * staged, more are written in place. */
bool share_has_ways(uint64_t bytes, bool rows);

/* share_lend: until that many views of it have been opened and closed, the block serves no other call. */
void share_lend(struct share_block *block, int readers, struct share_address *out);

/* share_give: I am done with it.  over: the call ended well, so every reader has opened it or will; else the block is
 * never used again.  NULL is silent. */
void share_give(struct share_block *block, bool over);

/* share_settle: waits, so many ms at most, until all that ended calls of this process have lent was read: peers cannot
 * map it any more once the process has ended.  What was not read by then is not waited for again. */
void share_settle(int64_t timeout_ms);

/* share_open: TRANSPORT if it cannot be mapped, PEER_DEAD if its process is dead. */
choir_status share_open(const struct share_address *address, struct share_view **out_p);
const void *share_view_ptr(const struct share_view *view);
/* share_close: I have read all I need.  NULL is silent. */
void share_close(struct share_view *view);

#endif
