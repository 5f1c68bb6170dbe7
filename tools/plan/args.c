/* SPDX-License-Identifier: MIT */
#include "args.h"

#include "lib/flags.h"
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

		if (end == at || n < 1 || n > 1000000 || (*end != ',' && *end != '\0') ||
		    out->n_ranks == MOST_SIZES_OF_WORLD)
			return wrong("-n", text, "a number of ranks, or for --compare up to 32 with commas between,");
		out->ranks[out->n_ranks++] = (int)n;
		at = *end == ',' ? end + 1 : NULL;
	} while (at != NULL);
	out->options.ranks = out->ranks[0];
	return -1;
}

static int read_order(const char *text, int *order_ranks)
{
	*order_ranks = text != NULL && strcmp(text, "ranks") == 0;
	return text == NULL || *order_ranks || strcmp(text, "any") == 0 ? -1 : wrong("--order", text, "ranks or any");
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
	if (status < 0)
		status = read_order(texts->order, &out->options.order_ranks);
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
	if (texts->dot && out->json)
		return wrong("--dot", "--json", "one of the two");
	if (out->rank != CHOIR_PLAN_ALL_RANKS && out->mode != MODE_PRINT)
		return wrong("--rank", "N", "a plan that is printed");
	if (out->end < out->options.bytes)
		return wrong("-e", texts->end, "a size of at least -b");
	if (out->n_ranks > 1 && !texts->compare)
		return wrong("-n", texts->ranks, "one number, unless with --compare,");
	return -1;
}

#define AT(member) offsetof(struct args, member)
#define COST(name, field, unit, about)                                                                                 \
	{                                                                                                              \
		name, 0, FLAG_REAL, AT(costs.field), unit, about, 0, NULL, NULL                                        \
	}
#define TEXT(letter, name, field, about, what)                                                                         \
	{                                                                                                              \
		name, letter, FLAG_TEXT, AT(field), what, about, 0, NULL, NULL                                         \
	}
#define INT(letter, name, field, about, what)                                                                          \
	{                                                                                                              \
		name, letter, FLAG_INT, AT(field), what, about, 0, NULL, NULL                                          \
	}
#define GIVEN(name, field, about)                                                                                      \
	{                                                                                                              \
		name, 0, FLAG_GIVEN, AT(field), NULL, about, 0, NULL, NULL                                             \
	}

static const struct flag table[] = {
	TEXT('n', "ranks", texts.ranks, "ranks (2); --compare takes several: 2,16,1000", "N"),
	INT(0, "ranks-per-node", options.ranks_per_node, "neighbours that share a node (all)", "N"),
	TEXT('b', "bytes", texts.bytes, "of the whole, or of one rank's block where each has one (1M)", "SIZE"),
	TEXT('a', "algorithm", options.algorithm, "instead of what the rules choose", "NAME"),
	TEXT(0, "rules", options.rules, "as in CHOIR_RULES", "TEXT"),
	TEXT('t', "dtype", texts.dtype, "data type (f32)", "TYPE"),
	INT(0, "root", options.root, "broadcast, reduce: the root; send, recv: who receives from rank 0", "RANK"),
	GIVEN("inplace", in_place, "send and receive buffer are one"),
	GIVEN("staged", staged, "device memory that the host does not reach"),
	GIVEN("shared", shared, "the ranks of the node reach each other's buffers"),
	TEXT(0, "slot", texts.slot, "bytes of a slot of the arena", "SIZE"),
	TEXT(0, "message", texts.message, "bytes of the longest message", "SIZE"),
	TEXT(0, "order", texts.order, "ranks: reductions are folded in rank order (any)", "ORDER"),
	INT('r', "rank", rank, "print this rank's plan only", "RANK"),
	GIVEN("dot", texts.dot, "print a Graphviz graph"),
	GIVEN("check", texts.check, "prove the plans of all ranks; exit status 1 if they are wrong"),
	GIVEN("predict", texts.predict, "print how long it would take"),
	GIVEN("compare", texts.compare, "predict all algorithms, for all -n, sizes from -b to -e by -f"),
	GIVEN("list", texts.list, "list the algorithms, and which can do this call"),
	TEXT('e', "end", texts.end, "the last size of --compare (-b)", "SIZE"),
	{ "factor", 'f', FLAG_WHOLE, AT(factor), "N", "from size to size (8)", 2, NULL, NULL },
	GIVEN("json", json, "print JSON"),
	{ .title = "What --predict and --compare count with (microseconds, 10^9 bytes a second):" },
	COST("latency", network_latency_us, "US", "between nodes"),
	COST("bandwidth", network_GBps, "GB/s", "of a node's way out, and of its way in"),
	COST("overhead", network_overhead_us, "US", "of a message, at each end"),
	COST("copies", network_copies, "N", "of a message's bytes, at each end"),
	COST("node-latency", node_latency_us, "US", "of a message inside a node"),
	COST("node-bandwidth", node_GBps, "GB/s", "of each rank's messages inside a node"),
	COST("node-overhead", node_overhead_us, "US", "as --overhead, inside a node"),
	COST("node-copies", node_copies, "N", "as --copies, inside a node"),
	COST("copy-rate", copy_GBps, "GB/s", "of one rank, by bytes copied"),
	COST("reduce-rate", reduce_GBps, "GB/s", "of one rank, by bytes of all operands"),
	COST("flag", flag_us, "US", "until the node sees a raised flag"),
	COST("step", step_us, "US", "the engine's own time for a step"),
	COST("slot-rate", slot_GBps, "GB/s", "besides, of one rank's writes to its slot"),
	{ .title = "" },
};

int args_read(int argc, char **argv, struct args *out)
{
	const struct flags flags = {
		.program = "choir-plan", .words = "COLLECTIVE", .flag = table, .n = sizeof table / sizeof *table
	};
	const char *words[2];
	char error[FLAGS_ERROR_BYTES];
	enum flags_outcome outcome;
	int status;

	*out = (struct args){ .options = CHOIR_PLAN_OPTIONS_INIT,
		              .costs = { .struct_size = sizeof out->costs },
		              .rank = CHOIR_PLAN_ALL_RANKS,
		              .factor = 8 };
	out->options.bytes = 1 << 20;
	out->options.dtype = CHOIR_F32;
	choir_plan_costs_default(&out->costs);
	outcome = flags_parse(&flags, argc, argv, out, words, 1, error);
	if (outcome == FLAGS_TOLD)
		return EXIT_FINE;
	if (outcome == FLAGS_READ && words[0] == NULL)
		snprintf(error, sizeof error, "which collective?  choir-plan allreduce -n 4");
	if (outcome == FLAGS_WRONG || words[0] == NULL) {
		fprintf(stderr, "choir-plan: %s\n", error);
		return EXIT_USAGE;
	}
	out->options.collective = words[0];
	out->options.in_place = out->in_place;
	out->options.staged = out->staged;
	out->options.shared = out->shared;
	status = read_texts(&out->texts, out);
	return status < 0 ? read_mode(&out->texts, out) : status;
}
