/* SPDX-License-Identifier: MIT */
/* Common conditions of algorithms, for `unfit`: NULL where the condition holds, else a constant text. */
#ifndef ALGO_FIT_H
#define ALGO_FIT_H

#include "algo/algo.h"

const char *fit_single(const struct algo_in *in);  /* one rank */
const char *fit_node(const struct algo_in *in);    /* all ranks on one node, and more than one */
const char *fit_network(const struct algo_in *in); /* more than one rank, anywhere */
const char *fit_nodes(const struct algo_in *in);   /* more than one node */
const char *fit_any(const struct algo_in *in);
const char *fit_phases(uint64_t phases); /* no more phases than a lane's flag can hold */

/* fit_by_commands: commands copy SEND to the slots.  A rank then puts chunks ahead of the others, so that the bus
 * always has one to begin, and does other work before they have ended. */
bool fit_by_commands(const struct algo_in *in);

/* fit_chunk_bytes: how long a chunk through the slots is at most.  bytes: of what goes through them; commands: of a
 * chunk, in the direction that has more, where a buffer is reached by commands.  256 KB stay in a cache.
 *
 * Note [chunks by commands].  Where r bytes are copied in the time that a command takes without any, m chunks of
 * b bytes take as long as (m + 1) (commands r + b / m) bytes of the bus: the first read and the last write overlap with
 * nothing.  That is least for m * m = b / (commands r).  Flags want no less than 32 KB. */
uint64_t fit_chunk_bytes(const struct algo_in *in, uint64_t bytes, uint64_t commands);

/* fit_moved_chunk_bytes: the same where chunks are only copied.  Of two ranks the one reads what is still in the
 * other's own cache if chunks are a quarter of it; at least 64 KB, and no more than else.  With more ranks, which may
 * be more than cores, each wait costs more; calls above 8 MB fit no cache either way. */
uint64_t fit_moved_chunk_bytes(const struct algo_in *in, uint64_t bytes);

#endif
