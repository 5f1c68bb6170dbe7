/* SPDX-License-Identifier: MIT */
/* Waiting for a comm's calls to end. */
#ifndef EXEC_DRAIN_H
#define EXEC_DRAIN_H

#include "exec/comm.h"

/* drain_all: drives until nothing of the comm's is unfinished, no thread is in one of its calls, and its messages have
 * left; false if timeout_ms passed first.
 * drain_flush: the same by a thread that is counted as flushing; ends at once where another one has destroyed the comm,
 * and does not wait for messages of a comm that has failed.
 * drain_calls: the same without messages, of a comm that has failed: waits for jobs of scripts, runs whose buffers
 * peers may still touch (WITHDRAW_MS at most), and threads in its calls. */
bool drain_all(struct choir_comm *comm, int64_t timeout_ms);
bool drain_flush(struct choir_comm *comm, int64_t timeout_ms);
void drain_calls(struct choir_comm *comm);

#endif
