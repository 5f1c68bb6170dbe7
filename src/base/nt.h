/* SPDX-License-Identifier: MIT */
/* The learner of non-temporal stores: which of two ways to write what peers read is the faster one just now.
 *
 * Note [nt stores].  A plain store leaves the line where a peer gets it fastest, in the cache that the cores share; but
 * if the peer's own cache holds the line, the store waits until that cache gives it up, line after line.  A
 * non-temporal (nt) store waits for nobody, but the peer then reads from memory.  Which is faster depends on the
 * machine, on the cores the ranks run on (which may change from second to second) and on what the callers do with their
 * buffers.  So whoever sees how long a transfer took keeps an entry for each kind and size of transfer:
 *
 * state     until                                                    then
 * in use    6 transfers (8 once a usual time is known)               trial, if the least time rose above 1.5 of the
 * usual one, or if a trial is due
 * trial     3 transfers the other way                                the other way stays if it took less than 0.9; the
 * next trial is due after
 * 8 transfers, or after twice as many as last time if nothing was gained (512 at most)
 *
 * One learner tells all writers by a word of bits in shared memory.  The bits of a result do not depend on the way, and
 * a writer may follow late. */
#ifndef BASE_NT_H
#define BASE_NT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Fewer bytes fit the store buffer and wait for nobody: always plain stores. */
enum { NT_LEAST_BYTES = 4 * 1024 };

struct nt_entry {        /* of one kind and size; zero to begin with; times are ns a byte */
	float least[2];  /* the least time lately, by way */
	float usual;     /* the least when the way in use was chosen; 0 = never yet */
	uint16_t left;   /* transfers until the next trial, or until the trial ends */
	uint16_t cycle;  /* transfers between two trials */
	uint16_t looked; /* transfers since least[] was begun again */
	bool way;        /* in use */
	bool tries;      /* the other way is on trial */
};

/* A choice that writers share, one bit and one entry for each kind and size.  Way 0 is plain stores where the cores
 * share a cache, else nt stores, so that it starts with what most likely is faster. */
struct nt_choice {
	_Atomic uint64_t *bits;   /* the ways that writers take now; NULL = there is no choice: nt stores */
	struct nt_entry *entries; /* the learner's; NULL = this rank follows */
	bool far;                 /* the cores share no cache */
};

/* nt_size: the number of the size class, each twice as long as the one before, the first from NT_LEAST_BYTES on, the
 * last for all that is longer. */
int nt_size(uint64_t bytes, int n_sizes);

/* nt_choose: nt stores for the next transfer of that entry?  nt_took: a transfer of so many bytes, stored that way,
 * took so long; what began before the last change of ways does not count.  One thread at a time. */
bool nt_choose(const struct nt_choice *choice, int entry);
void nt_took(const struct nt_choice *choice, int entry, bool nt, uint64_t bytes, int64_t ns);

#endif
