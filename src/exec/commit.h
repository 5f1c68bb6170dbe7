/* SPDX-License-Identifier: MIT */
/* result=atomic: a call works on host memory of the library's in place of RECV, and what came out is copied to RECV
 * once all of the call has succeeded.  After a failure RECV is as it was. */
#ifndef EXEC_COMMIT_H
#define EXEC_COMMIT_H

#include "dev/dev.h"

struct commit;

/* commit_create: room for n copies, and for results of so many bytes together; one reference.  NO_MEMORY, OPENCL. */
choir_status commit_create(choir_device *device, size_t n, uint64_t bytes, struct commit **out_p);
void commit_release(struct commit *commit); /* NULL is silent */

/* commit_take: for one call, which has the room to itself, and the results' cl_mems retained, until commit_give; one
 * reference.  *taken_p false: another call has it.  NULL is taken at once, and given back silently.  OPENCL. */
choir_status commit_take(struct commit *commit, bool *taken_p);
void commit_give(struct commit *commit);

/* commit_hold: retains the cl_mems for as long as the commit lives: of a persistent call.  NULL is silent. */
choir_status commit_hold(struct commit *commit);

/* commit_is_short: does its room take so little that a call that was made once may keep it? */
bool commit_is_short(const struct commit *commit);

/* commit_room: what a result of so many bytes takes of the room. */
uint64_t commit_room(uint64_t bytes);

/* commit_add: the result of `bytes` bytes at `buffer` is made at *stage_p.
 * commit_add_blocks: n blocks of it are copied, and the bytes between them are left alone. */
choir_status commit_add(struct commit *commit, choir_buffer buffer, uint64_t bytes, choir_buffer *stage_p);
choir_status commit_add_blocks(struct commit *commit, choir_buffer buffer, uint64_t bytes, int n, const uint64_t *offs,
                               const uint64_t *lens, choir_buffer *stage_p);

/* commit_keep: memory from malloc that goes with it. */
void commit_keep(struct commit *commit, void *kept);

/* commit_write: copies all results to where they belong; blocks until that is done. */
choir_status commit_write(const struct commit *commit);

#endif
