/* SPDX-License-Identifier: MIT */
/* Common to the exchanges over a hypercube: members beyond the largest power of two give their data to a neighbour
 * first and get the result from it last; two partners fold in the same order. */
#ifndef ALGO_EXCHANGE_FOLD_H
#define ALGO_EXCHANGE_FOLD_H

#include "algo/exchange.h"

/* fold_extra: all steps of a member beyond the power of two. */
plan_id fold_extra(const struct exchange *x, uint32_t fold_tag, uint32_t result_tag);

/* fold_in: own and the extra's data, received into `theirs`, into out.  fold_out: the result to the extra, if there is
 * one. */
plan_id fold_in(const struct exchange *x, uint32_t tag, struct plan_ref theirs);
plan_id fold_out(const struct exchange *x, uint32_t tag, plan_id ready);

/* fold_order: the operand that comes first of two members', and which of them are raw.  Lower id first; but in the
 * first round a folded sum comes before a raw value (enum plan_raw). */
enum plan_raw fold_order(int n, bool own_raw, bool first_round, int id, int partner, bool *mine_first);

/* fold_scratch, fold_limit: of exchanges that send the range whole and receive into one copy of it. */
uint64_t fold_scratch(int members, uint64_t bytes, uint64_t unit);
uint64_t fold_limit(int members, uint64_t message_bytes);

#endif
