/* SPDX-License-Identifier: MIT */
/* Ranks of one machine, for programs that start their own: threads of this process, or children of it. */
#ifndef LIB_RANKS_H
#define LIB_RANKS_H

#include "meeting.h"

#include <choir/comm.h>
#include <stdint.h>
#include <sys/types.h>

enum { RANKS_MOST = 256 };

struct rank {
	int rank, n;
	struct meeting *meeting; /* of all n */
};

typedef int rank_fn(const struct rank *me, void *ctx);

/* ranks_as_threads: runs fn on n threads, and returns the largest of their results.  A thread that cannot be made ends
 * the process: the others may wait for it already. */
int ranks_as_threads(int n, rank_fn *fn, void *ctx);

/* Children: n processes, whose results are their exit statuses.  A child does not outlive its parent. */
struct ranks {
	int n, n_meeting, started;
	struct meeting *meeting;
	pid_t pids[RANKS_MOST];
	int statuses[RANKS_MOST]; /* as waitpid says, once joined */
	bool hung[RANKS_MOST];
};

/* ranks_fork: starts fn in n children, each a rank of n_meeting that meet.  false: not all could be started.  Either
 * way ranks_join is due. */
bool ranks_fork(struct ranks *ranks, int n, int n_meeting, rank_fn *fn, void *ctx);

/* ranks_join: waits until all have ended; those that have not after deadline_ms are killed, and have hung. */
void ranks_join(struct ranks *ranks, int64_t deadline_ms);

/* ranks_are_good: all ended with status 0, but for rank `killed` (-1 = nobody), which a signal ended; else why, in one
 * sentence. */
enum { RANKS_WHY_BYTES = 128 };
bool ranks_are_good(const struct ranks *ranks, int killed, char why[RANKS_WHY_BYTES]);

/* rank_bootstrap: how choir_comm_create meets the other ranks; me outlives it. */
choir_bootstrap rank_bootstrap(const struct rank *me);

/* rank_now_ms: of the monotonic clock. */
int64_t rank_now_ms(void);

#endif
