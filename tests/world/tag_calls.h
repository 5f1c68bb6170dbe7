/* SPDX-License-Identifier: MIT */
/* Sends and recvs with tags, from each rank to the one after it. */
#ifndef TESTS_TAG_CALLS_H
#define TESTS_TAG_CALLS_H

#include "world/world.h"

choir_call tagged(int64_t tag);

/* tags_in_other_order: two messages for each tag, of all lengths, received in another order than they are sent.
 * tags_many: recvs of many tags wait before the first send, which is for the last of them. */
void tags_in_other_order(struct world *world, int rank, choir_comm *comm, void *unused);
void tags_many(struct world *world, int rank, choir_comm *comm, void *unused);

#endif
