/* SPDX-License-Identifier: MIT */
#include "api/options.h"

#include "algo/pattern_order.h"
#include "base/ascii.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { LEAST_CHUNK = 4096, MOST_PER_TILE = 64000 };

/* A value of an option, and what it means.  deprecated: it warns, and that is the spelling to take. */
struct choice {
	const char *value;
	int meaning;
	const char *deprecated;
};

static const struct choice ways[] = {
	{ "auto", WAY_ANY, NULL },
	{ "Syncful", WAY_PHASES, NULL },
	{ "Syncless", WAY_MESSAGES, NULL },
	{ "Hybrid", WAY_BOTH, NULL },
	{ "hybrid", WAY_BOTH, "collectiveImplementation=Hybrid" },
};
static const struct choice old_ways[] = {
	{ "auto", WAY_ANY, "collectiveImplementation=Auto" },
	{ "true", WAY_MESSAGES, "collectiveImplementation=Syncless" },
	{ "false", WAY_PHASES, "collectiveImplementation=Syncful" },
	{ "hybrid", WAY_BOTH, "collectiveImplementation=Hybrid" },
	{ "Syncless", WAY_MESSAGES, "collectiveImplementation=Syncless" },
	{ "Syncful", WAY_PHASES, "collectiveImplementation=Syncful" },
};
static const struct choice links[] = {
	{ "auto-link", WAY_ANY, NULL }, { "ipu-link", WAY_PHASES, NULL }, { "gw-link", WAY_MESSAGES, NULL },
	{ "auto", WAY_ANY, NULL },      { "node", WAY_PHASES, NULL },     { "network", WAY_MESSAGES, NULL },
};
static const struct choice orders[] = {
	{ "auto", ORDER_AUTO, NULL },
	{ "ring-on-line", ORDER_LINE, NULL },
	{ "peripheral-ring", ORDER_PERIPHERY, NULL },
	{ "rung-ring-2", ORDER_RUNG_2, NULL },
	{ "rung-ring-4", ORDER_RUNG_4, NULL },
	{ "rung-ring-8", ORDER_RUNG_8, NULL },
};
static const struct choice folds[] = { { "ranks", 1, NULL }, { "any", 0, NULL } };
static const struct choice results[] = { { "auto", 0, NULL }, { "atomic", 1, NULL } };
static const struct choice booleans[] = { { "true", 1, NULL }, { "false", 0, NULL } };

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The call's value, else the comm's; *found = false: neither has the key. */
static choir_status find(const char *call, const char *const texts[2], const char *key, char *value, bool *found,
                         bool *of_comm)
{
	*found = *of_comm = false;
	for (int i = 0; i < 2 && !*found; i++) {
		TRY(options_find(call, texts[i], key, value, found));
		*of_comm = *found && i == 1;
	}
	return CHOIR_SUCCESS;
}

/* *meaning is unchanged if the key is not there. */
static choir_status read_choice(const char *call, const char *const texts[2], const char *key,
                                const struct choice *choices, size_t n, int *meaning, const char **said)
{
	char value[OPTIONS_VALUE_BYTES], wanted[256] = "";
	bool found, of_comm;
	size_t i = 0, at = 0;

	TRY(find(call, texts, key, value, &found, &of_comm));
	if (!found)
		return CHOIR_SUCCESS;
	while (i < n && strcmp(choices[i].value, value) != 0)
		i++;
	for (size_t j = 0; i == n && j < n; j++)
		if (ascii_equal(choices[j].value, value))
			i = j;
	for (size_t j = 0; i == n && j < n; j++)
		if (choices[j].deprecated == NULL || choices == old_ways)
			at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s", j > 0 ? ", " : "",
			                       choices[j].value);
	if (i == n)
		return error_set(CHOIR_ARGUMENT, "%s: option %s is '%s'; it may be %s", call, key, value, wanted);
	if (choices[i].deprecated != NULL)
		log_text(LOG_WARNING, "%s: option %s=%s is deprecated: write %s", call, key, value,
		         choices[i].deprecated);
	*meaning = choices[i].meaning;
	if (said != NULL)
		*said = key;
	return CHOIR_SUCCESS;
}

