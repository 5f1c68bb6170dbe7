/* SPDX-License-Identifier: MIT */
/* The buffers of a dense call: how they overlap, how they are reached, where peers find them. */
#ifndef API_DENSE_BUFFERS_H
#define API_DENSE_BUFFERS_H

#include "api/dense.h"

/* dense_buffers_stage: result=atomic: checks the part's buffers, and replaces d->recv by memory of the library's, from
 * which prepared->commit writes the result to it. */
choir_status dense_buffers_stage(struct dense *d, struct prepared *prepared);

/* dense_buffers_bind: checks the part's buffers and fills what bound says of them; notes in `prepared` what may change.
 * bound->in is described.  ARGUMENT. */
choir_status dense_buffers_bind(const struct dense *d, struct bound *bound, struct prepared *prepared);

/* dense_buffers_lack_shadows: of class stage: is a short buffer beside a long one copied as that is?  A CPU's cores
 * copy the chunks of the long one, and a shadow would be one copy more. */
bool dense_buffers_lack_shadows(const choir_device *device, bool send_is_short, bool recv_is_short);

/* dense_buffers_reduce_alone: is the rank alone, with a device of far memory, that does the call's reductions if both
 * buffers are cl_mems there and no short ones? */
bool dense_buffers_reduce_alone(const struct dense *d);

/* dense_buffers_part_lists: lists are not gathered after all: a plan on the device copies from and to the segments. */
void dense_buffers_part_lists(const struct dense *d, struct bound *bound);

/* dense_inner_off: in place: the byte of the longer buffer where the shorter one begins. */
uint64_t dense_inner_off(const struct dense *d);

/* dense_buffers_find_addresses: the symmetric addresses, for plans whose peers read SEND or write RECV. */
void dense_buffers_find_addresses(const struct dense *d, struct bound *bound);

#endif
