/* SPDX-License-Identifier: MIT */
/* Data that moves through the arena unchanged: each rank's SEND is a stream through its slot, of which every other rank takes a part. */
#ifndef ALGO_STREAMS_H
#define ALGO_STREAMS_H

#include "algo/algo.h"

/* A rank's stream, seen from me. */
struct stream {
	uint64_t bytes;    /* of its SEND */
	uint64_t from, to; /* my part of it */
	uint64_t recv_off; /* where that goes in RECV */
};

struct stream_view {
	struct stream (*of)(const struct algo_in *in, int rank);
	bool own_is_shared; /* others take the part that I take of my own stream, too */
	/* Where byte `at` of my stream lies in SEND; shortens *len to what lies together from there on.  NULL = the stream is SEND. */
	uint64_t (*send_at)(const struct algo_in *in, uint64_t at, uint64_t *len);
};

/* streams_build: one period a chunk, in which everybody puts a chunk and takes its parts of the chunk before.  All ranks on one node.
 * streams_unfit: does it fit the slots? */
choir_status streams_build(const struct algo_in *in, struct plan *plan, const struct stream_view *view);
const char *streams_unfit(const struct algo_in *in, const struct stream_view *view);

#endif
