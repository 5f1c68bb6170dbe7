/* SPDX-License-Identifier: MIT */
/* The plan cache: plans hold no pointers, so a call of the same shape gets the same plan again. */
#ifndef EXEC_PLAN_CACHE_H
#define EXEC_PLAN_CACHE_H

#include "algo/algo.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PLAN_CACHE_ENTRIES = 64 };

/* All that a plan's shape depends on for a fixed comm and its scripts, but for the lists of a v-collective.  Zeroed
 * before it is filled: compared by memcmp. */
struct plan_key {
	const struct algorithm *algorithm;
	uint64_t elem_bytes, bytes, in_place_off, slot_bytes, device_bytes;
	uint64_t lists_hash, chunk_bytes, message_bytes, command_bytes, core_cache_bytes;
	int32_t root;
	uint8_t in_place, lists, send_direct, recv_direct, owns_copied, owns_reduced, final_op, shared, nt, scaled,
	    order;
};

enum { PLAN_LISTS = 6 };

struct cached_plan {
	_Atomic int refs;
	struct plan_key key;
	uint64_t *lists;                  /* the v-collective's, one after another; NULL = none */
	const uint64_t *each[PLAN_LISTS]; /* where each of them begins; NULL = it is not there */
	struct plan plan;
};

struct plan_cache {
	pthread_mutex_t lock;
	/* direct mapped: a newer plan of the same hash slot replaces the older */
	struct cached_plan *entries[PLAN_CACHE_ENTRIES];
};

choir_status plan_cache_init(struct plan_cache *cache);
void plan_cache_fini(struct plan_cache *cache);

/* plan_cache_get: the algorithm's plan for the call that `in` describes, built if it is not there.  v-collectives with
 * very long lists are not kept; cache NULL: no plan is.  One reference. */
choir_status plan_cache_get(struct plan_cache *cache, const struct algorithm *algorithm, const struct algo_in *in,
                            struct cached_plan **out_p);

/* cached_plan_lists: points the lists of `in` to the plan's own copies, which live as long as the plan. */
void cached_plan_lists(const struct cached_plan *plan, struct algo_in *in);
void cached_plan_release(struct cached_plan *plan); /* NULL is silent */

/* cached_plan_wrap: a plan built by hand, moved in; one reference. */
choir_status cached_plan_wrap(struct plan *plan, struct cached_plan **out_p);

#endif
