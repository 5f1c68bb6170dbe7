/* SPDX-License-Identifier: MIT */
/* Data that moves through the arena unchanged: a rank sends a stream through its slot, and every other rank takes a
 * part of it. */
#ifndef ALGO_STREAMS_H
#define ALGO_STREAMS_H

#include "algo/algo.h"

#define STREAM_GAP UINT64_MAX

/* A rank's stream, seen from me. */
struct stream {
	uint64_t bytes;    /* all of it */
	uint64_t from, to; /* my part of it */
	uint64_t recv_off; /* of my part in RECV; of my own stream: of my own part */
};

/* A stream is SEND, and all ranks take all of it; or, with own_bytes, the parts for each other rank, without the rank's
 * own part. */
struct stream_view {
	struct stream (*of)(const struct algo_in *in, int rank);
	uint64_t (*own_bytes)(const struct algo_in *in, int rank);
	/* Where in SEND lies what I send to myself?  And byte `at` of my stream: STREAM_GAP = nowhere, nobody takes it;
	 * shortens *len to what lies together from there on. */
	uint64_t (*own_at)(const struct algo_in *in);
	uint64_t (*send_at)(const struct algo_in *in, uint64_t at, uint64_t *len);
};

/* streams_build: one period a chunk: each rank puts a chunk and takes its parts of the chunk before.  All ranks on one
 * node.
 * streams_unfit: NULL if the streams fit the slots. */
choir_status streams_build(const struct algo_in *in, struct plan *plan, const struct stream_view *view);
const char *streams_unfit(const struct algo_in *in, const struct stream_view *view);

#endif
