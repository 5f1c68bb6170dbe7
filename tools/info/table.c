/* SPDX-License-Identifier: MIT */
/* The table in force: every collective is asked at powers of two, and between two that differ the border is
 * searched. */
#include "info.h"

#include <choir/plan.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_BIT = 30, NAME_BYTES = 48 };

/* The algorithm that is taken for that many bytes; false with choir_last_error. */
static bool chosen(choir_plan_options *options, size_t bytes, char name[NAME_BYTES])
{
	char *text = NULL;
	json_t *list, *row;
	size_t i;

	options->bytes = bytes;
	name[0] = '\0';
	if (choir_plan_algorithms(options, &text) != CHOIR_SUCCESS)
		return false;
	list = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(list, i, row) if (json_is_true(json_object_get(row, "chosen")))
	    snprintf(name, NAME_BYTES, "%s", json_string_value(json_object_get(row, "name")));
	json_decref(list);
	return true;
}

/* The first size above low whose algorithm is not `name`; high's is not. */
static size_t border(choir_plan_options *options, size_t low, size_t high, const char *name)
{
	char other[NAME_BYTES];

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (chosen(options, middle, other) && strcmp(other, name) == 0)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static void add_range(json_t *ranges, size_t from, size_t to, const char *name)
{
	json_t *range = json_pack("{s:I, s:s}", "from", (json_int_t)from, "algorithm", name);

	if (to > 0)
		json_object_set_new(range, "to", json_integer((json_int_t)to));
	json_array_append_new(ranges, range);
}

static json_t *ranges_of(choir_plan_options *options)
{
	char name[NAME_BYTES], next[NAME_BYTES];
	json_t *ranges = json_array();
	size_t from = 1;

	if (!chosen(options, 1, name)) {
		json_decref(ranges);
		return json_pack("{s:s}", "error", choir_last_error());
	}
	for (int bit = 1; bit <= LARGEST_BIT; bit++) {
		size_t low = (size_t)1 << (bit - 1), high = (size_t)1 << bit;

		/* Several borders between two powers of two are found one after another. */
		while (chosen(options, high, next) && strcmp(next, name) != 0) {
			size_t at = border(options, low, high, name);

			add_range(ranges, from, at, name);
			from = low = at;
			chosen(options, at, name);
		}
	}
	add_range(ranges, from, 0, name);
	return ranges;
}

static void add_collective(json_t *all, choir_plan_options *options, bool one_node)
{
	json_t *plain, *shared;

	options->shared = 0;
	plain = ranges_of(options);
	options->shared = 1;
	shared = one_node ? ranges_of(options) : json_incref(plain);
	json_array_append_new(
	    all, json_pack("{s:s, s:b, s:O}", "collective", options->collective, "shared", 0, "ranges", plain));
	if (!json_equal(plain, shared))
		json_array_append_new(all, json_pack("{s:s, s:b, s:O}", "collective", options->collective, "shared", 1,
		                                     "ranges", shared));
	json_decref(plain);
	json_decref(shared);
}

/* What learns its sizes on the way has no plan beforehand, and no row. */
static bool has_plans(const char *collective)
{
	return strncmp(collective, "sparse_", strlen("sparse_")) != 0;
}

json_t *info_table(const json_t *algorithms, int ranks, int ranks_per_node)
{
	choir_plan_options options = CHOIR_PLAN_OPTIONS_INIT;
	json_t *all = json_array(), *row;
	const char *last = "";
	size_t i;

	options.ranks = ranks;
	options.ranks_per_node = ranks_per_node;
	options.rules = getenv("CHOIR_RULES");
	json_array_foreach(algorithms, i, row)
	{
		options.collective = json_string_value(json_object_get(row, "collective"));
		if (options.collective == NULL || strcmp(options.collective, last) == 0 ||
		    !has_plans(options.collective))
			continue;
		last = options.collective;
		add_collective(all, &options, ranks_per_node == 0 || ranks_per_node >= ranks);
	}
	return json_pack("{s:i, s:i, s:o}", "ranks", ranks, "ranks_per_node", ranks_per_node, "collectives", all);
}
