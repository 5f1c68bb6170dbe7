/* SPDX-License-Identifier: MIT */
/* What every algorithm is tried on. */
#ifndef TESTS_PLAN_CASES_H
#define TESTS_PLAN_CASES_H

#include "plan/checker.h"

#define CASE_MAX_RANKS 32
#define CASE_LAYOUTS   6

/* case_layout: fills node_of for layout number `which`; false if n ranks cannot be laid out so (or it was tried
 * before). */
bool case_layout(int which, int n, int *node_of);

/* case_counts: element counts for n ranks where `slot` elements fit a slot; returns how many (at most 12). */
#define CASE_MAX_COUNTS 12
int case_counts(int n, uint64_t slot, uint64_t *counts);

/* case_blocks: block lengths in elements for allgatherv (n) and alltoallv (n * n), variant 0 .. CASE_BLOCKS - 1: all
 * zero, small with zeros, one much longer than a slot. */
#define CASE_BLOCKS 4
void case_blocks(int variant, size_t n_blocks, uint64_t slot, uint64_t *blocks);

/* Buffers: direct, staged, mixed, in place; staged on the odd ranks only. */
struct case_mode {
	bool send_staged, recv_staged, in_place, in_place_start, odd_staged;
};
#define CASE_MODES 8
extern const struct case_mode case_modes[CASE_MODES];

#endif
