/* SPDX-License-Identifier: MIT */
/* A blocking call that was made again and again, whose peer goes while the others are in it: by threads
 * (repeated_ends.c) and by processes (test_processes.c). */
#ifndef TESTS_ENDINGS_H
#define TESTS_ENDINGS_H

#include <choir/choir.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	ENDING_RANKS = 3,
	ENDING_COUNT = 515 /* beyond where shared buffers are used as they are */,
	ENDING_ROOM = ENDING_RANKS * ENDING_COUNT
};

enum ending_kind {
	ENDS_SUM,
	ENDS_SHARED_SUM,
	ENDS_BROADCAST,
	ENDS_ALLGATHERV,
	ENDS_REDUCE_SCATTERV,
	ENDS_ALLTOALLV,
	ENDS_SENDRECV,
	ENDING_KINDS
};

struct ending {
	choir_comm *comm;
	enum ending_kind kind;
	int who;           /* goes; the root of a broadcast */
	int32_t *in, *out; /* [ENDING_ROOM], out behind in */
	size_t counts[ENDING_RANKS], at[ENDING_RANKS];
	bool (*all)(struct ending *ending, bool yes); /* do all ranks say so?  A barrier beside the library */
	void *ctx;                                    /* of that */
	char wrong[1024];                             /* ending_check's */
};

/* ending_begin: comm, kind, who, all and ctx are set.  Takes memory, unless `in` is set, and makes the call until the
 * comm's inline run is bound to the prepared call on all ranks (exec/inline.c), or many times: ranks that share a core,
 * with each other or with another test, come too late for each other.  The checks hold either way.  False: a call
 * failed.  ending_free: collective where the memory is shared and the comm has not failed. */
bool ending_begin(struct ending *ending);
void ending_free(struct ending *ending);

choir_status ending_call(struct ending *ending);

/* ending_wait_inside: until all ranks but this one and the one that goes are in the next call. */
bool ending_wait_inside(struct ending *ending);

/* ending_shorten: the comm's calls, this one too, have such a deadline from now on. */
void ending_shorten(struct ending *ending, int64_t deadline_ms);

/* ending_check: for those who stay: the next call ends so, within least_ms to most_ms, with all of those words (see
 * says) and the call's own, and the comm is left as promised.  NULL, or what is wrong. */
const char *ending_check(struct ending *ending, choir_status wanted, const char *words, int64_t least_ms,
                         int64_t most_ms);

#endif
