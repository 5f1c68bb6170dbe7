/* SPDX-License-Identifier: MIT */
/* popt splits the command line into texts and plain numbers (struct args_raw); the read_ functions below turn those into struct args. */
#include "args.h"

#include "number.h"

#include <popt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_ZIPF = 1, MAX_OPTIONS = 48 };

const char *const args_memory_names[N_ARGS_MEMORY] = {
	[MEMORY_DEVICE] = "device", [MEMORY_HOST] = "host", [MEMORY_SYMMETRIC] = "symmetric", [MEMORY_SYMMETRIC_DEVICE] = "symmetric-device",
};

struct args_raw {
	poptContext context; /* owns the collectives' names */
	struct poptOption table[MAX_OPTIONS];
	char *begin, *end, *factor, *step, *type, *op, *memory, *algorithm, *offset, *json, *plot, *compare, *fail_over, *devices, *vs;
	char *rows, *width, *range, *density, *zipf, *index;
	double min_busbw, timeout_s;
	int iterations, warmup, check_every, root, in_flight, local;
	int in_place, csv, uniform, help, version;
};

#define TEXT(letter, name, field, about, what) { name, letter, POPT_ARG_STRING, &raw->field, 0, about, what }
#define INT(letter, name, field, about) { name, letter, POPT_ARG_INT, &raw->field, 0, about, "N" }
#define REAL(name, field, about, what) { name, '\0', POPT_ARG_DOUBLE, &raw->field, 0, about, what }
#define FLAG(letter, name, field, about) { name, letter, POPT_ARG_NONE, &raw->field, 0, about, NULL }

static poptContext open_context(struct args_raw *raw, int argc, const char **argv)
{
	const struct poptOption rows[] = {
		TEXT('b', "begin", begin, "smallest size (default 8)", "BYTES"),
		TEXT('e', "end", end, "largest size (default 64M)", "BYTES"),
		TEXT('f', "factor", factor, "multiply the size by this (default 8)", "X"),
		TEXT('i', "step", step, "add this to the size instead", "BYTES"),
		INT('n', "iterations", iterations, "timed iterations a size (default 20)"),
		INT('w', "warmup", warmup, "untimed ones before (default 5)"),
		INT('c', "check", check_every, "check the data after every N iterations; 0 = never (default 10)"),
		TEXT('t', "type", type, "f32 (default), several joined by commas, or all", "DTYPE"),
		TEXT('o', "op", op, "sum (default), several joined by commas, or all", "OP"),
		INT('r', "root", root, "root of broadcast and reduce (default 0)"),
		TEXT('m', "memory", memory, "device (default), host, symmetric or symmetric-device", "KIND"),
		FLAG('\0', "inplace", in_place, "send and receive in the same buffer"),
		TEXT('\0', "algorithm", algorithm, "force this algorithm; all = each of them in turn", "NAME"),
		TEXT('\0', "offset", offset, "elements before the data in every buffer (default 0)", "N"),
		INT('\0', "in-flight", in_flight, "calls in flight at once, in buffers of their own (default 1)"),
		REAL("timeout", timeout_s, "give up when a step takes longer (default 120)", "SECONDS"),
		TEXT('\0', "vs", vs, "run beside: mpi, staged, bound, joined by commas", "WAYS"),
		INT('\0', "local", local, "N ranks as threads of this process, without MPI"),
		TEXT('\0', "devices", devices, "P:D,P:D,... as choir-info numbers them, dealt out in turn", "LIST"),
		FLAG('\0', "csv", csv, "print comma-separated values"),
		TEXT('\0', "json", json, "write the results there; - = standard output, without the table", "FILE"),
		TEXT('\0', "plot", plot, "draw time over size (needs gnuplot)", "FILE.svg"),
		REAL("min-busbw", min_busbw, "exit with 4 if the best busbw of the run is below", "GBps"),
		TEXT('\0', "compare", compare, "OLD.json NEW.json: compare two runs instead of running", "OLD.json"),
		TEXT('\0', "fail-over", fail_over, "with --compare: exit with 4 if a p50 grew by more (default 5%)", "SHARE"),
		TEXT('\0', "rows", rows, "sparse: rows a rank sends (default 4096)", "N"),
		TEXT('\0', "width", width, "sparse: elements a row (default 64)", "N"),
		TEXT('\0', "range", range, "sparse: indices are below this (default 43056)", "N"),
		TEXT('\0', "density", density, "sparse: rows = this share of the range", "SHARE"),
		{ "zipf", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &raw->zipf, OPTION_ZIPF, "sparse: Zipf indices (default, exponent 1)", "S" },
		FLAG('\0', "uniform", uniform, "sparse: uniform indices"),
		TEXT('\0', "index", index, "sparse: i32 (default) or i64", "DTYPE"),
		FLAG('h', "help", help, "this text"),
		FLAG('\0', "version", version, "the library's version"),
		POPT_TABLEEND,
	};

	memcpy(raw->table, rows, sizeof rows);
	return poptGetContext("choir-bench", argc, argv, raw->table, 0);
}