static choir_status read_number(const char *call, const char *const texts[2], const char *key, int64_t low,
                                int64_t high, int64_t *out)
{
	char value[OPTIONS_VALUE_BYTES], *end;
	bool found, of_comm;
	long long number;

	TRY(find(call, texts, key, value, &found, &of_comm));
	if (!found)
		return CHOIR_SUCCESS;
	errno = 0;
	number = strtoll(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 || number < low || number > high)
		return error_set(CHOIR_ARGUMENT, "%s: option %s is '%s'; it is a number from %lld to %lld", call, key,
		                 value, (long long)low, (long long)high);
	*out = number;
	return CHOIR_SUCCESS;
}

/* A comm's method holds for the collectives that have it. */
static choir_status read_algorithm(const char *call, const char *text, const char *key, bool of_comm,
                                   enum collective collective, bool *found, const struct algorithm **out_p)
{
	const struct algorithm *algorithm;
	char name[OPTIONS_VALUE_BYTES];

	TRY(options_find(call, text, key, name, found));
	if (!*found || strcmp(name, "auto") == 0)
		return CHOIR_SUCCESS;
	algorithm = algo_find(collective, name);
	if (algorithm == NULL && !of_comm)
		return error_set(CHOIR_ARGUMENT, "%s: there is no algorithm '%s' for %s", call, name,
		                 collective_name(collective));
	if (algorithm != NULL)
		*out_p = algorithm;
	return CHOIR_SUCCESS;
}

/* Two keys: either of the call comes before both of the comm. */
static choir_status read_method(const char *call, const char *const texts[2], enum collective collective,
                                const struct algorithm **out_p)
{
	bool algorithm = false, method = false;

	for (int i = 0; i < 2 && !algorithm && !method; i++) {
		TRY(read_algorithm(call, texts[i], "algorithm", i == 1, collective, &algorithm, out_p));
		TRY(read_algorithm(call, texts[i], "method", i == 1, collective, &method, out_p));
	}
	return CHOIR_SUCCESS;
}

/* Two keys, as of the method. */
static choir_status read_chunk(const char *call, const char *const texts[2], int64_t *chunk)
{
	for (int i = 0; i < 2 && *chunk == 0; i++) {
		const char *const text[2] = { texts[i], NULL };

		TRY(read_number(call, text, "chunk_bytes", LEAST_CHUNK, INT64_MAX, chunk));
		TRY(read_number(call, text, "maxBytesPerTile", LEAST_CHUNK, MOST_PER_TILE, chunk));
	}
	return CHOIR_SUCCESS;
}

/* A comm's result=atomic holds for the collectives that can be in place. */
static choir_status read_result(const char *call, const char *const texts[2], enum collective collective,
                                bool *atomic_p)
{
	bool found, of_comm, can_be = !collective_has(collective, TRAIT_NEVER_IN_PLACE);
	char value[OPTIONS_VALUE_BYTES];
	int atomic = 0;

	TRY(read_choice(call, texts, "result", results, COUNT(results), &atomic, NULL));
	TRY(find(call, texts, "result", value, &found, &of_comm));
	if (atomic && !can_be && !of_comm)
		return error_set(CHOIR_ARGUMENT, "%s: option result=atomic is for collectives that can be in place",
		                 call);
	*atomic_p = atomic && can_be;
	return CHOIR_SUCCESS;
}

/* Three keys: those of the call come before those of the comm, and of one text the last that is not auto. */
static choir_status read_way(const char *call, const char *const texts[2], struct dense_options *o)
{
	static const struct {
		const char *key;
		const struct choice *choices;
		size_t n;
	} keys[] = { { "useSynclessCollectives", old_ways, COUNT(old_ways) },
		     { "collectiveImplementation", ways, COUNT(ways) },
		     { "link", links, COUNT(links) } };

	for (int i = 0; i < 2 && o->way_key == NULL; i++) {
		const char *const text[2] = { texts[i], NULL };

		for (size_t k = 0; k < COUNT(keys); k++) {
			const char *said = NULL;
			int way = WAY_ANY;

			TRY(read_choice(call, text, keys[k].key, keys[k].choices, keys[k].n, &way, &said));
			if (said == NULL || (o->way_key != NULL && way == WAY_ANY))
				continue;
			o->way_key = said;
			o->way = (enum option_way)way;
			o->way_of_comm = i == 1;
		}
	}
	return CHOIR_SUCCESS;
}

static choir_status read_topology(const char *call, const char *const texts[2], struct dense_options *o)
{
	char value[OPTIONS_VALUE_BYTES];
	int order = ORDER_AUTO;
	bool found;

	TRY(read_choice(call, texts, "topology", orders, COUNT(orders), &order, NULL));
	o->order = (uint8_t)order;
	return find(call, texts, "topology", value, &found, &o->order_of_comm);
}

