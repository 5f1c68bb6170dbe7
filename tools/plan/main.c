/* SPDX-License-Identifier: MIT */
/* choir-plan: what each rank of a collective would do; whether that is right; how long it would take. */
#include "plan.h"

#include "lib/output.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static int print_plan(const struct args *args)
{
	char *text;
	choir_status st = choir_plan_text(&args->options, args->rank, args->format, &text);

	if (st != CHOIR_SUCCESS)
		return args_fail(st);
	fputs(text, stdout);
	free(text);
	return EXIT_FINE;
}

/* A plan that is wrong is an answer, too: it stands on standard output. */
static int check_plan(const struct args *args)
{
	char *report = NULL;
	choir_status st = choir_plan_check(&args->options, &report);

	if (st != CHOIR_SUCCESS && st != CHOIR_MISMATCH)
		return args_fail(st);
	if (args->json) {
		json_t *root = json_pack("{s:b, s:s}", "right", st == CHOIR_SUCCESS, "report",
		                         report != NULL ? report : choir_last_error());

		json_dumpf(root, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(root);
	} else {
		puts(report != NULL ? report : choir_last_error());
	}
	free(report);
	return st == CHOIR_SUCCESS ? EXIT_FINE : EXIT_WRONG;
}

static int list_algorithms(const struct args *args)
{
	char *text;
	choir_status st = choir_plan_algorithms(&args->options, &text);
	json_t *list, *algorithm;
	size_t i;

	if (st != CHOIR_SUCCESS)
		return args_fail(st);
	list = json_loads(text, 0, NULL);
	if (args->json)
		puts(text);
	json_array_foreach(list, i, algorithm)
	{
		const json_t *unfit = json_object_get(algorithm, "unfit");

		if (args->json)
			break;
		printf("%c %-22s %s", json_is_true(json_object_get(algorithm, "chosen")) ? '*' : ' ',
		       json_string_value(json_object_get(algorithm, "name")),
		       json_string_value(json_object_get(algorithm, "about")));
		if (json_is_string(unfit))
			printf(" (not here: %s)", json_string_value(unfit));
		putchar('\n');
	}
	json_decref(list);
	free(text);
	return EXIT_FINE;
}

static int (*const modes[])(const struct args *) = {
	[MODE_PRINT] = print_plan,     [MODE_CHECK] = check_plan,     [MODE_PREDICT] = plan_predict,
	[MODE_COMPARE] = plan_compare, [MODE_LIST] = list_algorithms,
};

int main(int argc, char **argv)
{
	struct args args;
	int status = args_read(argc, argv, &args);

	if (status < 0)
		status = modes[args.mode](&args);
	return output_written("choir-plan") || status != EXIT_FINE ? status : EXIT_USAGE;
}
