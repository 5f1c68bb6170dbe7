/* SPDX-License-Identifier: MIT */
#include "args.h"

#include "lib/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int args_fail(choir_status status)
{
	fprintf(stderr, "choir-plan: %s\n", choir_last_error());
	return status == CHOIR_MISMATCH ? EXIT_WRONG : EXIT_USAGE;
}

static int wrong(const char *flag, const char *text, const char *wanted)
{
	fprintf(stderr, "choir-plan: %s %s: %s is wanted\n", flag, text, wanted);
	return EXIT_USAGE;
}

static int read_size(const char *flag, const char *text, size_t *out)
{
	if (text == NULL || number_bytes(text, out))
		return -1;
	return wrong(flag, text, "a number of bytes, as 4096 or 64K or 1.5M,");
}

/* "2,16,1000" */
static int read_ranks(const char *text, struct args *out)
{
	const char *at = text;

	do {
		char *end;
		long n = strtol(at, &end, 10);

		if (end == at || n < 1 || n > 1000000 || (*end != ',' && *end != '\0') || out->n_ranks == MOST_SIZES_OF_WORLD)
			return wrong("-n", text, "a number of ranks, or for --compare up to 32 with commas between,");
		out->ranks[out->n_ranks++] = (int)n;
		at = *end == ',' ? end + 1 : NULL;
	} while (at != NULL);
	out->options.ranks = out->ranks[0];
	return -1;
}

static int read_texts(const struct args_texts *texts, struct args *out)
{
	int status = read_ranks(texts->ranks != NULL ? texts->ranks : "2", out);

	if (status < 0)
		status = read_size("-b", texts->bytes, &out->options.bytes);
	out->end = out->options.bytes;
	if (status < 0)
		status = read_size("-e", texts->end, &out->end);
	if (status < 0)
		status = read_size("--slot", texts->slot, &out->options.slot_bytes);
	if (status < 0)
		status = read_size("--message", texts->message, &out->options.message_bytes);
	if (status < 0 && texts->dtype != NULL && choir_dtype_parse(texts->dtype, &out->options.dtype) != CHOIR_SUCCESS)
		status = args_fail(CHOIR_ARGUMENT);
	return status;
}

/* One of the modes, and what goes with it. */
static int read_mode(const struct args_texts *texts, struct args *out)
{
	int n = texts->check + texts->predict + texts->compare + texts->list + texts->dot;

	if (n > 1) {
		fprintf(stderr, "choir-plan: --dot, --check, --predict, --compare and --list: one at a time\n");
		return EXIT_USAGE;
	}
	out->mode = texts->check     ? MODE_CHECK
	            : texts->predict ? MODE_PREDICT
	            : texts->compare ? MODE_COMPARE
	            : texts->list    ? MODE_LIST
	                             : MODE_PRINT;
	out->format = texts->dot ? CHOIR_PLAN_DOT : out->json ? CHOIR_PLAN_JSON : CHOIR_PLAN_TEXT;
	if (out->n_ranks > 1 && !texts->compare)
		return wrong("-n", texts->ranks, "one number, unless with --compare,");
	if (texts->factor < 2)
		return wrong("-f", "below 2", "a factor from 2 on");
	out->factor = (size_t)texts->factor;
	return -1;
}

static int read_all(poptContext context, const struct args_texts *texts, struct args *out)
{
	int status;

	out->options.algorithm = texts->algorithm;
	out->options.rules = texts->rules;
	out->options.collective = poptGetArg(context);
	if (out->options.collective == NULL) {
		fprintf(stderr, "choir-plan: which collective?  choir-plan allreduce -n 4\n");
		return EXIT_USAGE;
	}
	if (poptPeekArg(context) != NULL) {
		fprintf(stderr, "choir-plan: '%s' after the collective is no flag\n", poptPeekArg(context));
		return EXIT_USAGE;
	}
	status = read_texts(texts, out);
	return status < 0 ? read_mode(texts, out) : status;
}

