/* SPDX-License-Identifier: MIT */
/* The key board: memory of a node's arena on which its ranks say which keyed calls they have made, and read in which
 * order the calls start.
 *
 * A key that all ranks of the node have said leaves the table; in a comm of one node it enters the order then.  A rank
 * reads the order at its own pace: no more keys are ordered than it has itself said and not read, and it says none
 * while these are KEY_BOARD_ORDER, so the order's ring cannot overtake its reader.  Zeroed memory is an empty board. */
#ifndef NODE_KEY_BOARD_H
#define NODE_KEY_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_BOARD_KEYS = 4096, KEY_BOARD_ORDER = 2 * KEY_BOARD_KEYS, KEY_BOARD_TEXT = 40 };

struct key_board;

/* key_board_bytes: the size of a board of so many ranks. */
size_t key_board_bytes(int ranks);

/* KEY_BUSY: another rank has the table, try again soon; KEY_FULL: KEY_BOARD_KEYS other keys are said and not complete;
 * KEY_MADE_ROOM: complete, and the table was full before. */
enum key_said { KEY_BUSY, KEY_NOTED, KEY_FULL, KEY_COMPLETE, KEY_MADE_ROOM };

/* key_board_say: this rank has made the call of that key.  orders: a complete key enters the order. */
enum key_said key_board_say(struct key_board *board, int ranks, int local_rank, uint64_t key, const char *text,
                            bool orders);

/* key_board_order: the key is next; false: busy, try again soon. */
bool key_board_order(struct key_board *board, uint64_t key);

/* key_board_next: the next key of the order after *cursor (at first 0); false: there is none yet.  Never waits. */
bool key_board_next(const struct key_board *board, uint64_t *cursor, uint64_t *key);

/* key_board_look: said: a bit of [key_board_words] for each rank that has said the key; a complete key is not there, so
 * all have.  False: another rank has the table, and all bits are set. */
static inline size_t key_board_words(int ranks)
{
	return ((size_t)ranks + 63) / 64;
}
bool key_board_look(struct key_board *board, int ranks, uint64_t key, uint64_t *said);

/* key_board_completed: how many keys have been complete so far; while it stays the same, so does KEY_FULL of a key. */
uint64_t key_board_completed(const struct key_board *board);

/* key_board_is_full: if so, the text of a key of the table, cut to its size, and who has said it, as of
 * key_board_look.  False also if another rank has the table. */
bool key_board_is_full(struct key_board *board, int ranks, char text[KEY_BOARD_TEXT], uint64_t *said);

#endif
