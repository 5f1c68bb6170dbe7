/* SPDX-License-Identifier: MIT */
/* Common parts of the exchanges over a hypercube.  Members beyond the largest power of two, the extras, send their data
 * to a neighbour first and receive the result from it last.  Partners fold in the same order. */
#ifndef ALGO_EXCHANGE_FOLD_H
#define ALGO_EXCHANGE_FOLD_H

#include "algo/exchange.h"

/* fold_extra: all steps of an extra. */
plan_id fold_extra(const struct exchange *x, uint32_t fold_tag, uint32_t result_tag);

/* fold_in: receives the extra's data into `theirs` and reduces it with own into out.  fold_out: sends the result to
 * this member's extra, if it has one. */
plan_id fold_in(const struct exchange *x, uint32_t tag, struct plan_ref theirs);
plan_id fold_out(const struct exchange *x, uint32_t tag, plan_id ready);

/* fold_order: the order of two partners' operands and which of them are raw.  The lower id is first; but in the first
 * round a folded sum is before a raw value (enum plan_raw). */
enum plan_raw fold_order(int n, bool own_raw, bool first_round, int id, int partner, bool *mine_first);

/* fold_scratch, fold_limit: for exchanges that send the whole range and receive into one copy of it. */
uint64_t fold_scratch(int members, uint64_t bytes, uint64_t unit);
uint64_t fold_limit(int members, uint64_t message_bytes);

#endif
