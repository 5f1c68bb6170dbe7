/* SPDX-License-Identifier: MIT */
/* How ranks write what their peers read: into slots, and into peers' buffers.
 *
 * Note [past the cache].  A plain store leaves data where a peer gets it fastest, in the cache that the cores share; but where a peer's own cache holds the line, it waits
 * until that has let go, one line after the other: 10 ns each were measured where the cores share a cache and 26 to 70 where they share none, 2 GB/s.  A non-temporal
 * store waits for nobody (15 to 40 GB/s), but the reader fetches from memory.  Who holds what depends on the machine, on where the ranks run on it (which may change from
 * second to second), and on what the callers do with their buffers.  So the first rank of a node sees how long plans take, of each kind and size, and has all try the
 * other way for a few of them: now and then, and as soon as they take longer than they did.  Bits do not depend on it, and it does no harm if a rank follows late. */
#ifndef EXEC_STORES_H
#define EXEC_STORES_H

#include "node/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Less fits the store buffer and waits for nobody: always plain. */
enum { STORES_BYTES = 4 * 1024, STORES_KINDS = 5, STORES_SIZES = 12, STORES_PLANS = STORES_KINDS * STORES_SIZES, STORES_ENTRIES = 64, STORES_MAIL_SIZES = 5 };

struct stores_entry {    /* of one kind and size; times are ns a byte */
	float least[2];  /* the least time lately, plain and past the cache */
	float usual;     /* the least when the way in use was chosen; 0 = never yet */
	uint16_t left;   /* plans until the other way is tried, or until it has been */
	uint16_t cycle;  /* plans between two trials: more each time that nothing was gained */
	uint16_t looked; /* at so many times since least[] was begun again */
	bool past;       /* the way in use */
	bool tries;      /* the other one now */
};

struct stores {          /* driver only; zero to begin with */
	struct stores_entry entries[STORES_ENTRIES]; /* the first rank's of a node: of plans, then of what scripts measure themselves: whole calls */
	struct stores_entry mail[ARENA_RING_RANKS][STORES_MAIL_SIZES]; /* of what each rank of the node sends me: exec/p2p.c */
};

/* What those know of it who measure themselves: scripts, of entries STORES_PLANS and up, and messages (exec/p2p.c). */
struct stores_way {
	_Atomic uint64_t *past;       /* bits that all writers look at, one an entry; NULL = there is no choice: past the cache */
	struct stores_entry *entries; /* of the one who learns; NULL = follow */
};

struct run;
struct choir_comm;

/* stores_size: which of so many sizes that is; each is twice as long as the one before, the first from STORES_BYTES on, the last all that is longer. */
int stores_size(uint64_t bytes, int n_sizes);

/* stores_begin: decides for the plan that the run starts now.  stores_end: that plan is done. */
void stores_begin(struct run *run);
void stores_end(struct run *run);

/* stores_way_of: for the scripts of a comm.  stores_is_past: which way now.  stores_took: what went that way took so long. */
struct stores_way stores_way_of(struct choir_comm *comm);
bool stores_is_past(const struct stores_way *way, int entry);
void stores_took(const struct stores_way *way, int entry, bool past, uint64_t bytes, int64_t ns);

/* stores_learn: an entry's plan of so many bytes took that long, written past the cache or not; what began before the last change of ways does not count.
 * True: past is the way from now on. */
bool stores_learn(struct stores_entry *entry, bool past, uint64_t bytes, int64_t ns);

#endif
