/* SPDX-License-Identifier: MIT */
#include "plan/cases.h"

const struct case_mode case_modes[CASE_MODES] = {
	{ .in_place = false },
	{ .in_place = true },
	{ .send_staged = true, .recv_staged = true },
	{ .send_staged = true, .recv_staged = true, .in_place = true },
	{ .send_staged = true },
	{ .recv_staged = true },
	{ .in_place = true, .in_place_start = true },
	{ .send_staged = true, .recv_staged = true, .odd_staged = true },
};

bool case_layout(int which, int n, int *node_of)
{
	static const int uneven[] = { 0, 0, 0, 1, 2, 2 };
	static const int mixed[] = { 1, 0, 2, 0, 1, 0, 0 };

	for (int r = 0; r < n; r++)
		switch (which) {
		case 0: /* one node */
			node_of[r] = 0;
			break;
		case 1: /* one rank a node */
			node_of[r] = r;
			break;
		case 2: /* two ranks a node */
			node_of[r] = r / 2;
			break;
		case 3: /* 3 + 1 + 2, and again */
			node_of[r] = uneven[r % 6] + r / 6 * 3;
			break;
		case 4: /* dealt out to two nodes */
			node_of[r] = r % 2;
			break;
		default: /* uneven and interleaved on three nodes */
			node_of[r] = mixed[r % 7];
			break;
		}
	return which == 0 || (which <= 1 && n > 1) || (which == 2 && n > 2) || (which == 3 && n > 3) ||
	       (which == 4 && n > 2) || (which == 5 && n > 3);
}

int case_counts(int n, uint64_t slot, uint64_t *counts)
{
	int k = 0;

	counts[k++] = 0;
	counts[k++] = 1;
	counts[k++] = (uint64_t)n > 2 ? (uint64_t)n - 1 : 2;
	counts[k++] = (uint64_t)n * 16;
	counts[k++] = (uint64_t)n * 29 + 3;
	counts[k++] = slot;
	counts[k++] = slot * 3 + 17;
	return k;
}

void case_blocks(int variant, size_t n_blocks, uint64_t slot, uint64_t *blocks)
{
	for (size_t i = 0; i < n_blocks; i++)
		switch (variant) {
		case 0:
			blocks[i] = 0;
			break;
		case 1: /* some empty */
			blocks[i] = (i * 7 + 3) % 5 * (i % 3);
			break;
		case 2: /* the last is long */
			blocks[i] = i + 1 == n_blocks ? slot * 2 + 5 : (i * 11) % 40;
			break;
		default: /* the first is long, the others as long as a message or so */
			blocks[i] = i == 0 ? slot + 1 : 60 + i % 9;
			break;
		}
}
