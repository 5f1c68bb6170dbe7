/* SPDX-License-Identifier: MIT */
/* Design notes.  A block is a memfd.  A new one costs a page fault per 4 KiB on both sides, so the owner keeps its
 * blocks, and readers keep them mapped.  A word at the start of the file counts the readers that have not finished: the
 * owner sets it before it sends the address, each reader decrements it after it has read, and the owner uses the block
 * again once it is zero.  A reader that dies, or whose call fails before it maps the block, leaves it unused for good.
 * The owner marks a file that it drops; readers unmap such files when they next map another.
 * The node room's lock guards both lists and is held across fork: a child finds the lists whole, and frees the entries
 * of its parent. */
#include "sparse/share.h"

#include "base/arithmetic.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/wait.h"
#include "node/arena.h"
#include "node/process_id.h"
#include "node/shared.h"
#include "sparse/pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define SHARE_WHAT  "choir-sparse"
#define HEAD_BYTES  4096
#define LINE_BYTES  64
#define LEAST_BYTES (UINT64_C(1) << 18) /* Note [short blocks] */
#define MOST_BYTES  (UINT64_C(1) << 37) /* share_address.line counts up to twice as many */
#define KEPT_BYTES  (UINT64_C(512) << 20)
#define KEPT_BLOCKS 32
#define KEPT_VIEWS  1024 /* of live processes */
#define ENDED_VIEWS 128

/* Note [staged writes].  A store to a line that the cache of a reader holds waits for that cache, for long if the two
 * cores share none.  A block that fits the caches is therefore either written in place by plain stores, or staged: it
 * is written in private memory and then copied by nt stores.  The faster way depends on the ranks' cores, so callers
 * learn it (staged_write.c).  Longer lists of scalars are always written in place: the caches have lost their lines.
 * Longer lists of rows are too, but only beyond the last cache: each row is written several times.  Either way a short
 * block begins behind the one before it in the file, until the file is full. */
#define SCALARS_STAGED_BYTES (UINT64_C(1) << 20)
#define ROWS_STAGED_BYTES    (UINT64_C(16) << 20)
#define LEAST_NT_BYTES       4096 /* fewer fit the store buffer: always staged */

/* Note [short blocks].  A short file is written from its start again soon, while its lines are still in some cache of
 * the machine; the lines of a long one are back in memory by then.  So calls of few pairs are faster in short files. */

struct share_head {
	struct shared_head shared;
	_Atomic int32_t readers; /* still to come */
	_Atomic int32_t gone;
};

struct share_block {
	struct share_block *next;
	struct shared_map map;
	uint64_t from, bytes, end; /* the part of the file that is in use */
	struct pool_block staged;  /* private memory: Note [staged writes] */
	bool taken;
	bool given_up; /* it has been waited for long enough: share_settle */
};

struct share_view {
	struct share_view *next;
	struct shared_map map;
	int64_t process; /* whose file it is: node/process_id.h */
	uint64_t from;   /* where in the file the list begins that all users read now */
	int users;
};

static struct share_block *blocks;
static struct share_view *views;
static unsigned forks; /* whose lists these are */

static struct share_head *head_of(const struct shared_map *map)
{
	return map->base;
}

static void drop_block(struct share_block *block)
{
	atomic_store(&head_of(&block->map)->gone, 1);
	shared_drop(&block->map);
	free(block);
}

/* In a child of a fork: drops the entries of the parent. */
static void forget_parents(void)
{
	if (forks == shared_forks())
		return;
	forks = shared_forks();
	for (struct share_block *next; blocks != NULL; blocks = next) {
		next = blocks->next;
		shared_drop(&blocks->map);
		pool_give(&blocks->staged);
		free(blocks);
	}
	for (struct share_view *next; views != NULL; views = next) {
		next = views->next;
		shared_drop(&views->map);
		free(views);
	}
}

static bool is_free(const struct share_block *block)
{
	return !block->taken && atomic_load_explicit(&head_of(&block->map)->readers, memory_order_acquire) == 0;
}

/* The smallest free block that is large enough, and not so large that it is missed elsewhere. */
static struct share_block *find_free(uint64_t bytes)
{
	struct share_block *best = NULL;

