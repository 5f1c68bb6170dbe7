/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <argp.h>
#include <choir/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_TEXT, KIND_NUMBER, KIND_WHOLE, KIND_VIA };

/* What a flag says, where it goes, and from where on it is one. */
#define AT(member) offsetof(struct options, member)
static const struct flag {
	const char *name, *value, *help;
	int group;
	enum kind kind;
	size_t at;
	double least;
	double otherwise; /* what the flag is without a value; 0 = it needs one */
} flags[] = {
	{ "text", "FILE", "learn this text, a sentence a line; default: the definitions of WordNet", 1, KIND_TEXT, AT(text), 0, 0 },
	{ "seed", "N", "of everything random; default 1", 1, KIND_WHOLE, AT(seed), 0, 0 },
	{ "via", "choir|mpi", "who sums the gradients: choir, or MPI by hand on host copies", 2, KIND_VIA, AT(via), 0, 0 },
	{ "local", "N", "N ranks as threads of this process, without mpiexec", 2, KIND_WHOLE, AT(local), 1, 0 },
	{ "compare", "N", "sum the tables' gradients of every Nth step (default 10) by each sparse algorithm as well, and tell their times", 2,
	  KIND_WHOLE, AT(compare), 1, 10 },
	{ "steps", "N", "stop after N steps; default: no limit, if --seconds is given, else 200", 3, KIND_WHOLE, AT(steps), 0, 0 },
	{ "seconds", "S", "stop after S seconds of training", 3, KIND_NUMBER, AT(seconds), 0, 0 },
	{ "batch", "N", "words a step, of all ranks together; default 4096", 4, KIND_WHOLE, AT(batch), 1, 0 },
	{ "candidates", "N", "words that a step's targets are told from; default 1024", 4, KIND_WHOLE, AT(candidates), 1, 0 },
	{ "context", "N", "words to predict from; default 4", 4, KIND_WHOLE, AT(context), 1, 0 },
	{ "width", "N", "floats in a row of the two tables; default 64", 4, KIND_WHOLE, AT(width), 1, 0 },
	{ "hidden", "N", "units of the hidden layer; default 128", 4, KIND_WHOLE, AT(hidden), 1, 0 },
	{ "lr", "X", "learning rate of the dense layers; default 0.1", 5, KIND_NUMBER, AT(rate), 0, 0 },
	{ "table-lr", "X", "learning rate of the tables, over the root of a word's share; default 2", 5, KIND_NUMBER, AT(table_rate), 0, 0 },
	{ "every", "S", "seconds between lines; default 5", 6, KIND_NUMBER, AT(every), 0, 0 },
	{ "json", "FILE", "write the summary", 6, KIND_TEXT, AT(json), 0, 0 },
	{ "plot", "FILE.svg", "draw the loss (needs gnuplot)", 6, KIND_TEXT, AT(plot), 0, 0 },
	{ "loss-out", "FILE", "write the loss of every step", 6, KIND_TEXT, AT(loss_out), 0, 0 },
};

enum { N_FLAGS = sizeof flags / sizeof *flags, FIRST_KEY = 256 };

/* Anything but a number from flag->least on ends the program with a sentence. */
static double number(const struct argp_state *state, const struct flag *flag, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < flag->least)
		argp_error(state, "--%s %s: not a number from %g on", flag->name, text, flag->least);
	return value;
}

static size_t whole(const struct argp_state *state, const struct flag *flag, const char *text)
{
	double value = text ? number(state, flag, text) : flag->otherwise;

	if (value != floor(value) || value > 0x1p31)
		argp_error(state, "--%s %s: not a whole number below 2^31", flag->name, text);
	return (size_t)value;
}

static enum via via(const struct argp_state *state, const struct flag *flag, const char *text)
{
	if (!strcmp(text, "mpi"))
		return VIA_MPI;
	if (strcmp(text, "choir"))
		argp_error(state, "--%s %s: choir or mpi", flag->name, text);
	return VIA_CHOIR;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	const struct flag *flag = flags + (key - FIRST_KEY);
	char *to;

	if (key < FIRST_KEY || key >= FIRST_KEY + N_FLAGS)
		return ARGP_ERR_UNKNOWN;
	to = (char *)state->input + flag->at;
	switch (flag->kind) {
	case KIND_TEXT:
		*(const char **)(void *)to = text;
		break;
	case KIND_NUMBER:
		*(double *)(void *)to = number(state, flag, text);
		break;
	case KIND_WHOLE:
		*(size_t *)(void *)to = whole(state, flag, text);
		break;
	case KIND_VIA:
		*(enum via *)(void *)to = via(state, flag, text);
		break;
	}
	return 0;
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "choir-train of choir %s\n", choir_version());
}

static void refuse(const char *sentence)
{
	fprintf(stderr, "choir-train: %s\n", sentence);
	exit(2);
}

void options_parse(int argc, char **argv, struct options *out)
{
	struct argp_option list[N_FLAGS + 1] = { 0 };
	const struct argp argp = {
		.options = list,
		.parser = parse,
		.doc = "Trains a neural n-gram language model on OpenCL devices, its gradients summed over the ranks.\n"
		       "Start several ranks by mpiexec, or by --local N.",
	};

	for (int i = 0; i < N_FLAGS; i++)
		list[i] = (struct argp_option){ .name = flags[i].name, .key = FIRST_KEY + i, .arg = flags[i].value, .doc = flags[i].help,
						.flags = flags[i].otherwise > 0 ? OPTION_ARG_OPTIONAL : 0, .group = flags[i].group };
	*out = (struct options){ .via = VIA_CHOIR,
				 .batch = 4096,
				 .candidates = 1024,
				 .context = 4,
				 .width = 64,
				 .hidden = 128,
				 .rate = 0.1,
				 .table_rate = 2,
				 .seed = 1,
				 .every = 5 };
	argp_program_version_hook = print_version;
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, out);
	if (out->steps == 0 && out->seconds <= 0)
		out->steps = 200;
	if (out->local > 1 && out->via == VIA_MPI)
		refuse("--via mpi needs mpiexec, not --local");
	if (out->compare > 0 && out->via == VIA_MPI)
		refuse("--compare is of choir's algorithms, not --via mpi");
}

const char *options_via_name(enum via via)
{
	return via == VIA_CHOIR ? "choir" : "mpi";
}
