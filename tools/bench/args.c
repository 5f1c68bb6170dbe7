/* SPDX-License-Identifier: MIT */
/* popt splits the command line into texts and plain numbers (struct args_raw); the read_ functions below turn those into struct args. */
#include "args_read.h"

#include <stdlib.h>
#include <string.h>

const char *const args_memory_names[N_ARGS_MEMORY] = {
	[MEMORY_DEVICE] = "device", [MEMORY_HOST] = "host", [MEMORY_SYMMETRIC] = "symmetric", [MEMORY_SYMMETRIC_DEVICE] = "symmetric-device",
};

const char *const args_ids_names[N_ARGS_IDS] = {
	[IDS_ZIPF] = "zipf", [IDS_UNIFORM] = "uniform", [IDS_CLUSTERED] = "clustered", [IDS_TEXT] = "text",
};

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
	if (!args_read_list("--type", text, names, &n, error))
		return false;
	for (int i = 0; i < n; i++)
		if (choir_dtype_parse(names[i], &args->dtypes[i]) != CHOIR_SUCCESS)
			return args_complain(error, "--type: there is no type '%s'", names[i]);
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
	if (!args_read_list("--op", text, names, &n, error))
		return false;
	for (int i = 0; i < n; i++)
		if (choir_op_parse(names[i], &args->ops[i]) != CHOIR_SUCCESS)
			return args_complain(error, "--op: there is no operator '%s'", names[i]);
	args->n_ops = n;
	return true;
}

static bool read_sizes(const struct args_raw *raw, struct args *args, char *error)
{
	char *end;

	args->begin = raw->given[OPTION_TUNE] ? 64 : 8;
	args->end = raw->given[OPTION_TUNE] ? 16u << 20 : 64u << 20;
	args->factor = raw->given[OPTION_TUNE] ? 4 : 8;
	if (!args_read_bytes("--begin", raw->begin, &args->begin, error) || !args_read_bytes("--step", raw->step, &args->step, error))
		return false;
	if (raw->begin != NULL && raw->end == NULL && args->begin > args->end)
		args->end = args->begin;
	if (!args_read_bytes("--end", raw->end, &args->end, error) || !args_read_bytes("--offset", raw->offset, &args->offset, error))
		return false;
	if (raw->factor != NULL) {
		args->factor = strtod(raw->factor, &end);
		if (*end != '\0' || !(args->factor > 1))
			return args_complain(error, "--factor: '%s' is no number above 1", raw->factor);
	}
	if (args->begin > args->end)
		return args_complain(error, "--begin is above --end");
	return true;
}

static bool read_counts(const struct args_raw *raw, struct args *args, char *error)
{
	if (raw->iterations < 1 || raw->warmup < 0 || raw->check_every < 0)
		return args_complain(error, "-n must be at least 1, -w and -c at least 0");
	if (raw->root < 0 || raw->local < 0 || raw->in_flight < 1)
		return args_complain(error, "--root and --local must not be negative, --in-flight must be at least 1");
	if (!(raw->timeout_s > 0))
		return args_complain(error, "--timeout must be above 0");
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
	return args_complain(error, "--memory: '%s' is none of device, host, symmetric, symmetric-device", text);
}

/* Of device memory nobody knows what a touch by the host would cost the next call. */
static bool read_fresh(const struct args *args, char *error)
{
	if (args->fresh && (args->trainer_path != NULL || args->tensors != NULL))
		return args_complain(error, "--fresh is for collectives, not for --trainer and --tensors");
	if (!args->fresh || args->memory == MEMORY_HOST || args->memory == MEMORY_SYMMETRIC)
		return true;
	return args_complain(error, "--fresh is for --memory host and symmetric, not for %s", args_memory_names[args->memory]);
}

