/* SPDX-License-Identifier: MIT */
/* choir-info: what choir sees of this machine and what it would do with it. */
#include "info.h"

#include <choir/choir.h>
#include <popt.h>
#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

struct flags {
	int json, no_probe, ranks, ranks_per_node;
};

/* An exit status, or -1 to go on. */
static int read_flags(int argc, const char **argv, struct flags *flags)
{
	int version = 0, help = 0, rc;
	struct poptOption table[] = {
		{ "json", '\0', POPT_ARG_NONE, &flags->json, 0, "print one JSON object", NULL },
		{ "no-probe", '\0', POPT_ARG_NONE, &flags->no_probe, 0, "list devices without touching them", NULL },
		{ "ranks", '\0', POPT_ARG_INT, &flags->ranks, 0, "the table of algorithms for N ranks (default 2)", "N" },
		{ "ranks-per-node", '\0', POPT_ARG_INT, &flags->ranks_per_node, 0, "neighbours share a node (default: all do)", "N" },
		{ "help", 'h', POPT_ARG_NONE, &help, 0, "this text", NULL },
		{ "version", '\0', POPT_ARG_NONE, &version, 0, "the library's version", NULL },
		POPT_TABLEEND,
	};
	poptContext context = poptGetContext("choir-info", argc, argv, table, 0);

	rc = poptGetNextOpt(context);
	if (rc < -1)
		fprintf(stderr, "choir-info: %s: %s\n", poptBadOption(context, 0), poptStrerror(rc));
	else if (help)
		poptPrintHelp(context, stdout, 0);
	else if (version)
		printf("choir-info %s\n", choir_version());
	else if (poptPeekArg(context) != NULL)
		fprintf(stderr, "choir-info: '%s' is no flag\n", poptPeekArg(context));
	else if (flags->ranks < 1 || flags->ranks_per_node < 0)
		fprintf(stderr, "choir-info: --ranks must be at least 1, --ranks-per-node at least 0\n");
	else
		help = -1;
	poptFreeContext(context);
	if (help == -1)
		return -1;
	return help || version ? EXIT_FINE : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct flags flags = { .ranks = 2 };
	int status = read_flags(argc, (const char **)argv, &flags);
	json_t *info, *comm;

	if (status >= 0)
		return status;
	info = json_object();
	json_object_set_new(info, "choir", json_string(choir_version()));
	json_object_set_new(info, "platforms", info_platforms(!flags.no_probe));
	json_object_set_new(info, "mpi", info_mpi());
	comm = flags.no_probe ? json_object() : info_comm();
	json_object_set_new(info, "comm", comm);
	json_object_set_new(info, "table", info_table(json_object_get(comm, "algorithms"), flags.ranks, flags.ranks_per_node));
	json_object_set_new(info, "environment", info_environment());
	status = json_array_size(json_object_get(info, "platforms")) == 0 ? EXIT_NO_DEVICE : EXIT_FINE;
	if (!flags.json)
		info_print(info);
	else if (json_dumpf(info, stdout, JSON_INDENT(1)) == 0)
		fputc('\n', stdout);
	json_decref(info);
	info_mpi_done();
	return status;
}
