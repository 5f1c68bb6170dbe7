/* SPDX-License-Identifier: MIT */
/* The algorithm that options and rules choose. */
#include "api/options.h"

#include "algo/pattern_order.h"

#include "base/plural.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum option_way way_of(const struct algorithm *algorithm)
{
	static const char *const phases[] = { "device",  "direct", "direct_oneshot", "oneshot",
		                              "twoshot", "slots",  "flags" };

	if (strncmp(algorithm->name, "hier_", 5) == 0)
		return WAY_BOTH;
	return is_one_of(algorithm->name, phases, COUNT(phases)) ? WAY_PHASES : WAY_MESSAGES;
}

/* A send has one algorithm, which goes in shared memory or in messages by where its peer is. */
static bool goes_that_way(const struct algorithm *algorithm, const struct dense_options *options)
{
	return options->way == WAY_ANY || collective_has(algorithm->collective, TRAIT_PAIR) ||
	       way_of(algorithm) == options->way;
}

static const struct algorithm *first_that_way(const struct dense_options *options, const struct algo_in *in)
{
	for (size_t i = 0; i < n_algorithms; i++)
		if (algorithms[i].collective == in->collective && goes_that_way(&algorithms[i], options) &&
		    algo_unfit(&algorithms[i], in) == NULL)
			return &algorithms[i];
	return NULL;
}

static const struct algorithm *if_fit(const struct algo_in *in, const char *name)
{
	const struct algorithm *algorithm = algo_find(in->collective, name);

	return algorithm != NULL && algo_unfit(algorithm, in) == NULL ? algorithm : NULL;
}

/* Everybody gets everything and reduces it: in slots if that is possible. */
static const struct algorithm *broadcast(const struct algo_in *in)
{
	const struct algorithm *algorithm = if_fit(in, "oneshot");

	return algorithm != NULL ? algorithm : if_fit(in, "broadcast");
}

/* syncful.maxBroadcastSize of an allreduce: up to it broadcast, beyond it none.  The last of the others keeps every
 * order. */
static const struct algorithm *by_size(const struct dense_options *options, const struct algo_in *in,
                                       const struct algorithm *chosen)
{
	static const char *const broadcasts[] = { "oneshot", "direct_oneshot", "broadcast" };
	static const char *const others[] = { "twoshot", "hier_rd", "recursive_doubling", "pairwise" };
	const struct algorithm *other = NULL;
	uint64_t total;

	if (__builtin_mul_overflow(in->bytes, (uint64_t)in->layout->n, &total))
		total = UINT64_MAX;
	if (total <= (uint64_t)options->max_broadcast)
		other = broadcast(in);
	else if (is_one_of(chosen->name, broadcasts, COUNT(broadcasts)))
		for (size_t i = 0; other == NULL && i < COUNT(others); i++)
			other = if_fit(in, others[i]);
	return other != NULL ? other : chosen;
}

/* May this ring be taken: does it go the way that the options ask for?  A call's topology comes before its comm's way,
 * and a way that the chosen algorithm cannot go does not hold. */
static bool may_take(const struct algorithm *ring, const struct dense_options *options, const struct algorithm *chosen)
{
	return goes_that_way(ring, options) || !goes_that_way(chosen, options) ||
	       (options->way_of_comm && !options->order_of_comm);
}

/* An order of rings wants a ring, which the rules need not have taken. */
static choir_status by_topology(const char *call, const struct dense_options *options, const struct algo_in *in,
                                const struct algorithm **chosen)
{
	const struct algorithm *ring = options->algorithm == NULL ? if_fit(in, "ring") : NULL;
	bool is_ring = strstr((*chosen)->name, "ring") != NULL && way_of(*chosen) == WAY_MESSAGES;
	bool fits = order_fits((enum ring_order)options->order, in->layout->n);

	if (!is_ring && ring != NULL && may_take(ring, options, *chosen)) {
		*chosen = ring;
		is_ring = true;
	}
	if (!is_ring && options->order_of_comm)
		return CHOIR_SUCCESS;
	if (!fits)
		return error_set(CHOIR_ARGUMENT, "%s: option topology: %s does not fit %d ranks", call,
		                 options_topology(options->order), in->layout->n);
	return is_ring
	           ? CHOIR_SUCCESS
	           : error_set(CHOIR_ARGUMENT, "%s: option topology is for rings, not for '%s'", call, (*chosen)->name);
}

/* The first algorithm that goes that way; a comm's way holds for the collectives of which one does. */
static choir_status by_way(const char *call, const struct dense_options *options, const struct algo_in *in,
                           const struct algorithm **chosen)
{
	const struct algorithm *named = options->algorithm != NULL ? *chosen : NULL, *found;

	if (goes_that_way(*chosen, options))
		return CHOIR_SUCCESS;
	found = named == NULL ? first_that_way(options, in) : NULL;
	if (found == NULL && !options->way_of_comm)
		return error_set(
		    CHOIR_ARGUMENT, "%s: option %s: %s on %d ranks of %d node%s cannot be done that way%s%s", call,
		    options->way_key, collective_name(in->collective), in->layout->n, in->layout->n_nodes,
		    plural(in->layout->n_nodes), named != NULL ? " by " : "", named != NULL ? named->name : "");
	if (found != NULL)
		*chosen = found;
	return CHOIR_SUCCESS;
}

choir_status options_choose(const char *call, const choir_comm *comm, const struct dense_options *options,
                            const struct algo_in *in, const struct algorithm **out_p)
{
	const struct algorithm *chosen = options->algorithm;

	if (in->layout->n == 1) { /* alone, a rank can do with nobody what any of them says */
		*out_p = rules_choose(&comm->rules, in);
		return CHOIR_SUCCESS;
	}
	if (chosen != NULL && strcmp(chosen->name, "broadcast") == 0 && in->collective == COLLECTIVE_ALLREDUCE &&
	    options->way != WAY_MESSAGES && broadcast(in) != NULL)
		chosen = broadcast(in);
	if (chosen == NULL)
		chosen = rules_choose(&comm->rules, in);
	*out_p = chosen;
	if (chosen == NULL)
		return CHOIR_SUCCESS;
	if (options->algorithm == NULL && options->max_broadcast >= 0 && in->collective == COLLECTIVE_ALLREDUCE)
		chosen = by_size(options, in, chosen);
	TRY(by_way(call, options, in, &chosen));
	if (options->order != ORDER_AUTO)
		TRY(by_topology(call, options, in, &chosen));
	*out_p = chosen;
	return CHOIR_SUCCESS;
}