int args_read(int argc, const char **argv, struct args *out)
{
	struct args_texts *t = &out->texts;
	int status, rc;
	struct poptOption cost_table[] = {
		{ "latency", '\0', POPT_ARG_DOUBLE, &out->costs.network_latency_us, 0, "between nodes", "US" },
		{ "bandwidth", '\0', POPT_ARG_DOUBLE, &out->costs.network_GBps, 0, "of a node's way out, and of its way in", "GB/s" },
		{ "overhead", '\0', POPT_ARG_DOUBLE, &out->costs.network_overhead_us, 0, "of a message, at each end", "US" },
		{ "copies", '\0', POPT_ARG_DOUBLE, &out->costs.network_copies, 0, "of a message's bytes, at each end", "N" },
		{ "node-latency", '\0', POPT_ARG_DOUBLE, &out->costs.node_latency_us, 0, "of a message inside a node", "US" },
		{ "node-bandwidth", '\0', POPT_ARG_DOUBLE, &out->costs.node_GBps, 0, "of each rank's messages inside a node", "GB/s" },
		{ "node-overhead", '\0', POPT_ARG_DOUBLE, &out->costs.node_overhead_us, 0, "as --overhead, inside a node", "US" },
		{ "node-copies", '\0', POPT_ARG_DOUBLE, &out->costs.node_copies, 0, "as --copies, inside a node", "N" },
		{ "copy-rate", '\0', POPT_ARG_DOUBLE, &out->costs.copy_GBps, 0, "of one rank, by bytes copied", "GB/s" },
		{ "reduce-rate", '\0', POPT_ARG_DOUBLE, &out->costs.reduce_GBps, 0, "of one rank, by bytes of all operands", "GB/s" },
		{ "flag", '\0', POPT_ARG_DOUBLE, &out->costs.flag_us, 0, "until the node sees a raised flag", "US" },
		{ "step", '\0', POPT_ARG_DOUBLE, &out->costs.step_us, 0, "the engine's own time for a step", "US" },
		POPT_TABLEEND,
	};
	struct poptOption table[] = {
		{ "ranks", 'n', POPT_ARG_STRING, &t->ranks, 0, "ranks (2); --compare takes several: 2,16,1000", "N" },
		{ "ranks-per-node", '\0', POPT_ARG_INT, &out->options.ranks_per_node, 0, "neighbours that share a node (all)", "N" },
		{ "bytes", 'b', POPT_ARG_STRING, &t->bytes, 0, "of the whole, or of one rank's block where each has one (1M)", "SIZE" },
		{ "algorithm", 'a', POPT_ARG_STRING, &t->algorithm, 0, "instead of what the rules choose", "NAME" },
		{ "rules", '\0', POPT_ARG_STRING, &t->rules, 0, "as in CHOIR_RULES", "TEXT" },
		{ "dtype", 't', POPT_ARG_STRING, &t->dtype, 0, "data type (f32)", "TYPE" },
		{ "root", '\0', POPT_ARG_INT, &out->options.root, 0, "broadcast, reduce: the root; send, recv: who receives from rank 0", "RANK" },
		{ "inplace", '\0', POPT_ARG_NONE, &out->options.in_place, 0, "send and receive buffer are one", NULL },
		{ "staged", '\0', POPT_ARG_NONE, &out->options.staged, 0, "device memory that the host does not reach", NULL },
		{ "shared", '\0', POPT_ARG_NONE, &out->options.shared, 0, "the ranks of the node reach each other's buffers", NULL },
		{ "slot", '\0', POPT_ARG_STRING, &t->slot, 0, "bytes of a slot of the arena", "SIZE" },
		{ "message", '\0', POPT_ARG_STRING, &t->message, 0, "bytes of the longest message", "SIZE" },
		{ "rank", 'r', POPT_ARG_INT, &out->rank, 0, "print this rank's plan only", "RANK" },
		{ "dot", '\0', POPT_ARG_NONE, &t->dot, 0, "print a Graphviz graph", NULL },
		{ "check", '\0', POPT_ARG_NONE, &t->check, 0, "prove the plans of all ranks; exit status 1 if they are wrong", NULL },
		{ "predict", '\0', POPT_ARG_NONE, &t->predict, 0, "print how long it would take", NULL },
		{ "compare", '\0', POPT_ARG_NONE, &t->compare, 0, "predict all algorithms, for all -n, sizes from -b to -e by -f", NULL },
		{ "list", '\0', POPT_ARG_NONE, &t->list, 0, "list the algorithms, and which can do this call", NULL },
		{ "end", 'e', POPT_ARG_STRING, &t->end, 0, "the last size of --compare (-b)", "SIZE" },
		{ "factor", 'f', POPT_ARG_INT, &t->factor, 0, "from size to size (8)", "N" },
		{ "json", '\0', POPT_ARG_NONE, &out->json, 0, "print JSON", NULL },
		{ NULL, '\0', POPT_ARG_INCLUDE_TABLE, cost_table, 0,
		  "What --predict and --compare count with (microseconds, 10^9 bytes a second):", NULL },
		{ "help", 'h', POPT_ARG_NONE, &t->help, 0, "this text", NULL },
		{ "version", '\0', POPT_ARG_NONE, &t->version, 0, "the library's version", NULL },
		POPT_TABLEEND,
	};
	poptContext context;

	*out = (struct args){ .texts = { .factor = 8 }, .options = CHOIR_PLAN_OPTIONS_INIT, .costs = { .struct_size = sizeof out->costs },
		              .rank = CHOIR_PLAN_ALL_RANKS };
	out->options.bytes = 1 << 20;
	out->options.dtype = CHOIR_F32;
	choir_plan_costs_default(&out->costs);
	context = out->context = poptGetContext("choir-plan", argc, argv, table, 0);
	poptSetOtherOptionHelp(context, "COLLECTIVE [flags]");
	rc = poptGetNextOpt(context);
	status = EXIT_FINE;
	if (rc < -1) {
		fprintf(stderr, "choir-plan: %s: %s\n", poptBadOption(context, 0), poptStrerror(rc));
		status = EXIT_USAGE;
	} else if (t->help) {
		poptPrintHelp(context, stdout, 0);
	} else if (t->version) {
		printf("choir-plan %s\n", choir_version());
	} else {
		status = read_all(context, t, out);
	}
	return status;
}

void args_fini(struct args *args)
{
	const struct args_texts *t = &args->texts;
	char *texts[] = { t->ranks, t->bytes, t->end, t->dtype, t->slot, t->message, t->algorithm, t->rules };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	poptFreeContext(args->context);
}