static void take_tuned(struct args *args)
{
	static const char *const tuned[] = { "allreduce", "reduce_scatter", "allgather", "alltoall", "broadcast", "reduce" };

	args->n_collectives = sizeof tuned / sizeof *tuned;
	memcpy(args->collectives, tuned, sizeof tuned);
}

/* The words without a flag: the collectives, or the second file of --compare. */
static bool read_words(const struct args_raw *raw, struct args *args, char *error)
{
	const char **words = poptGetArgs(raw->context);

	for (; words != NULL && *words != NULL; words++) {
		if (args->n_collectives == ARGS_MAX_LIST)
			return args_complain(error, "more than %d collectives", ARGS_MAX_LIST);
		args->collectives[args->n_collectives++] = *words;
	}
	if (args->tune && args->n_collectives == 0)
		take_tuned(args);
	if (raw->compare == NULL)
		return args->n_collectives > 0 || raw->trainer != NULL || raw->tensors != NULL ||
		       args_complain(error, "name a collective, such as allreduce, or all");
	if (args->n_collectives != 1)
		return args_complain(error, "--compare takes two files: --compare OLD.json NEW.json");
	args->compare_old = raw->compare;
	args->compare_new = args->collectives[0];
	return true;
}

static bool read_all(struct args_raw *raw, struct args *args, char *error)
{
	args->fail_over = 0.05;
	args->in_place = raw->in_place;
	args->fresh = raw->fresh;
	args->csv = raw->csv;
	args->algorithm = raw->algorithm;
	args->all_algorithms = raw->algorithm != NULL && (strcmp(raw->algorithm, "all") == 0 || strchr(raw->algorithm, ',') != NULL);
	args->tune = raw->given[OPTION_TUNE];
	args->tune_path = raw->tune;
	if (args->tune) {
		if (raw->algorithm != NULL || raw->vs != NULL)
			return args_complain(error, "--tune measures all algorithms: it takes neither --algorithm nor --vs");
		args->all_algorithms = true;
	}
	args->trainer_path = raw->trainer;
	args->compute_ms = raw->compute_ms;
	args->tensors = raw->tensors;
	if (!(raw->compute_ms >= 0))
		return args_complain(error, "--compute must not be negative");
	args->json_path = raw->json;
	args->plot_path = raw->plot;
	return read_sizes(raw, args, error) && read_counts(raw, args, error) && read_dtypes(raw->type, args, error) &&
	       read_ops(raw->op, args, error) && read_memory(raw->memory, args, error) && read_fresh(args, error) && args_read_sparse(raw, args, error) &&
	       args_read_share("--fail-over", raw->fail_over, &args->fail_over, error) &&
	       args_read_list("--devices", raw->devices, args->devices, &args->n_devices, error) &&
	       args_read_list("--vs", raw->vs, args->vs, &args->n_vs, error) && read_words(raw, args, error);
}

bool args_parse(int argc, const char **argv, struct args *args, char error[ARGS_ERROR_BYTES])
{
	struct args_raw *raw = calloc(1, sizeof *raw);
	int rc;

	if (raw == NULL)
		return args_complain(error, "no memory");
	*args = (struct args){ .raw = raw };
	raw->iterations = 20;
	raw->warmup = 5;
	raw->check_every = 10;
	raw->in_flight = 1;
	raw->timeout_s = 120;
	raw->context = args_raw_open(raw, argc, argv);
	while ((rc = poptGetNextOpt(raw->context)) >= 0)
		raw->given[rc] = true;
	args->help = raw->help;
	args->version = raw->version;
	if (rc < -1)
		args_complain(error, "%s: %s", poptBadOption(raw->context, 0), poptStrerror(rc));
	else if (args->help || args->version || read_all(raw, args, error))
		return true;
	args_fini(args);
	return false;
}

void args_fini(struct args *args)
{
	if (args->raw != NULL)
		args_raw_free(args->raw);
	args->raw = NULL;
}

const char *args_forced(const struct args *args)
{
	return args->all_algorithms ? NULL : args->algorithm;
}
