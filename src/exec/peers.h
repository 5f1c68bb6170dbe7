/* SPDX-License-Identifier: MIT */
/* Where the buffers of a run's peers on the node are: what each rank says in its lane, and the addresses that follow.  The place of a buffer stands beside the
 * record; of a list of segments, the places of all stand at the beginning of the slot, which a plan that touches peers' buffers has no other use for. */
#ifndef EXEC_PEERS_H
#define EXEC_PEERS_H

#include "exec/run.h"

/* peers_say: where my segments are, if the run has them and peers reach them; before its flag is raised.  The places of single buffers are announced with the record. */
void peers_say(const struct run *run);

/* peers_find: where the buffers of the rank at that place of the node are; it has raised its flag, and all ranks' buffers are within reach. */
struct run_peer peers_find(const struct run *run, int place);

/* peers_host: the address of byte off of that rank's SEND (sends) or RECV.  *span becomes no more than what lies together from there on. */
unsigned char *peers_host(struct run *run, int rank, bool sends, uint64_t off, uint64_t *span);

#endif
