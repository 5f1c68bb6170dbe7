/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "lib/flags.h"
#include "lib/outfile.h"
#include "lib/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct options, member)
#define TEXT(name, field, value, about)                                                                                \
	{                                                                                                              \
		name, 0, FLAG_TEXT, AT(field), value, about, 0, NULL, NULL                                             \
	}
#define WHOLE(name, field, least, about)                                                                               \
	{                                                                                                              \
		name, 0, FLAG_WHOLE, AT(field), "N", about, least, NULL, NULL                                          \
	}
#define REAL(name, field, value, about)                                                                                \
	{                                                                                                              \
		name, 0, FLAG_REAL, AT(field), value, about, 0, NULL, NULL                                             \
	}

static const struct flag table[] = {
	TEXT("text", text, "FILE", "learn this text, a sentence a line; default: the definitions of WordNet"),
	WHOLE("seed", seed, 0, "of everything random; default 1"),
	TEXT("via", via_name, "choir|mpi", "who sums the gradients: choir, or MPI by hand on host copies"),
	WHOLE("local", local, 1, "N ranks as threads of this process, without mpiexec"),
	{ "compare", 0, FLAG_WHOLE, AT(compare), "N",
	  "sum the tables' gradients of every Nth step (default 10) by each sparse algorithm as well, and tell their "
	  "times",
	  1, "10", NULL },
	TEXT("compress", compress, "NAME",
	     "of the dense layers' gradients only the largest entries go, the rest later: oktopk, spardl, topka, ..."),
	REAL("density", density, "X", "with --compress: the part of the entries that goes; default 0.02"),
	REAL("momentum", momentum, "M",
	     "of the dense layers' updates; with --compress each rank applies it before it selects, and what is sent "
	     "leaves it (momentum correction); default 0"),
	WHOLE("dense-steps", dense_steps, 0,
	      "with --compress: the first N steps send whole gradients, without momentum; default 0"),
	WHOLE("steps", steps, 0, "stop after N steps; default: no limit, if --seconds is given, else 200"),
	REAL("seconds", seconds, "S", "stop after S seconds of training"),
	WHOLE("batch", batch, 1, "words a step, of all ranks together; default 4096"),
	WHOLE("candidates", candidates, 1, "words that a step's targets are told from; default 1024"),
	WHOLE("context", context, 1, "words to predict from; default 4"),
	WHOLE("width", width, 1, "floats in a row of the two tables; default 64"),
	WHOLE("hidden", hidden, 1, "units of the hidden layer; default 128"),
	REAL("lr", rate, "X", "learning rate of the dense layers; default 0.1"),
	REAL("table-lr", table_rate, "X", "learning rate of the tables, over the root of a word's share; default 2"),
	REAL("every", every, "S", "seconds between lines; default 5"),
	TEXT("json", json, "FILE", "write the summary"),
	TEXT("plot", plot, "FILE", "draw the loss, as SVG or PNG (needs python3 and gnuplot)"),
	TEXT("loss-out", loss_out, "FILE", "write the loss of every step"),
};

static void refuse(const char *sentence)
{
	if (flags_speaks())
		fprintf(stderr, "choir-train: %s\n", sentence);
	exit(2);
}

/* Rank 0 writes them. */
static void try_files(const struct options *options)
{
	char error[OUTFILE_ERROR_BYTES];

	if (flags_speaks() && !(outfile_ready(options->json, error) && outfile_ready_to_draw(options->plot, error) &&
	                        outfile_ready(options->loss_out, error)))
		refuse(error);
}

void options_parse(int argc, char **argv, struct options *out)
{
	const struct flags flags = {
		.program = "choir-train",
		.doc = "Trains a neural n-gram language model on OpenCL devices, its gradients summed over the ranks.\n"
		       "Start several ranks by mpiexec, or by --local N.",
		.flag = table,
		.n = sizeof table / sizeof *table,
	};
	const char *words[1];
	char error[FLAGS_ERROR_BYTES];
	enum flags_outcome outcome;

	*out = (struct options){ .via_name = "choir",
		                 .batch = 4096,
		                 .candidates = 1024,
		                 .context = 4,
		                 .width = 64,
		                 .hidden = 128,
		                 .rate = 0.1,
		                 .table_rate = 2,
		                 .seed = 1,
		                 .density = 0.02,
		                 .every = 5 };
	outcome = flags_parse(&flags, argc, argv, out, words, 0, error);
	if (outcome == FLAGS_TOLD)
		exit(0);
	if (outcome == FLAGS_WRONG)
		refuse(error);
	out->via = strcmp(out->via_name, "mpi") == 0 ? VIA_MPI : VIA_CHOIR;
	if (strcmp(out->via_name, options_via_name(out->via)) != 0)
		refuse("--via: choir or mpi");
	if (out->steps == 0 && out->seconds <= 0)
		out->steps = 200;
	if (out->local > RANKS_MOST)
		refuse("--local: at most 256 ranks in one process");
	if (out->local > 1 && out->via == VIA_MPI)
		refuse("--via mpi needs mpiexec, not --local");
	if (out->compare > 0 && out->via == VIA_MPI)
		refuse("--compare is of choir's algorithms, not --via mpi");
	if (out->compress && out->via == VIA_MPI)
		refuse("--compress is choir's, not --via mpi");
	if (!(out->density > 0 && out->density <= 1))
		refuse("--density: above 0, and at most 1");
	if (!(out->momentum >= 0 && out->momentum < 1))
		refuse("--momentum: at least 0, and below 1");
	if (out->dense_steps > 0 && !out->compress)
		refuse("--dense-steps needs --compress");
	try_files(out);
}

const char *options_via_name(enum via via)
{
	return via == VIA_CHOIR ? "choir" : "mpi";
}
