/* SPDX-License-Identifier: MIT */
/* Data that moves through the arena unchanged: what a rank sends is a stream through its slot, of which every other
 * rank takes a part. */
#ifndef ALGO_STREAMS_H
#define ALGO_STREAMS_H

#include "algo/algo.h"

#define STREAM_GAP UINT64_MAX

/* A rank's stream, seen from me. */
struct stream {
	uint64_t bytes;    /* all of it */
	uint64_t from, to; /* my part of it */
	uint64_t recv_off; /* where that goes in RECV; of my own stream: where what I send to myself goes */
};

/* A stream is SEND, and all take all of it; or, with own_bytes, what goes from one rank to another, and what a rank
 * sends to itself is not in it. */
struct stream_view {
	struct stream (*of)(const struct algo_in *in, int rank);
	uint64_t (*own_bytes)(const struct algo_in *in, int rank);
	/* Where in SEND lies what I send to myself?  And byte `at` of my stream: STREAM_GAP = nowhere, nobody takes it;
	 * shortens *len to what lies together from there on. */
	uint64_t (*own_at)(const struct algo_in *in);
	uint64_t (*send_at)(const struct algo_in *in, uint64_t at, uint64_t *len);
};

/* streams_build: one period a chunk, in which everybody puts a chunk and takes its parts of the chunk before.  All
 * ranks on one node.
 * streams_unfit: does it fit the slots? */
choir_status streams_build(const struct algo_in *in, struct plan *plan, const struct stream_view *view);
const char *streams_unfit(const struct algo_in *in, const struct stream_view *view);

#endif
