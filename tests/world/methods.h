/* SPDX-License-Identifier: MIT */
/* GCL's names of methods, and the algorithms that they mean. */
#ifndef TESTS_WORLD_METHODS_H
#define TESTS_WORLD_METHODS_H

enum { N_METHODS = 6 };

static const struct method {
	const char *option, *scatter, *gather; /* of a reduce_scatter, of an allgather, also their v forms */
} methods[N_METHODS] = {
	{ "method=clockwise_ring", "ring", "ring" },
	{ "method=anticlockwise_ring", "anticlockwise_ring", "anticlockwise_ring" },
	{ "method=bidirectional_ring_pair", "bidirectional_ring", "bidirectional_ring" },
	{ "method=meet_in_middle_ring", "meet_in_middle_ring", "meet_in_middle_ring" },
	{ "method=quad_directional_ring", "quad_directional_ring", "quad_directional_ring" },
	{ "method=broadcast", "pairwise", "broadcast" },
};

#endif
