/* SPDX-License-Identifier: MIT */
/* Values as they travel, which may be narrower than those that are accumulated.  Host. */
#ifndef TOPK_WIRE_H
#define TOPK_WIRE_H

#include "topk/list.h"

/* wire_is_narrow: do values lose anything on the way? */
bool wire_is_narrow(const struct topk_types *types);

/* wire_write: n values of work to types->wire; numbers beyond its largest become that one.  wire_read: back. */
void wire_write(const struct topk_types *types, void *to, const void *values, uint64_t n);
void wire_read(const struct topk_types *types, void *values, const void *from, uint64_t n);

/* wire_write_block: a list as a block (sparse/block.h) with such values. */
void wire_write_block(const struct topk_types *types, void *to, const struct pairs *list);

/* wire_round: the values at positions [from, end) of a list become what arrives of them.  *lost (taken here): the
 * indices of those that changed, and by how much they were more. */
choir_status wire_round(const struct topk_types *types, struct topk_list *list, uint64_t from, uint64_t end,
                        struct topk_list *lost);

#endif