static choir_status read_all(const char *call, const char *const texts[2], enum collective collective,
                             struct dense_options *o)
{
	int64_t chunk = 0, bucket = 0;
	int optimised = 1, order_ranks = 0; /* which options_order reads of calls that reduce */

	TRY(read_choice(call, texts, "order", folds, COUNT(folds), &order_ranks, NULL));
	TRY(read_method(call, texts, collective, &o->algorithm));
	TRY(read_way(call, texts, o));
	TRY(read_topology(call, texts, o));
	TRY(read_choice(call, texts, "syncful.useOptimisedLayout", booleans, COUNT(booleans), &optimised, NULL));
	TRY(read_result(call, texts, collective, &o->atomic));
	TRY(read_chunk(call, texts, &chunk));
	TRY(read_number(call, texts, "bucket_bytes", 1, INT64_MAX, &bucket));
	TRY(read_number(call, texts, "syncful.maxBroadcastSize", 0, INT64_MAX, &o->max_broadcast));
	o->staged = !optimised;
	o->bucket_bytes = (uint64_t)bucket;
	o->chunk_bytes = (uint64_t)chunk / 64 * 64;
	return CHOIR_SUCCESS;
}

choir_status options_read(const char *call, const choir_comm *comm, const choir_call *given, enum collective collective,
                          struct dense_options *out)
{
	const char *const texts[2] = { given->options, comm->options };
	struct dense_options options = { .max_broadcast = -1 };

	*out = options;
	if (texts[0] == NULL && texts[1] == NULL)
		return CHOIR_SUCCESS;
	TRY(read_all(call, texts, collective, &options));
	if (options.order_of_comm && comm->options_taken && !order_fits((enum ring_order)options.order, comm->n))
		options.order = ORDER_AUTO; /* nobody asked it of so many ranks */
	*out = options;
	return CHOIR_SUCCESS;
}

choir_status options_order(const char *call, const choir_comm *comm, const choir_call *given, bool *ranks_p)
{
	const char *const texts[2] = { given->options, NULL };
	int ranks = comm->order_ranks;

	TRY(read_choice(call, texts, "order", folds, COUNT(folds), &ranks, NULL));
	*ranks_p = ranks != 0;
	return CHOIR_SUCCESS;
}

choir_status options_of_comm(const char *call, const char *text, int *order_ranks)
{
	const char *const texts[2] = { NULL, text };
	struct dense_options options = { .max_broadcast = -1 };
	char name[OPTIONS_VALUE_BYTES];
	bool found = false;

	TRY(read_all(call, texts, COLLECTIVE_ALLREDUCE, &options));
	TRY(read_choice(call, texts, "order", folds, COUNT(folds), order_ranks, NULL));
	for (int i = 0; i < 2; i++) {
		bool known = false;

		TRY(options_find(call, text, i == 0 ? "algorithm" : "method", name, &found));
		if (!found || strcmp(name, "auto") == 0)
			continue;
		for (int c = 0; c < N_COLLECTIVES; c++)
			known |= algo_find((enum collective)c, name) != NULL;
		if (!known)
			return error_set(CHOIR_ARGUMENT, "%s: config: no collective has an algorithm '%s'", call, name);
	}
	return CHOIR_SUCCESS;
}

void options_apply(const struct dense_options *options, struct algo_in *in)
{
	in->order = options->order;
	in->chunk_bytes = options->chunk_bytes;
	if (in->chunk_bytes > 0 && in->chunk_bytes < in->message_bytes)
		in->message_bytes = in->chunk_bytes;
	in->staged = options->staged;
	if (options->staged)
		in->send_direct = in->recv_direct = in->owns_copied = in->owns_reduced = in->shared = false;
}

uint64_t options_hash(uint64_t hash, const struct algo_in *in)
{
	const uint64_t said[] = { hash, in->order, in->chunk_bytes, in->staged };

	return in->order == 0 && in->chunk_bytes == 0 && !in->staged ? hash : XXH64(said, sizeof said, 0);
}

const char *options_topology(uint8_t order)
{
	return orders[order].value;
}

uint64_t options_said(const struct dense_options *options)
{
	const uint64_t said[] = { options->way, options->order, options->chunk_bytes, options->staged };

	return XXH64(said, sizeof said, 0);
}
