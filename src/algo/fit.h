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

/* fit_chunk_bytes: how long a chunk through the slots is at most.  256 KB stay in a cache.  Slots of 4 MB and more are
 * those of devices with memory of their own, where each command costs some 10 us: an eighth of the slot then, but a
 * sixteenth of the call, so that the first chunk and the last one, which overlap with nothing, are short. */
uint64_t fit_chunk_bytes(const struct algo_in *in);

#endif
