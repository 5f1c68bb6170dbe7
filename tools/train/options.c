/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <argp.h>
#include <choir/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum key {
	KEY_TEXT = 256,
	KEY_VIA,
	KEY_LOCAL,
	KEY_COMPARE,
	KEY_STEPS,
	KEY_SECONDS,
	KEY_BATCH,
	KEY_CANDIDATES,
	KEY_CONTEXT,
	KEY_WIDTH,
	KEY_HIDDEN,
	KEY_LR,
	KEY_TABLE_LR,
	KEY_SEED,
	KEY_EVERY,
	KEY_JSON,
	KEY_PLOT,
	KEY_LOSS_OUT,
};

static const struct argp_option list[] = {
	{ "text", KEY_TEXT, "FILE", 0, "learn this text, a sentence a line; default: the definitions of WordNet", 1 },
	{ "seed", KEY_SEED, "N", 0, "of everything random; default 1", 1 },
	{ "via", KEY_VIA, "choir|mpi", 0, "who sums the gradients: choir, or MPI by hand on host copies", 2 },
	{ "local", KEY_LOCAL, "N", 0, "N ranks as threads of this process, without mpiexec", 2 },
	{ "compare", KEY_COMPARE, "N", OPTION_ARG_OPTIONAL,
	  "sum the tables' gradients of every Nth step (default 10) by each sparse algorithm as well, and tell their times", 2 },
	{ "steps", KEY_STEPS, "N", 0, "stop after N steps; default: no limit, if --seconds is given, else 200", 3 },
	{ "seconds", KEY_SECONDS, "S", 0, "stop after S seconds of training", 3 },
	{ "batch", KEY_BATCH, "N", 0, "words a step, of all ranks together; default 4096", 4 },
	{ "candidates", KEY_CANDIDATES, "N", 0, "words that a step's targets are told from; default 1024", 4 },
	{ "context", KEY_CONTEXT, "N", 0, "words to predict from; default 4", 4 },
	{ "width", KEY_WIDTH, "N", 0, "floats in a row of the two tables; default 64", 4 },
	{ "hidden", KEY_HIDDEN, "N", 0, "units of the hidden layer; default 128", 4 },
	{ "lr", KEY_LR, "X", 0, "learning rate of the dense layers; default 0.1", 5 },
	{ "table-lr", KEY_TABLE_LR, "X", 0, "learning rate of the tables, over the root of a word's share; default 2", 5 },
	{ "every", KEY_EVERY, "S", 0, "seconds between lines; default 5", 6 },
	{ "json", KEY_JSON, "FILE", 0, "write the summary", 6 },
	{ "plot", KEY_PLOT, "FILE.svg", 0, "draw the loss (needs gnuplot)", 6 },
	{ "loss-out", KEY_LOSS_OUT, "FILE", 0, "write the loss of every step", 6 },
	{ 0 },
};

/* A number of at least low; anything else ends the program with a sentence. */
static double number(const struct argp_state *state, const char *what, const char *text, double low)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < low)
		argp_error(state, "--%s %s: not a number from %g on", what, text, low);
	return value;
}

static size_t whole(const struct argp_state *state, const char *what, const char *text, double low)
{
	double value = number(state, what, text, low);

	if (value != floor(value) || value > 0x1p31)
		argp_error(state, "--%s %s: not a whole number below 2^31", what, text);
	return (size_t)value;
}

static enum via parse_via(const struct argp_state *state, const char *text)
{
	if (!strcmp(text, "mpi"))
		return VIA_MPI;
	if (strcmp(text, "choir"))
		argp_error(state, "--via %s: choir or mpi", text);
	return VIA_CHOIR;
}

static error_t parse_shape(int key, const char *text, const struct argp_state *state, struct options *options)
{
	switch (key) {
	case KEY_BATCH:
		options->batch = whole(state, "batch", text, 1);
		return 0;
	case KEY_CANDIDATES:
		options->candidates = whole(state, "candidates", text, 1);
		return 0;
	case KEY_CONTEXT:
		options->context = whole(state, "context", text, 1);
		return 0;
	case KEY_WIDTH:
		options->width = whole(state, "width", text, 1);
		return 0;
	case KEY_HIDDEN:
		options->hidden = whole(state, "hidden", text, 1);
		return 0;
	case KEY_LR:
		options->rate = number(state, "lr", text, 0);
		return 0;
	case KEY_TABLE_LR:
		options->table_rate = number(state, "table-lr", text, 0);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_TEXT:
		options->text = text;
		return 0;
	case KEY_VIA:
		options->via = parse_via(state, text);
		return 0;
	case KEY_LOCAL:
		options->local = (int)whole(state, "local", text, 1);
		return 0;
	case KEY_COMPARE:
		options->compare = text ? whole(state, "compare", text, 1) : 10;
		return 0;
	case KEY_STEPS:
		options->steps = whole(state, "steps", text, 1);
		return 0;
	case KEY_SECONDS:
		options->seconds = number(state, "seconds", text, 0);
		return 0;
	case KEY_SEED:
		options->seed = whole(state, "seed", text, 0);
		return 0;
	case KEY_EVERY:
		options->every = number(state, "every", text, 0);
		return 0;
	case KEY_JSON:
		options->json = text;
		return 0;
	case KEY_PLOT:
		options->plot = text;
		return 0;
	case KEY_LOSS_OUT:
		options->loss_out = text;
		return 0;
	default:
		return parse_shape(key, text, state, options);
	}
}

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "choir-train of choir %s\n", choir_version());
}

void options_parse(int argc, char **argv, struct options *out)
{
	const struct argp argp = {
		.options = list,
		.parser = parse,
		.doc = "Trains a neural n-gram language model on OpenCL devices, its gradients summed over the ranks.\n"
		       "Start several ranks by mpiexec, or by --local N.",
	};

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
	if (out->local > 1 && out->via == VIA_MPI) {
		fprintf(stderr, "choir-train: --via mpi needs mpiexec, not --local\n");
		exit(2);
	}
	if (out->compare > 0 && out->via == VIA_MPI) {
		fprintf(stderr, "choir-train: --compare is of choir's algorithms, not --via mpi\n");
		exit(2);
	}
}

const char *options_via_name(enum via via)
{
	return via == VIA_CHOIR ? "choir" : "mpi";
}
