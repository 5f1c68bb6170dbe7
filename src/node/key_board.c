/* SPDX-License-Identifier: MIT */
/* Design notes.  The table is a hash table of chains in shared memory, under a lock that is only tried for: a rank that
 * dies with it leaves the others busy, not stuck, and their deadlines end their calls.  The order is a ring that is
 * written under the lock and read without it: the count of keys is raised last. */
#include "node/key_board.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 4096, TRIES = 200 };

struct board_key {
	uint64_t key;
	uint32_t next; /* in its chain or the free list: index + 1, 0 = last */
	uint32_t n_said;
	char text[KEY_BOARD_TEXT];
};

struct key_board {
	_Alignas(64) _Atomic uint32_t lock;
	uint32_t free_keys, n_used;   /* the free list; keys beyond n_used were never used */
	_Atomic uint64_t n_completed; /* written under the lock */
	uint32_t buckets[BUCKETS];
	struct board_key keys[KEY_BOARD_KEYS];
	_Alignas(64) _Atomic uint64_t n_ordered;
	_Alignas(64) _Atomic uint64_t order[KEY_BOARD_ORDER];
	/* [KEY_BOARD_KEYS][words] a bit a rank: has it said the key? */
	_Alignas(64) uint64_t said[];
};

size_t key_board_bytes(int ranks)
{
	return sizeof(struct key_board) + KEY_BOARD_KEYS * key_board_words(ranks) * sizeof(uint64_t);
}

static bool try_lock(struct key_board *board)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t expected = 0;

		if (atomic_load_explicit(&board->lock, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_weak_explicit(&board->lock, &expected, 1, memory_order_acquire,
		                                          memory_order_relaxed))
			return true;
	}
	return false;
}

static void unlock(struct key_board *board)
{
	atomic_store_explicit(&board->lock, 0, memory_order_release);
}

static uint64_t *said_of(struct key_board *board, int ranks, uint32_t index)
{
	return &board->said[(size_t)(index - 1) * key_board_words(ranks)];
}

/* The link that points to the key, or the one at the end of its chain. */
static uint32_t *find(struct key_board *board, uint64_t key)
{
	uint32_t *link = &board->buckets[key % BUCKETS];

	while (*link != 0 && board->keys[*link - 1].key != key)
		link = &board->keys[*link - 1].next;
	return link;
}

static uint32_t take_key(struct key_board *board)
{
	uint32_t index = board->free_keys;

	if (index != 0)
		board->free_keys = board->keys[index - 1].next;
	else if (board->n_used < KEY_BOARD_KEYS)
		index = ++board->n_used;
	return index;
}

static bool is_full(const struct key_board *board)
{
	return board->free_keys == 0 && board->n_used == KEY_BOARD_KEYS;
}

static void add_to_order(struct key_board *board, uint64_t key)
{
	uint64_t n = atomic_load_explicit(&board->n_ordered, memory_order_relaxed);

	atomic_store_explicit(&board->order[n % KEY_BOARD_ORDER], key, memory_order_relaxed);
	atomic_store_explicit(&board->n_ordered, n + 1, memory_order_release);
}

/* Under the lock. */
static enum key_said say(struct key_board *board, int ranks, int local_rank, uint64_t key, const char *text,
                         bool orders)
{
	uint32_t *link = find(board, key), index = *link;
	struct board_key *slot;
	uint64_t *said, bit = UINT64_C(1) << local_rank % 64;
	bool was_full = is_full(board);

	if (index == 0) {
		index = take_key(board);
		if (index == 0)
			return KEY_FULL;
		slot = &board->keys[index - 1];
		*slot = (struct board_key){ .key = key };
		snprintf(slot->text, sizeof slot->text, "%s", text);
		memset(said_of(board, ranks, index), 0, key_board_words(ranks) * sizeof(uint64_t));
		*link = index;
	}
	slot = &board->keys[index - 1];
	said = &said_of(board, ranks, index)[local_rank / 64];
	slot->n_said += (*said & bit) == 0;
	*said |= bit;
	if (slot->n_said < (uint32_t)ranks)
		return KEY_NOTED;
	*link = slot->next;
	slot->next = board->free_keys;
	board->free_keys = index;
	atomic_store_explicit(&board->n_completed, key_board_completed(board) + 1, memory_order_relaxed);
	if (orders)
		add_to_order(board, key);
	return was_full ? KEY_MADE_ROOM : KEY_COMPLETE;
}

enum key_said key_board_say(struct key_board *board, int ranks, int local_rank, uint64_t key, const char *text,
                            bool orders)
{
	enum key_said outcome;

	if (!try_lock(board))
		return KEY_BUSY;
	outcome = say(board, ranks, local_rank, key, text, orders);
	unlock(board);
	return outcome;
}

bool key_board_order(struct key_board *board, uint64_t key)
{
	if (!try_lock(board))
		return false;
	add_to_order(board, key);
	unlock(board);
	return true;
}

bool key_board_next(const struct key_board *board, uint64_t *cursor, uint64_t *key)
{
	if (atomic_load_explicit(&board->n_ordered, memory_order_acquire) == *cursor)
		return false;
	*key = atomic_load_explicit(&board->order[*cursor % KEY_BOARD_ORDER], memory_order_relaxed);
	++*cursor;
	return true;
}

bool key_board_look(struct key_board *board, int ranks, uint64_t key, uint64_t *said)
{
	size_t bytes = key_board_words(ranks) * sizeof *said;
	uint32_t index;

	memset(said, 0xff, bytes);
	if (!try_lock(board))
		return false;
	index = *find(board, key);
	if (index != 0)
		memcpy(said, said_of(board, ranks, index), bytes);
	unlock(board);
	return true;
}

uint64_t key_board_completed(const struct key_board *board)
{
	return atomic_load_explicit(&board->n_completed, memory_order_relaxed);
}

bool key_board_is_full(struct key_board *board, int ranks, char text[KEY_BOARD_TEXT], uint64_t *said)
{
	bool full;

	if (!try_lock(board))
		return false;
	full = is_full(board);
	if (full) { /* so none of its keys is free */
		memcpy(text, board->keys[0].text, KEY_BOARD_TEXT);
		memcpy(said, said_of(board, ranks, 1), key_board_words(ranks) * sizeof *said);
	}
	unlock(board);
	return full;
}
