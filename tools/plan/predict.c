/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include "lib/number.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

const char *plan_print_bytes(size_t bytes, char *text)
{
	static const char *const suffixes[] = { "", "K", "M", "G", "T" };
	size_t unit = 0;

	while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < sizeof suffixes / sizeof *suffixes) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, 24, "%zu%s", bytes, suffixes[unit]);
	return text;
}

static void print_json(const struct args *args, const choir_plan_prediction *p, const double *finish)
{
	json_t *root = json_pack("{s:s, s:s, s:i, s:I, s:f, s:I, s:I, s:I, s:I}", "collective",
	                         args->options.collective, "algorithm", p->algorithm, "ranks", args->options.ranks,
	                         "bytes", (json_int_t)args->options.bytes, "time_us", p->seconds * 1e6, "steps",
	                         (json_int_t)p->steps, "messages", (json_int_t)p->messages, "network_messages",
	                         (json_int_t)p->network_messages, "network_bytes", (json_int_t)p->network_bytes);
	json_t *ranks = json_array();

	for (int r = 0; r < args->options.ranks; r++)
		json_array_append_new(ranks, json_real(finish[r] * 1e6));
	json_object_set_new(root, "rank_time_us", ranks);
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
}

static void print_text(const struct args *args, const choir_plan_prediction *p, const double *finish)
{
	char bytes[24];
	int first = 0;

	for (int r = 1; r < args->options.ranks; r++)
		if (finish[r] < finish[first])
			first = r;
	printf("%s by %s, %d rank%s, %s: %.2f us\n", args->options.collective, p->algorithm, args->options.ranks,
	       number_plural(args->options.ranks), plan_print_bytes(args->options.bytes, bytes), p->seconds * 1e6);
	printf("  first done: rank %d, after %.2f us\n", first, finish[first] * 1e6);
	printf("  %llu step%s, %llu message%s; between nodes %llu message%s, %llu byte%s\n",
	       (unsigned long long)p->steps, number_plural(p->steps), (unsigned long long)p->messages,
	       number_plural(p->messages), (unsigned long long)p->network_messages, number_plural(p->network_messages),
	       (unsigned long long)p->network_bytes, number_plural(p->network_bytes));
}

int plan_predict(const struct args *args)
{
	choir_plan_prediction p = { .struct_size = sizeof p };
	double *finish = calloc(args->options.ranks > 0 ? (size_t)args->options.ranks : 1, sizeof *finish);
	choir_status st;

	if (finish == NULL) {
		fprintf(stderr, "choir-plan: no memory for %d rank%s\n", args->options.ranks,
		        number_plural(args->options.ranks));
		return EXIT_USAGE;
	}
	st = choir_plan_predict(&args->options, &args->costs, &p, finish);
	if (st == CHOIR_SUCCESS && args->json)
		print_json(args, &p, finish);
	else if (st == CHOIR_SUCCESS)
		print_text(args, &p, finish);
	free(finish);
	return st == CHOIR_SUCCESS ? EXIT_FINE : args_fail(st);
}