	for (struct share_block *block = blocks; block != NULL; block = block->next)
		if (is_free(block) && block->map.bytes >= bytes && block->map.bytes / 8 <= bytes &&
		    (best == NULL || block->map.bytes < best->map.bytes))
			best = block;
	return best;
}

/* Takes so many bytes of the file. */
static void take(struct share_block *block, uint64_t bytes)
{
	block->taken = true;
	block->given_up = false;
	block->bytes = bytes;
	block->from = bytes > block->map.bytes - block->end ? HEAD_BYTES : block->end;
	block->end = block->from + round_up(bytes, LINE_BYTES);
}

/* Drops free blocks beyond the limits, oldest first: new ones stand in front. */
static void trim_blocks(void)
{
	uint64_t bytes = 0, count = 0;

	for (struct share_block **at = &blocks; *at != NULL;) {
		struct share_block *block = *at;

		bytes += block->map.bytes;
		if ((bytes <= KEPT_BYTES && ++count <= KEPT_BLOCKS) || !is_free(block)) {
			at = &block->next;
			continue;
		}
		bytes -= block->map.bytes;
		*at = block->next;
		drop_block(block);
	}
}

static uint64_t room_for(uint64_t bytes)
{
	uint64_t room = LEAST_BYTES;

	while (room < bytes)
		room += room / 2;
	return room;
}

bool share_has_ways(uint64_t bytes, bool rows)
{
	return bytes >= LEAST_NT_BYTES && bytes <= (rows ? ROWS_STAGED_BYTES : SCALARS_STAGED_BYTES);
}

/* Takes private memory if the block is staged. */
static choir_status take_staged(struct share_block *block, bool staged, struct share_block **out_p)
{
	choir_status st = staged || block->bytes < LEAST_NT_BYTES
	                      ? pool_take(&block->staged, block->bytes, "pairs that the node shares")
	                      : CHOIR_SUCCESS;

	if (st == CHOIR_SUCCESS)
		*out_p = block;
	else
		share_give(block, true);
	return st;
}

choir_status share_take(uint64_t bytes, bool staged, struct share_block **out_p)
{
	struct share_block *block;
	choir_status st;

	uint64_t file = LEAST_BYTES;

	if (bytes > MOST_BYTES)
		return error_no_memory("pairs that the node shares", bytes);
	if (bytes > LEAST_BYTES - HEAD_BYTES)
		file = bytes + HEAD_BYTES;
	shared_lock();
	forget_parents();
	block = find_free(file);
	if (block != NULL)
		take(block, bytes);
	shared_unlock();
	if (block != NULL)
		return take_staged(block, staged, out_p);
	block = calloc(1, sizeof *block);
	if (block == NULL)
		return error_no_memory("a block that the node shares", sizeof *block);
	st = shared_make(SHARE_WHAT, room_for(file), &block->map);
	if (st != CHOIR_SUCCESS) {
		free(block);
		return st;
	}
	block->end = HEAD_BYTES;
	take(block, bytes);
	shared_lock();
	block->next = blocks;
	blocks = block;
	trim_blocks();
	shared_unlock();
	return take_staged(block, staged, out_p);
}

static void *mapped_at(const struct share_block *block)
{
	return (unsigned char *)block->map.base + block->from;
}

void *share_ptr(const struct share_block *block)
{
	return block->staged.ptr != NULL ? block->staged.ptr : mapped_at(block);
}

void share_offer(struct share_block *block, int readers, struct share_address *out)
{
	if (readers > 0 && block->staged.ptr != NULL)
		copy_host(mapped_at(block), block->staged.ptr, block->bytes, block->bytes >= LEAST_NT_BYTES);
	atomic_store_explicit(&head_of(&block->map)->readers, readers, memory_order_relaxed);
	*out = (struct share_address){ .process = process_id(),
		                       .nonce = block->map.nonce,
		                       .fd = block->map.fd,
		                       .line = (uint32_t)(block->from / LINE_BYTES) };
}

static void unlist(struct share_block *block)
{
	struct share_block **at = &blocks;

	while (*at != NULL && *at != block)
		at = &(*at)->next;
	if (*at != NULL)
		*at = block->next;
}

