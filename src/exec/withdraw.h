/* SPDX-License-Identifier: MIT */
/* A rank whose comm has failed withdraws: it touches no buffer of a peer any more, and no peer begins to touch its own.
 * A failed call returns once all have. */
#ifndef EXEC_WITHDRAW_H
#define EXEC_WITHDRAW_H

#include "exec/run.h"

/* withdraw: says that this rank has left all calls of its failed comm; from then on it executes no step.  Silent the
 * second time.  The driver only. */
void withdraw(struct choir_comm *comm, int64_t now_ns);

/* withdraw_left_alone: can no peer touch the buffers of this failed run any more?  After withdraw; the driver only.
 * Dead ranks are not waited for, those of other processes for WITHDRAW_MS: they may be stopped, and one that continues
 * finishes its piece, in its own mapping of symmetric memory. */
enum { WITHDRAW_MS = 500 };
bool withdraw_left_alone(const struct run *run, int64_t now_ns);

#endif
