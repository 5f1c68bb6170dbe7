/* SPDX-License-Identifier: MIT */
/* A rank's coalesced list in device memory, which the other ranks of its process read in place: their devices share a
 * context.  The owner lends it and sends its number with the header; a reader opens the number, enqueues kernels, and
 * closes once they are complete.  Any thread; nothing waits. */
#ifndef SPARSE_LENT_H
#define SPARSE_LENT_H

#include "sparse/scratch.h"

struct lent_list;

/* lent_create: lends the list, whose commands are complete, to that many readers; *ind and *rows are its from now on,
 * and zeroed.  NO_MEMORY: they are as before. */
choir_status lent_create(struct scratch *ind, struct scratch *rows, int readers, struct lent_list **out_p);

/* lent_number: how a reader finds it; more than LENT_NOTHING, which stands for a list without pairs. */
#define LENT_NOTHING 1
uint64_t lent_number(const struct lent_list *list);

/* lent_withdraw: ends a loan that no reader will open; the memory is the caller's again. */
void lent_withdraw(struct lent_list *list, struct scratch *ind, struct scratch *rows);

/* lent_give: the owner's call is over; the memory goes with the last reader.  all_open: every reader has opened the
 * list or will; else those that have not do not find it any more.  NULL is silent. */
void lent_give(struct lent_list *list, bool all_open);

/* lent_open: TRANSPORT if the owner's call has failed.  lent_ind, lent_rows: until lent_close. */
choir_status lent_open(uint64_t number, struct lent_list **out_p);
cl_mem lent_ind(const struct lent_list *list);
cl_mem lent_rows(const struct lent_list *list);
/* lent_close: no command of the reader's uses the list.  NULL is silent. */
void lent_close(struct lent_list *list);

#endif
