/* SPDX-License-Identifier: MIT */
#include "info.h"

#include "lib/number.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "?";
}

/* Of an object of yes and no the names of what is there, of one of numbers those too; of a list its members. */
static void print_value(const json_t *value)
{
	const char *key, *separator = "";
	size_t i;
	json_t *member;
	char *text;

	json_object_foreach((json_t *)value, key, member)
	{
		if (json_is_false(member))
			continue;
		printf("%s%s", separator, key);
		if (json_is_number(member))
			printf(" %.3g", json_number_value(member));
		separator = ", ";
	}
	json_array_foreach(value, i, member)
	{
		fputs(i > 0 ? ", " : "", stdout);
		print_value(member);
	}
	if (json_is_object(value) || json_is_array(value))
		return;
	if (json_is_string(value)) {
		fputs(json_string_value(value), stdout);
		return;
	}
	if (json_is_null(value)) {
		fputs("not measured", stdout);
		return;
	}
	if (json_is_boolean(value)) {
		fputs(json_is_true(value) ? "yes" : "no", stdout);
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(FLT_DIG));
	fputs(text != NULL ? text : "?", stdout);
	free(text);
}

/* Is printed by a function of its own. */
static bool is_apart(const char *key)
{
	return strcmp(key, "name") == 0 || strcmp(key, "algorithms") == 0 || strcmp(key, "environment") == 0 ||
	       strcmp(key, "sparse_costs") == 0;
}

/* The library's own objects: "key value" a line, whatever it chose to tell. */
static void print_object(const json_t *object, int indent)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		if (is_apart(key))
			continue;
		printf("%*s%-20s ", indent, "", key);
		print_value(value);
		fputc('\n', stdout);
	}
}

static void print_platforms(const json_t *platforms)
{
	size_t p, d;
	json_t *platform, *device;

	if (json_array_size(platforms) == 0)
		printf("OpenCL: no platform\n");
	json_array_foreach(platforms, p, platform)
	{
		printf("platform %zu: %s, %s\n", p, text_in(platform, "name"), text_in(platform, "version"));
		json_array_foreach(json_object_get(platform, "devices"), d, device)
		{
			printf("  device %s: %s\n", text_in(device, "place"), text_in(device, "name"));
			print_object(json_object_get(device, "probe"), 4);
		}
	}
}

static void print_algorithms(const json_t *algorithms)
{
	const char *last = "";
	size_t i;
	json_t *algorithm;

	json_array_foreach(algorithms, i, algorithm)
	{
		const char *collective = text_in(algorithm, "collective");

		printf("  %-20s %-20s %s\n", strcmp(collective, last) == 0 ? "" : collective,
		       text_in(algorithm, "name"), text_in(algorithm, "about"));
		last = collective;
	}
}

static void print_ranges(const json_t *row)
{
	const json_t *ranges = json_object_get(row, "ranges");
	size_t i;
	json_t *range;

	printf("  %-20s %-8s", text_in(row, "collective"),
	       json_is_true(json_object_get(row, "shared")) ? "shared" : "plain");
	if (!json_is_array(ranges))
		printf(" %s", text_in(ranges, "error"));
	json_array_foreach(ranges, i, range)
	{
		printf("%s %" JSON_INTEGER_FORMAT "-", i > 0 ? ";" : "",
		       json_integer_value(json_object_get(range, "from")));
		if (json_object_get(range, "to") != NULL)
			printf("%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(range, "to")));
		printf(" %s", text_in(range, "algorithm"));
	}
	fputc('\n', stdout);
}

/* shared: what runs where the ranks reach each other's buffers, if that is something else. */
static void print_table(const json_t *table)
{
	json_int_t ranks = json_integer_value(json_object_get(table, "ranks"));
	size_t i;
	json_t *row;

	printf("which runs when, in bytes, for %" JSON_INTEGER_FORMAT " rank%s", ranks, number_plural(ranks));
	if (json_integer_value(json_object_get(table, "ranks_per_node")) > 0)
		printf(", %" JSON_INTEGER_FORMAT " a node",
		       json_integer_value(json_object_get(table, "ranks_per_node")));
	printf(":\n");
	json_array_foreach(json_object_get(table, "collectives"), i, row) print_ranges(row);
}

static void print_costs(const json_t *costs)
{
	const char *link, *term;
	json_t *row, *ns;

	if (json_object_size(costs) > 0)
		printf("what the parts of a sparse exchange cost, in ns:\n");
	json_object_foreach((json_t *)costs, link, row)
	{
		printf("  %-20s", link);
		json_object_foreach(row, term, ns) printf(" %s=%g", term, json_real_value(ns));
		fputc('\n', stdout);
	}
}

static void print_mpi(const json_t *mpi)
{
	const json_t *lines = json_object_get(mpi, "library");

	if (json_object_get(mpi, "error") != NULL)
		printf("MPI: %s\n", text_in(mpi, "error"));
	else
		printf("MPI: %s, %s\n", json_string_value(json_array_get(lines, 0)), text_in(mpi, "thread_level"));
}

/* How the ranks are spread, where there are several, or why they could not meet. */
static void print_job(const json_t *job)
{
	static const char *const keys[] = { "node_sizes", "nodes_because", "transport" };

	if (json_object_get(job, "error") != NULL)
		printf("  %s\n", text_in(job, "error"));
	if (json_integer_value(json_object_get(job, "ranks")) < 2)
		return;
	printf("MPI's world, %" JSON_INTEGER_FORMAT " ranks:\n", json_integer_value(json_object_get(job, "ranks")));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *value = json_object_get(job, keys[i]);

		if (value == NULL)
			continue;
		printf("  %-20s ", keys[i]);
		print_value(value);
		fputc('\n', stdout);
	}
}

void info_print(const json_t *info)
{
	const json_t *comm = json_object_get(info, "comm"), *set = json_object_get(info, "environment");
	const char *name;
	json_t *variable;

	printf("choir %s\n", text_in(info, "choir"));
	print_platforms(json_object_get(info, "platforms"));
	print_mpi(json_object_get(info, "mpi"));
	print_job(json_object_get(info, "job"));
	printf("a comm of one rank on the default device:\n");
	print_object(comm, 2);
	if (json_is_array(json_object_get(comm, "algorithms")))
		printf("algorithms:\n");
	print_algorithms(json_object_get(comm, "algorithms"));
	if (json_array_size(json_object_get(json_object_get(info, "table"), "collectives")) > 0)
		print_table(json_object_get(info, "table"));
	print_costs(json_object_get(comm, "sparse_costs"));
	printf("environment:%s\n", json_object_size(set) == 0 ? " no CHOIR_ variable is set" : "");
	json_object_foreach((json_t *)set, name, variable)
	    printf("  %s=%s\n    %s\n", name, text_in(variable, "value"), text_in(variable, "about"));
}
