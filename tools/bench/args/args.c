/* SPDX-License-Identifier: MIT */
/* flags_parse sets numbers and texts; the read_ functions below turn the texts into the other members of struct args.
 */
#include "args_read.h"

#include <stdlib.h>
#include <string.h>

const char *const args_memory_names[N_ARGS_MEMORY] = {
	[MEMORY_DEVICE] = "device",
	[MEMORY_HOST] = "host",
	[MEMORY_SYMMETRIC] = "symmetric",
	[MEMORY_SYMMETRIC_DEVICE] = "symmetric-device",
};

const char *const args_ids_names[N_ARGS_IDS] = {
	[IDS_ZIPF] = "zipf",
	[IDS_UNIFORM] = "uniform",
	[IDS_CLUSTERED] = "clustered",
	[IDS_TEXT] = "text",
};

static bool read_dtypes(const char *text, struct args *args, char *error)
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

static bool read_ops(const char *text, struct args *args, char *error)
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
		if (strcmp(names[i], "user_sum") == 0)
			args->ops[i] = ARGS_USER_SUM;
		else if (strcmp(names[i], "user_sum_text") == 0)
			args->ops[i] = ARGS_USER_SUM_TEXT;
		else if (choir_op_parse(names[i], &args->ops[i]) != CHOIR_SUCCESS)
			return args_complain(error, "--op: there is no operator '%s'", names[i]);
	args->n_ops = n;
	return true;
}

static bool read_sizes(struct args *args, char *error)
{
	const struct args_texts *texts = &args->texts;
	char *end;

	args->begin = args->tune ? 64 : 8;
	args->end = args->tune ? 16u << 20 : 64u << 20;
	args->factor = args->tune ? 4 : 8;
	if (!args_read_bytes("--begin", texts->begin, &args->begin, error) ||
	    !args_read_bytes("--step", texts->step, &args->step, error))
		return false;
	if (texts->begin != NULL && texts->end == NULL && args->begin > args->end)
		args->end = args->begin;
	if (!args_read_bytes("--end", texts->end, &args->end, error) ||
	    !args_read_bytes("--offset", texts->offset, &args->offset, error))
		return false;
	if (texts->factor != NULL) {
		args->factor = strtod(texts->factor, &end);
		if (*end != '\0' || !(args->factor > 1))
			return args_complain(error, "--factor: '%s' is no number above 1", texts->factor);
	}
	if (args->begin > args->end)
		return args_complain(error, "--begin is above --end");
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
	return args_complain(error, "--fresh is for --memory host and symmetric, not for %s",
	                     args_memory_names[args->memory]);
}

/* Rules know neither types nor operators. */
static bool read_tuned(const struct args *args, char *error)
{
	if (!args->tune || (args->n_dtypes == 1 && args->n_ops == 1))
		return true;
	return args_complain(error, "--tune measures one type and one operator, and %d and %d are given",
	                     args->n_dtypes, args->n_ops);
}

static void take_tuned(struct args *args)
{
	static const char *const tuned[] = { "allreduce", "reduce_scatter", "allgather",
		                             "alltoall",  "broadcast",      "reduce" };

	args->n_collectives = sizeof tuned / sizeof *tuned;
	memcpy(args->collectives, tuned, sizeof tuned);
}

/* --compare OLD NEW, --compare=OLD NEW, or with topk: all algorithms. */
static bool read_compare(struct args *args, char *error)
{
	const char *compare = args->texts.compare;
	int apart = compare[0] == '\0';

	if (apart && args->n_collectives == 1 && strcmp(args->collectives[0], "topk") == 0) {
		args->algorithm = args->algorithm != NULL ? args->algorithm : "all";
		args->all_algorithms = true;
		return true;
	}
	if (args->n_collectives != 1 + apart)
		return args_complain(error, "--compare takes two files: --compare OLD.json NEW.json");
	args->compare_old = apart ? args->collectives[0] : compare;
	args->compare_new = args->collectives[apart];
	return true;
}

/* The words without a flag: the collectives, or the files of --compare. */
static bool read_words(struct args *args, char *error)
{
	while (args->n_collectives < ARGS_MAX_LIST && args->collectives[args->n_collectives] != NULL)
		args->n_collectives++;
	if (args->tune && args->n_collectives == 0)
		take_tuned(args);
	if (args->texts.compare != NULL)
		return read_compare(args, error);
	return args->n_collectives > 0 || args->trainer_path != NULL || args->tensors != NULL ||
	       args_complain(error, "name a collective, such as allreduce, or all");
}

static bool read_all(struct args *args, char *error)
{
	const struct args_texts *texts = &args->texts;

	args->fail_over = 0.05;
	args->algorithm = texts->algorithm;
	args->all_algorithms =
	    args->algorithm != NULL && (strcmp(args->algorithm, "all") == 0 || strchr(args->algorithm, ',') != NULL);
	args->tune = texts->tune != NULL;
	args->tune_path = args->tune && texts->tune[0] != '\0' ? texts->tune : NULL;
	if (!(args->timeout_s > 0))
		return args_complain(error, "--timeout must be above 0");
	if (args->tune) {
		if (texts->algorithm != NULL || texts->vs != NULL)
			return args_complain(error,
			                     "--tune measures all algorithms: it takes neither --algorithm nor --vs");
		args->all_algorithms = true;
	}
	args->trainer_path = texts->trainer;
	args->tensors = texts->tensors;
	args->tensors_of = texts->tensors_of != NULL ? texts->tensors_of : "allreduce";
	args->json_path = texts->json;
	args->plot_path = texts->plot;
	return read_sizes(args, error) && read_dtypes(texts->type, args, error) && read_ops(texts->op, args, error) &&
	       read_tuned(args, error) && read_memory(texts->memory, args, error) && read_fresh(args, error) &&
	       args_read_sparse(args, error) &&
	       args_read_share("--fail-over", texts->fail_over, &args->fail_over, error) &&
	       args_read_list("--devices", texts->devices, args->devices, &args->n_devices, error) &&
	       args_read_list("--vs", texts->vs, args->vs, &args->n_vs, error) && read_words(args, error);
}

static char **copy_of(int argc, const char **argv)
{
	char **line = calloc((size_t)argc + 1, sizeof *line);

	for (int i = 0; line != NULL && i < argc; i++) {
		line[i] = strdup(argv[i]);
		if (line[i] == NULL)
			abort();
	}
	return line;
}

bool args_parse(int argc, const char **argv, struct args *args, char error[ARGS_ERROR_BYTES])
{
	enum flags_outcome outcome;

	*args = (struct args){ .iterations = 20,
		               .warmup = 5,
		               .check_every = 10,
		               .in_flight = 1,
		               .timeout_s = 120,
		               .line = copy_of(argc, argv) };
	if (args->line == NULL)
		return args_complain(error, "no memory");
	outcome = flags_parse(&args_flags, argc, args->line, args, args->collectives, ARGS_MAX_LIST, error);
	args->told = outcome == FLAGS_TOLD;
	if (args->told || (outcome == FLAGS_READ && read_all(args, error)))
		return true;
	args_fini(args);
	return false;
}

void args_fini(struct args *args)
{
	for (int i = 0; args->line != NULL && args->line[i] != NULL; i++)
		free(args->line[i]);
	free(args->line);
	args->line = NULL;
}

const char *args_forced(const struct args *args)
{
	return args->all_algorithms ? NULL : args->algorithm;
}
