/* SPDX-License-Identifier: MIT */
/* Shared memory that the other ranks of the node read in place, without copies through the arena's slots.  A rank takes
 * a block, writes its pairs there, offers it to them and sends its address with numbers that are gathered anyway; a
 * peer opens the address, reads and closes.  Any thread; only share_settle waits. */
#ifndef SPARSE_SHARE_H
#define SPARSE_SHARE_H

#include <choir/types.h>
#include <stdbool.h>
#include <stdint.h>

/* How a peer finds a block: fit to be sent, no padding. */
struct share_address {
	int64_t process; /* process_id.h */
	uint64_t nonce;
	int32_t fd;
	uint32_t line; /* of 64 bytes, from the file's start: where in it */
};

struct share_block; /* of this rank */
struct share_view;  /* a block of any rank, mapped here */

/* share_take: a block of at least that many bytes, not zeroed.  staged: the rank writes private memory, which
 * share_offer copies (Note [staged writes] in share.c); few bytes are always staged.  NO_MEMORY.
 * share_ptr: where the rank writes, before share_offer; 64-byte aligned, readable until share_give. */
choir_status share_take(uint64_t bytes, bool staged, struct share_block **out_p);
void *share_ptr(const struct share_block *block);

/* share_has_ways: may staged or in place be the faster way for so many bytes, of scalars or of rows?  Fewer are always
 * staged, more always written in place. */
bool share_has_ways(uint64_t bytes, bool rows);

/* share_offer: that many readers open and close the block before it serves another call. */
void share_offer(struct share_block *block, int readers, struct share_address *out);

/* share_give: the rank does not use the block any more.  over: every reader has opened it or will; else the block is
 * never used again.  NULL is silent. */
void share_give(struct share_block *block, bool over);

/* share_settle: waits, so many ms at most, until every block that ended calls of this process have offered was read:
 * once the process has ended, peers cannot map it.  A block that was not read by then is not waited for again. */
void share_settle(int64_t timeout_ms);

/* share_open: TRANSPORT if it cannot be mapped, PEER_DEAD if its process is dead, NO_MEMORY. */
choir_status share_open(const struct share_address *address, struct share_view **out_p);
const void *share_view_ptr(const struct share_view *view);
/* share_close: the reader has finished.  NULL is silent. */
void share_close(struct share_view *view);

#endif
