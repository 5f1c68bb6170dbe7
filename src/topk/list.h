/* SPDX-License-Identifier: MIT */
/* Lists of pairs of one element each, ascending and distinct, in memory of the pool.  All lists of a state have the
 * same index form.  Host. */
#ifndef TOPK_LIST_H
#define TOPK_LIST_H

#include "sparse/coalesce.h"
#include "sparse/select.h"

struct topk_list {
	struct pool_block ind, val;
	uint64_t count;
};

/* The types of a state's values and indices. */
struct topk_types {
	uint64_t n;          /* elements of the tensor */
	choir_dtype work;    /* CHOIR_F32 or CHOIR_F64 */
	uint32_t elem_bytes; /* of work */
	choir_dtype wire;    /* of values that travel in sparse calls: work, or narrower */
	uint32_t wire_bytes;
	struct index_form form;
};

/* topk_types_of: whose values travel as they are accumulated. */
struct topk_types topk_types_of(uint64_t n, choir_dtype dtype);

/* list_take: room for so many pairs; count = 0.  list_free: legal on a zeroed one. */
choir_status list_take(struct topk_list *list, const struct topk_types *types, uint64_t room);
void list_free(struct topk_list *list);

struct pairs list_pairs(const struct topk_list *list, const struct topk_types *types);

/* list_part: positions [from, end). */
struct pairs list_part(const struct topk_list *list, const struct topk_types *types, uint64_t from, uint64_t end);

/* list_find: the position of the first index >= index. */
uint64_t list_find(const struct topk_list *list, const struct topk_types *types, uint64_t index);

/* list_select: of elements [from, from + n) of a tensor in work: select_top or by a limit; indices are the tensor's.
 * list_append_top: the k largest of a span, behind what the list has; it has room. */
choir_status list_select_top(struct topk_list *list, const struct topk_types *types, const void *tensor, uint64_t k,
                             struct select_limit *limit_p);
choir_status list_select_limit(struct topk_list *list, const struct topk_types *types, const void *tensor,
                               struct select_limit limit);
choir_status list_append_top(struct topk_list *list, const struct topk_types *types, const void *tensor, uint64_t from,
                             uint64_t n, uint64_t k);

/* list_filter: the `count` entries of a list that a limit selects.  list_append_largest: the k largest of some pairs,
 * behind what the list has; it has room. */
choir_status list_filter(struct topk_list *list, const struct topk_types *types, const struct topk_list *from,
                         struct select_limit limit, uint64_t count);
void list_append_largest(struct topk_list *list, const struct topk_types *types, struct pairs from, uint64_t k);

/* list_merge: the sum of n ascending lists, in their order.  list_merge_call: the same as a coalescing, of sources [n]
 * for those that are not empty. */
choir_status list_merge(struct topk_list *out, const struct topk_types *types, const struct pairs *lists, uint32_t n);

void list_merge_call(struct coalesce_call *call, struct coalesce_source *sources, const struct topk_types *types,
                     const struct pairs *lists, uint32_t n);

/* list_keep: only what the limit selects stays. */
void list_keep(struct topk_list *list, const struct topk_types *types, struct select_limit limit);

/* list_split: the pairs that the limit selects stay, the others go to `rest` (taken here). */
choir_status list_split(struct topk_list *list, const struct topk_types *types, struct select_limit limit,
                        struct topk_list *rest);

/* list_top: the limit of the k largest of a list; all of it where k >= its count. */
choir_status list_top(const struct topk_list *list, const struct topk_types *types, uint64_t k,
                      struct select_limit *limit_p);

/* list_intersect: those of mine whose index is in the other one. */
choir_status list_intersect(struct topk_list *out, const struct topk_types *types, const struct topk_list *mine,
                            const struct topk_list *other);

#endif