static bool complain(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool complain(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ARGS_ERROR_BYTES, format, list);
	va_end(list);
	return false;
}

static bool read_bytes(const char *flag, const char *text, size_t *out, char *error)
{
	if (text == NULL || number_bytes(text, out))
		return true;
	return complain(error, "%s: '%s' is no number such as 8, 64K or 1G", flag, text);
}

static bool read_share(const char *flag, const char *text, double *out, char *error)
{
	if (text == NULL || number_share(text, out))
		return true;
	return complain(error, "%s: '%s' is no share such as 5%% or 0.05", flag, text);
}

/* Cuts text at its commas, in place. */
static bool read_list(const char *flag, char *text, const char **items, int *n, char *error)
{
	char *rest = NULL;

	*n = 0;
	if (text == NULL)
		return true;
	for (char *item = strtok_r(text, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
		if (*n == ARGS_MAX_LIST)
			return complain(error, "%s: more than %d items", flag, ARGS_MAX_LIST);
		items[(*n)++] = item;
	}
	return *n > 0 || complain(error, "%s: the list is empty", flag);
}

static bool read_dtypes(char *text, struct args *args, char *error)
{
	const char *names[ARGS_MAX_LIST];
	int n;

	args->dtypes[0] = CHOIR_F32;
	args->n_dtypes = 1;
	if (text == NULL)
		return true;
	args->all_dtypes = strcmp(text, "all") == 0;
	for (args->n_dtypes = 0; args->all_dtypes && choir_dtype_bytes(args->n_dtypes) != 0; args->n_dtypes++)
		args->dtypes[args->n_dtypes] = args->n_dtypes;
	if (args->all_dtypes)
		return true;
	if (!read_list("--type", text, names, &n, error))
		return false;
	for (int i = 0; i < n; i++)
		if (choir_dtype_parse(names[i], &args->dtypes[i]) != CHOIR_SUCCESS)
			return complain(error, "--type: there is no type '%s'", names[i]);
	args->n_dtypes = n;
	return true;
}

static bool read_ops(char *text, struct args *args, char *error)
{
	const char *names[ARGS_MAX_LIST];
	int n;

	args->ops[0] = CHOIR_OP_SUM;
	args->n_ops = 1;
	if (text == NULL)
		return true;
	args->all_ops = strcmp(text, "all") == 0;
	for (args->n_ops = 0; args->all_ops && strcmp(choir_op_name(args->n_ops), "unknown") != 0; args->n_ops++)
		args->ops[args->n_ops] = args->n_ops;
	if (args->all_ops)
		return true;
	if (!read_list("--op", text, names, &n, error))
		return false;
	for (int i = 0; i < n; i++)
		if (choir_op_parse(names[i], &args->ops[i]) != CHOIR_SUCCESS)
			return complain(error, "--op: there is no operator '%s'", names[i]);
	args->n_ops = n;
	return true;
}

static bool read_sizes(const struct args_raw *raw, struct args *args, char *error)
{
	char *end;

	args->begin = 8;
	args->end = 64u << 20;
	args->factor = 8;
	if (!read_bytes("--begin", raw->begin, &args->begin, error) || !read_bytes("--step", raw->step, &args->step, error))
		return false;
	if (raw->begin != NULL && raw->end == NULL && args->begin > args->end)
		args->end = args->begin;
	if (!read_bytes("--end", raw->end, &args->end, error) || !read_bytes("--offset", raw->offset, &args->offset, error))
		return false;
	if (raw->factor != NULL) {
		args->factor = strtod(raw->factor, &end);
		if (*end != '\0' || !(args->factor > 1))
			return complain(error, "--factor: '%s' is no number above 1", raw->factor);
	}
	if (args->begin > args->end)
		return complain(error, "--begin is above --end");
	return true;
}

static bool read_counts(const struct args_raw *raw, struct args *args, char *error)
{
	if (raw->iterations < 1 || raw->warmup < 0 || raw->check_every < 0)
		return complain(error, "-n must be at least 1, -w and -c at least 0");
	if (raw->root < 0 || raw->local < 0 || raw->in_flight < 1)
		return complain(error, "--root and --local must not be negative, --in-flight must be at least 1");
	if (!(raw->timeout_s > 0))
		return complain(error, "--timeout must be above 0");
	args->iterations = raw->iterations;
	args->warmup = raw->warmup;
	args->check_every = raw->check_every;
	args->root = raw->root;
	args->local = raw->local;
	args->in_flight = raw->in_flight;
	args->timeout_s = raw->timeout_s;
	args->min_busbw = raw->min_busbw;
	return true;
}

static bool read_memory(const char *text, struct args *args, char *error)
{
	args->memory = MEMORY_DEVICE;
	if (text == NULL)
		return true;
	for (int kind = 0; kind < N_ARGS_MEMORY; kind++)
		if (strcmp(text, args_memory_names[kind]) == 0) {
			args->memory = (enum args_memory)kind;
			return true;
		}
	return complain(error, "--memory: '%s' is none of device, host, symmetric, symmetric-device", text);
}

static bool read_sparse(const struct args_raw *raw, struct args_sparse *sparse, bool zipf, char *error)
{
	*sparse = (struct args_sparse){ .rows = 4096, .width = 64, .range = 43056, .zipf = 1, .index_dtype = CHOIR_I32 };
	if (!read_bytes("--rows", raw->rows, &sparse->rows, error) || !read_bytes("--width", raw->width, &sparse->width, error) ||
	    !read_bytes("--range", raw->range, &sparse->range, error) || !read_share("--density", raw->density, &sparse->density, error) ||
	    !read_share("--zipf", raw->zipf, &sparse->zipf, error))
		return false;
	if (zipf && raw->uniform)
		return complain(error, "--zipf and --uniform exclude each other");
	if (raw->uniform)
		sparse->zipf = 0;
	if (raw->rows != NULL && raw->density != NULL)
		return complain(error, "--rows and --density exclude each other");
	if (sparse->width == 0 || sparse->range == 0 || sparse->range > INT32_MAX || sparse->density > 1)
		return complain(error, "--width and --range must be at least 1, --range below 2^31, --density at most 1");
	if (raw->density != NULL)
		sparse->rows = (size_t)(sparse->density * (double)sparse->range + 0.5);
	if (raw->index != NULL && choir_dtype_parse(raw->index, &sparse->index_dtype) != CHOIR_SUCCESS)
		sparse->index_dtype = CHOIR_F32;
	if (sparse->index_dtype != CHOIR_I32 && sparse->index_dtype != CHOIR_I64)
		return complain(error, "--index: '%s' is neither i32 nor i64", raw->index);
	return true;
}

/* The words without a flag: the collectives, or the second file of --compare. */
static bool read_words(const struct args_raw *raw, struct args *args, char *error)
{
	const char **words = poptGetArgs(raw->context);

	for (; words != NULL && *words != NULL; words++) {
		if (args->n_collectives == ARGS_MAX_LIST)
			return complain(error, "more than %d collectives", ARGS_MAX_LIST);
		args->collectives[args->n_collectives++] = *words;
	}
	if (raw->compare == NULL)
		return args->n_collectives > 0 || complain(error, "name a collective, such as allreduce, or all");
	if (args->n_collectives != 1)
		return complain(error, "--compare takes two files: --compare OLD.json NEW.json");
	args->compare_old = raw->compare;
	args->compare_new = args->collectives[0];
	return true;
}

static bool read_all(struct args_raw *raw, struct args *args, bool zipf, char *error)
{
	args->fail_over = 0.05;
	args->in_place = raw->in_place;
	args->csv = raw->csv;
	args->algorithm = raw->algorithm;
	args->all_algorithms = raw->algorithm != NULL && strcmp(raw->algorithm, "all") == 0;
	args->json_path = raw->json;
	args->plot_path = raw->plot;
	return read_sizes(raw, args, error) && read_counts(raw, args, error) && read_dtypes(raw->type, args, error) &&
	       read_ops(raw->op, args, error) && read_memory(raw->memory, args, error) && read_sparse(raw, &args->sparse, zipf, error) &&
	       read_share("--fail-over", raw->fail_over, &args->fail_over, error) &&
	       read_list("--devices", raw->devices, args->devices, &args->n_devices, error) &&
	       read_list("--vs", raw->vs, args->vs, &args->n_vs, error) && read_words(raw, args, error);
}

bool args_parse(int argc, const char **argv, struct args *args, char error[ARGS_ERROR_BYTES])
{
	struct args_raw *raw = calloc(1, sizeof *raw);
	bool zipf = false;
	int rc;

	if (raw == NULL)
		return complain(error, "no memory");
	*args = (struct args){ .raw = raw };
	raw->iterations = 20;
	raw->warmup = 5;
	raw->check_every = 10;
	raw->in_flight = 1;
	raw->timeout_s = 120;
	raw->context = open_context(raw, argc, argv);
	while ((rc = poptGetNextOpt(raw->context)) >= 0)
		zipf = zipf || rc == OPTION_ZIPF;
	args->help = raw->help;
	args->version = raw->version;
	if (rc < -1)
		complain(error, "%s: %s", poptBadOption(raw->context, 0), poptStrerror(rc));
	else if (args->help || args->version || read_all(raw, args, zipf, error))
		return true;
	args_fini(args);
	return false;
}

void args_fini(struct args *args)
{
	struct args_raw *raw = args->raw;

	if (raw == NULL)
		return;
	char *texts[] = { raw->begin, raw->end, raw->factor, raw->step, raw->type, raw->op, raw->memory, raw->algorithm, raw->offset, raw->json,
			  raw->plot, raw->compare, raw->fail_over, raw->devices, raw->vs, raw->rows, raw->width, raw->range, raw->density,
			  raw->zipf, raw->index };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	poptFreeContext(raw->context);
	free(raw);
	args->raw = NULL;
}

const char *args_forced(const struct args *args)
{
	return args->all_algorithms ? NULL : args->algorithm;
}

void args_help(FILE *to)
{
	const char *argv[] = { "choir-bench", NULL };
	struct args_raw raw = { 0 };
	poptContext context = open_context(&raw, 1, argv);

	poptSetOtherOptionHelp(context, "[flags] COLLECTIVE...");
	poptPrintHelp(context, to, 0);
	poptFreeContext(context);
}
