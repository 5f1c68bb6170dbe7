/* SPDX-License-Identifier: MIT */
/* The lanes of a ring method: each sends its part of every block so many hops round a ring of its own.
 *
 * clockwise, anticlockwise  one lane, n - 1 hops
 * pair                      two opposite lanes, n - 1 hops, half of each block
 * meet in the middle        two opposite lanes, n/2 and (n-1)/2 hops, whole blocks: they meet at a block's owner
 * quad directional          a pair on the ring and a pair on the mirrored ring, a quarter of each block each
 *
 * Two ranks of a node have one ring: more of them would be more messages, and shorter ones. */
#ifndef ALGO_RING_LANES_H
#define ALGO_RING_LANES_H

#include "algo/group.h"
#include "algo/pattern_block.h"

enum ring_method { RING_CLOCKWISE, RING_ANTICLOCKWISE, RING_PAIR, RING_MEET, RING_QUAD };
/* Parts, but for the last one, are of that many units at least: a message costs as much as the copy of 512 bytes. */
enum { MOST_LANES = 4, PART_UNITS = 8 };

struct ring_lane {
	struct group group;
	int part, parts; /* of each block */
	int hops;        /* > 0 */
};

static inline int ring_lanes_of(enum ring_method method, const struct algo_in *in, struct ring_lane *lanes)
{
	struct group up = group_ring(in), down = group_reversed(up), up_2 = group_mirrored(up),
		     down_2 = group_reversed(up_2);
	int n = up.n;

	if (ring_is_one_link(in))
		method = RING_CLOCKWISE;
	switch (method) {
	case RING_ANTICLOCKWISE:
		lanes[0] = (struct ring_lane){ down, 0, 1, n - 1 };
		return 1;
	case RING_PAIR:
		lanes[0] = (struct ring_lane){ up, 0, 2, n - 1 };
		lanes[1] = (struct ring_lane){ down, 1, 2, n - 1 };
		return 2;
	case RING_MEET:
		lanes[0] = (struct ring_lane){ up, 0, 1, n / 2 };
		lanes[1] = (struct ring_lane){ down, 0, 1, (n - 1) / 2 };
		return n > 2 ? 2 : 1;
	case RING_QUAD:
		lanes[0] = (struct ring_lane){ up, 0, 4, n - 1 };
		lanes[1] = (struct ring_lane){ down, 1, 4, n - 1 };
		lanes[2] = (struct ring_lane){ up_2, 2, 4, n - 1 };
		lanes[3] = (struct ring_lane){ down_2, 3, 4, n - 1 };
		return 4;
	default:
		lanes[0] = (struct ring_lane){ up, 0, 1, n - 1 };
		return 1;
	}
}

/* Of a block of so many bytes: where the lane's part begins, and its length.  Part 0 is the longest. */
static inline uint64_t lane_off(const struct ring_lane *lane, uint64_t bytes, uint64_t unit)
{
	return block_off(bytes, lane->parts, PART_UNITS * unit, lane->part);
}

static inline uint64_t lane_len(const struct ring_lane *lane, uint64_t bytes, uint64_t unit)
{
	return block_len(bytes, lane->parts, PART_UNITS * unit, lane->part);
}

#endif
