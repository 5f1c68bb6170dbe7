/* SPDX-License-Identifier: MIT */
/* Chooses between plain and non-temporal (nt) stores by timing both.
 *
 * Note [nt stores].  A plain store leaves the line in the cache that the cores share, where a peer reads it fastest;
 * but if the peer's own cache holds the line, the store waits until that cache releases it.  An nt store does not wait,
 * but the peer then reads from memory.  The faster way depends on the machine, on the cores of the ranks, which may
 * change from second to second, and on what the callers do with their buffers.  So a rank that times transfers, the
 * learner, keeps an entry for each kind and size of transfer.  An entry is in one of two states:
 *
 *   in use  A window of 6 transfers (8 once a usual time is known).  A trial follows if the least time of the window
 *           rose above 1.5 times the usual one, or if a trial is due; else another window.
 *   trial   3 transfers the other way.  That way stays if it took less than 0.9 of the time.  The next trial is due
 *           after 8 transfers, or, if nothing was gained, after twice as many as last time, at most 512.
 *
 * The learner tells all writers the ways by a word of bits in shared memory.  A result has the same bits either way, so
 * writers need not follow at the same moment. */
#ifndef BASE_NT_H
#define BASE_NT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Shorter transfers fit the store buffer and do not wait: they always take plain stores. */
enum { NT_LEAST_BYTES = 4 * 1024 };

struct nt_entry {        /* of one kind and size; zero to begin with; times are ns a byte */
	float least[2];  /* the least time of this window and trial, by way */
	float usual;     /* the least time when the way in use was chosen; 0 = none was chosen yet */
	uint16_t left;   /* transfers until the next trial, or until the trial ends */
	uint16_t cycle;  /* transfers between two trials */
	uint16_t looked; /* transfers in this window */
	bool way;        /* in use */
	bool tries;      /* the other way is on trial */
};

/* A choice that writers share: one bit and one entry for each kind and size.  Way 0, the first, is the one more likely
 * to be faster: plain stores where the cores share a cache, else nt stores. */
struct nt_choice {
	_Atomic uint64_t *bits;   /* the way of each entry now; NULL = always nt stores */
	struct nt_entry *entries; /* the learner's; NULL = this rank only follows */
	bool far;                 /* the cores share no cache */
};

/* nt_size: the size class of a transfer.  Class 0 begins at NT_LEAST_BYTES, each class spans a factor of two, the last
 * class has no upper end. */
int nt_size(uint64_t bytes, int n_sizes);

/* nt_choose: true if the next transfer of that entry takes nt stores.  Any thread.
 * nt_took: reports the time of a transfer of so many bytes stored that way; one the other way than now in use or on
 * trial is ignored.  One thread at a time. */
bool nt_choose(const struct nt_choice *choice, int entry);
void nt_took(const struct nt_choice *choice, int entry, bool nt, uint64_t bytes, int64_t ns);

#endif
