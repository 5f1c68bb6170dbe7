/* SPDX-License-Identifier: MIT */
/* Collectives that move data through the arena without reducing it: each rank writes a stream of bytes to its slot, and
 * every other rank takes a part of it. */
#ifndef ALGO_STREAMS_H
#define ALGO_STREAMS_H

#include "algo/algo.h"

#define STREAM_GAP UINT64_MAX

/* A rank's stream and the part of it that this rank takes. */
struct stream {
	uint64_t bytes;    /* of the whole stream */
	uint64_t from, to; /* the part for this rank */
	uint64_t recv_off; /* offset of that part in RECV; in this rank's own stream: of its own part */
};

/* The view of a collective.  Without own_bytes a rank's stream is its SEND and every rank takes all of it; with
 * own_bytes it is the parts for the other ranks, without the rank's own part. */
struct stream_view {
	struct stream (*of)(const struct algo_in *in, int rank);
	uint64_t (*own_bytes)(const struct algo_in *in, int rank);
	/* own_at: the offset in SEND of this rank's own part.  send_at: the offset in SEND of byte `at` of this rank's
	 * stream, STREAM_GAP for a gap; shortens *len to the bytes that are contiguous in SEND. */
	uint64_t (*own_at)(const struct algo_in *in);
	uint64_t (*send_at)(const struct algo_in *in, uint64_t at, uint64_t *len);
};

/* streams_build: the plan of Note [streams].  All ranks on one node.  streams_unfit: NULL if the streams fit the
 * slots. */
choir_status streams_build(const struct algo_in *in, struct plan *plan, const struct stream_view *view);
const char *streams_unfit(const struct algo_in *in, const struct stream_view *view);

#endif
