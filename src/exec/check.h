/* SPDX-License-Identifier: MIT */
/* The slow check: deadlines, late peers, dead peers, calls that differ. */
#ifndef EXEC_CHECK_H
#define EXEC_CHECK_H

#include "exec/comm.h"

/* check_in_flight: looks at what is in flight, and fails the comm where that is wrong; nothing if another thread
 * drives. Waiting threads call it some 50 times a second. */
void check_in_flight(struct choir_comm *comm);

#endif
