/* SPDX-License-Identifier: MIT */
/* A rank's coalesced list in device memory, which the other ranks of its process read in place: their devices share a
 * context.  Each rank of a call lends one, with pairs or without, and sends its number with the header; a reader opens
 * the number, enqueues kernels, and closes once they are complete.  A rank that gives its list opens no other list of
 * the call from then on, so no list outlives the calls of the ranks that know it.  Any thread; nothing waits. */
#ifndef SPARSE_LENT_H
#define SPARSE_LENT_H

#include "sparse/scratch.h"

struct lent_list;

/* lent_create: lends the list, whose commands are complete, in a call with that many other ranks; *ind and *rows, empty
 * for a list without pairs, are its from now on, and zeroed.  NO_MEMORY: they are as before. */
choir_status lent_create(struct scratch *ind, struct scratch *rows, int others, struct lent_list **out_p);

/* lent_number: how a reader finds it; not 0. */
uint64_t lent_number(const struct lent_list *list);

/* lent_withdraw: ends a loan that no reader will open; the memory is the caller's again. */
void lent_withdraw(struct lent_list *list, struct scratch *ind, struct scratch *rows);

/* lent_await: the list stays until the list of that number has been given too.  At most once for each other rank,
 * before lent_give. */
void lent_await(struct lent_list *list, uint64_t number);

/* lent_give: the owner's call is over; the memory goes with the last reader, and the last list that it awaits.
 * all_know: the ranks of the lists that it awaits find it; else nobody does any more.  NULL is silent. */
void lent_give(struct lent_list *list, bool all_know);

/* lent_open: TRANSPORT if the owner's call has failed.  lent_ind, lent_rows: until lent_close. */
choir_status lent_open(uint64_t number, struct lent_list **out_p);
cl_mem lent_ind(const struct lent_list *list);
cl_mem lent_rows(const struct lent_list *list);
/* lent_close: no command of the reader's uses the list.  NULL is silent. */
void lent_close(struct lent_list *list);

#endif
