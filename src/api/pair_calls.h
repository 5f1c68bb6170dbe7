/* SPDX-License-Identifier: MIT */
/* Messages of the library's own between two ranks. */
#ifndef API_PAIR_CALLS_H
#define API_PAIR_CALLS_H

#include "exec/comm.h"

/* split_sendrecv: choir_sendrecv of bytes of the host, blocking unless in a group, with a tag that matches no call of
 * the program's.  name: the call that an error names. */
choir_status split_sendrecv(const char *name, choir_comm *comm, size_t bytes, const void *send, int dest, void *recv,
                            int source);

#endif
