/* SPDX-License-Identifier: MIT */
/* choir-info: what choir sees of this machine and what it would do with it. */
#include "info.h"

#include "lib/flags.h"
#include "lib/output.h"

#include <choir/choir.h>
#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

struct wishes {
	bool json, no_probe;
	int ranks, ranks_per_node;
};

#define AT(member) offsetof(struct wishes, member)
static const struct flag table[] = {
	{ "json", 0, FLAG_GIVEN, AT(json), NULL, "print one JSON object", 0, NULL, NULL },
	{ "no-probe", 0, FLAG_GIVEN, AT(no_probe), NULL, "list devices without touching them", 0, NULL, NULL },
	{ "ranks", 0, FLAG_INT, AT(ranks), "N", "the table of algorithms for N ranks (default 2)", 1, NULL, NULL },
	{ "ranks-per-node", 0, FLAG_INT, AT(ranks_per_node), "N", "neighbours share a node (default: all do)", 0, NULL,
	  NULL },
};

/* An exit status, or -1 to go on. */
static int read_flags(int argc, char **argv, struct wishes *wishes)
{
	const struct flags flags = { .program = "choir-info", .flag = table, .n = sizeof table / sizeof *table };
	const char *words[1];
	char error[FLAGS_ERROR_BYTES];
	enum flags_outcome outcome = flags_parse(&flags, argc, argv, wishes, words, 0, error);

	if (outcome == FLAGS_WRONG)
		fprintf(stderr, "choir-info: %s\n", error);
	return outcome == FLAGS_READ ? -1 : outcome == FLAGS_TOLD ? EXIT_FINE : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct wishes wishes = { .ranks = 2 };
	int status = read_flags(argc, argv, &wishes);
	bool speaks = true;
	json_t *info, *comm;

	if (status >= 0)
		return status;
	info = json_object();
	json_object_set_new(info, "choir", json_string(choir_version()));
	json_object_set_new(info, "platforms", info_platforms(!wishes.no_probe));
	json_object_set_new(info, "mpi", info_mpi());
	json_object_set_new(info, "job", info_job(&speaks));
	comm = wishes.no_probe ? json_object() : info_comm();
	json_object_set_new(info, "comm", comm);
	json_object_set_new(info, "table",
	                    info_table(json_object_get(comm, "algorithms"), wishes.ranks, wishes.ranks_per_node));
	json_object_set_new(info, "environment", info_environment());
	status = json_array_size(json_object_get(info, "platforms")) == 0 ? EXIT_NO_DEVICE : EXIT_FINE;
	if (speaks && !wishes.json)
		info_print(info);
	else if (speaks && json_dumpf(info, stdout, JSON_INDENT(1)) == 0)
		fputc('\n', stdout);
	json_decref(info);
	info_mpi_done();
	return output_written("choir-info") ? status : EXIT_USAGE;
}