void share_give(struct share_block *block, bool over)
{
	if (block == NULL)
		return;
	pool_give(&block->staged);
	shared_lock();
	if (over) {
		block->taken = false;
	} else {
		unlist(block);
		drop_block(block);
	}
	shared_unlock();
}

static struct share_view *find_view(const struct share_address *address)
{
	struct share_view *view = views;

	while (view != NULL && view->map.nonce != address->nonce)
		view = view->next;
	if (view != NULL && view->users++ == 0)
		view->from = (uint64_t)address->line * LINE_BYTES;
	return view;
}

/* Of a process that is not visible here nobody knows it at once. */
static bool owner_has_ended(const struct share_view *view)
{
	int watch = process_is_visible(view->process) ? peer_watch_open(view->process) : -1;
	bool ended = peer_watch_dead(watch);

	peer_watch_close(watch);
	return ended;
}

static bool is_new(int64_t process)
{
	for (const struct share_view *view = views; view != NULL; view = view->next)
		if (view->process == process)
			return false;
	return true;
}

/* Before a view of that process's is added.  Nobody else keeps the memory of a process that has ended: where a new one
 * has come, perhaps in place of another, all are looked at. */
static void trim_views(int64_t process)
{
	bool asks = is_new(process);
	int count = 0;

	for (struct share_view **at = &views; *at != NULL;) {
		struct share_view *view = *at;

		if (view->users > 0 || (++count <= KEPT_VIEWS && atomic_load(&head_of(&view->map)->gone) == 0 &&
		                        (count <= ENDED_VIEWS || !asks || !owner_has_ended(view)))) {
			at = &view->next;
			continue;
		}
		*at = view->next;
		shared_drop(&view->map);
		free(view);
	}
}

/* A reader has finished with the block, or does not read it. */
static void count_out_reader(const struct shared_map *map)
{
	atomic_fetch_sub_explicit(&head_of(map)->readers, 1, memory_order_release);
}

choir_status share_open(const struct share_address *address, struct share_view **out_p)
{
	struct share_view *view;
	struct shared_map map;
	choir_status st;

	shared_lock();
	forget_parents();
	view = find_view(address);
	shared_unlock();
	if (view != NULL) {
		*out_p = view;
		return CHOIR_SUCCESS;
	}
	st = shared_find(SHARE_WHAT, address->process, address->fd, address->nonce, HEAD_BYTES, &map);
	if (st != CHOIR_SUCCESS)
		return st == CHOIR_TRANSPORT ? peer_lost(address->process) : st;
	view = calloc(1, sizeof *view);
	if (view == NULL) {
		count_out_reader(&map);
		shared_drop(&map);
		return error_no_memory("a view of a shared block", sizeof *view);
	}
	view->map = map;
	view->process = address->process;
	view->from = (uint64_t)address->line * LINE_BYTES;
	view->users = 1;
	shared_lock();
	trim_views(address->process);
	view->next = views;
	views = view;
	shared_unlock();
	*out_p = view;
	return CHOIR_SUCCESS;
}

const void *share_view_ptr(const struct share_view *view)
{
	return (const unsigned char *)view->map.base + view->from;
}

void share_close(struct share_view *view)
{
	if (view == NULL)
		return;
	shared_lock();
	view->users--;
	/* Under the lock: a thread that opens the block that is offered next finds no user of this one. */
	count_out_reader(&view->map);
	shared_unlock();
}

/* Is there a block that an ended call has offered, and that somebody still has to read?  gives_up: none of them is
 * waited for from now on. */
static bool any_unread(bool gives_up)
{
	bool unread = false;

	shared_lock();
	forget_parents();
	for (struct share_block *block = blocks; block != NULL; block = block->next)
		if (!block->taken && !block->given_up && !is_free(block)) {
			unread = true;
			block->given_up = gives_up;
		}
	shared_unlock();
	return unread;
}

/* A reader whose call failed before it came to read never does: that is waited for once. */
void share_settle(int64_t timeout_ms)
{
	int64_t end = wait_end_ns(timeout_ms);

	while (any_unread(false) && wait_now_ns() < end)
		wait_sleep_us(1000);
	(void)any_unread(true);
}
