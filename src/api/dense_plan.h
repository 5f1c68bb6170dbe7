/* SPDX-License-Identifier: MIT */
/* The plan of a dense call. */
#ifndef API_DENSE_PLAN_H
#define API_DENSE_PLAN_H

#include "api/dense.h"

/* dense_plan_kernels_can: would kernels of the device make the call's reductions, if it has any, with the host's bits?
 * The caller holds its operator. */
bool dense_plan_kernels_can(const struct dense *d);

/* dense_plan_rank_order: the least order that gives the bits of a left fold in rank order. */
enum plan_order dense_plan_rank_order(choir_dtype dtype, choir_op op);

/* dense_plan_describe: what builders are told of the part, but for its buffers. */
void dense_plan_describe(const struct dense *d, struct algo_in *in);

/* dense_plan_foresee: both, before there are buffers; sets d->order_ranks.  of_device: they are memory of the comm's
 * device, of d->send_bytes and d->recv_bytes; else plans reach them directly. */
choir_status dense_plan_foresee(struct dense *d, const choir_call *call, bool of_device, struct algo_in *in,
                                const struct algorithm **out_p);

/* dense_plan_choose: the algorithm, its plan, and where peers find the buffers.  bound->in and the buffers are filled.
 * ARGUMENT, UNSUPPORTED. */
choir_status dense_plan_choose(const struct dense *d, const struct dense_options *options, struct bound *bound);

#endif
