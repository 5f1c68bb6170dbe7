/* SPDX-License-Identifier: MIT */
/* The slow check: deadlines, late peers, dead peers, calls that differ.
 *
 * A rank that a call waits for is
 *   absent     it has not made the call yet (late.c)
 *   silent     it has given no sign for some time (liveness.h)
 *   lost       the transport does not reach it any more (liveness.h)
 *   dead       its process has exited (comm_process.dead_looks)
 *   gone       it said that it makes no more calls (gone.h)
 *   withdrawn  its comm has failed, and it has left all calls (withdraw.h)
 * The one that a sentence names is late (late.h). */
#ifndef EXEC_CHECK_H
#define EXEC_CHECK_H

#include "exec/comm.h"

/* check_in_flight: looks at what is in flight, and fails the comm where that is wrong; nothing if another thread
 * drives. Waiting threads call it some 50 times a second. */
void check_in_flight(struct choir_comm *comm);

#endif
