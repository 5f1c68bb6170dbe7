/* SPDX-License-Identifier: MIT */
#include "args_read.h"

#include <string.h>

static bool read_ids(const struct args_texts *texts, struct args_sparse *sparse, char *error)
{
	int ways = (texts->zipf != NULL) + texts->uniform + texts->clustered + (texts->text != NULL);

	if (ways > 1)
		return args_complain(error, "--zipf, --uniform, --clustered and --text exclude each other");
	if (!args_read_share("--zipf", texts->zipf, &sparse->zipf, error) ||
	    !args_read_share("--overlap", texts->overlap, &sparse->overlap, error))
		return false;
	sparse->ids = IDS_ZIPF;
	if (texts->uniform || (texts->zipf != NULL && sparse->zipf == 0))
		sparse->ids = IDS_UNIFORM;
	else if (texts->clustered)
		sparse->ids = IDS_CLUSTERED;
	else if (texts->text != NULL)
		sparse->ids = IDS_TEXT;
	if (sparse->overlap > 1 || (sparse->overlap > 0 && sparse->ids == IDS_TEXT))
		return args_complain(error, "--overlap is a share of at most 1, and of drawn indices");
	sparse->text = texts->text;
	sparse->permuted = texts->permuted;
	sparse->hot = texts->hot;
	sparse->empty = texts->empty;
	sparse->heavy_tailed = texts->heavy_tailed;
	return true;
}

static bool read_densities(struct args *args, char *error)
{
	const char *items[ARGS_MAX_LIST];

	if (!args_read_list("--density", args->texts.density, items, &args->n_rows, error))
		return false;
	for (int i = 0; i < args->n_rows; i++) {
		double share = 0;

		if (!args_read_share("--density", items[i], &share, error))
			return false;
		if (share > 1)
			return args_complain(error, "--density: '%s' is above 1", items[i]);
		args->rows[i] = (size_t)(share * (double)args->sparse.range + 0.5);
	}
	return true;
}

static bool is_topk(const struct args *args)
{
	return args->collectives[0] != NULL && strcmp(args->collectives[0], "topk") == 0;
}

static bool read_rows(struct args *args, char *error)
{
	const struct args_texts *texts = &args->texts;
	const char *items[ARGS_MAX_LIST];

	if (texts->rows != NULL && texts->density != NULL)
		return args_complain(error, "--rows and --density exclude each other");
	if (texts->density != NULL)
		return read_densities(args, error);
	args->rows[0] = is_topk(args) ? args->sparse.range / 100 : 4096;
	args->n_rows = 1;
	if (texts->rows == NULL)
		return true;
	if (!args_read_list("--rows", texts->rows, items, &args->n_rows, error))
		return false;
	for (int i = 0; i < args->n_rows; i++)
		if (!args_read_bytes("--rows", items[i], &args->rows[i], error))
			return false;
	return true;
}

static bool read_result(const struct args_texts *texts, struct args_sparse *sparse, char *error)
{
	static const char *const forms[] = { "dense", "pairs", "both" };
	const char *wanted = texts->result != NULL ? texts->result : forms[0];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(wanted, forms[i]) == 0) {
			sparse->result = forms[i];
			return true;
		}
	return args_complain(error, "--result: '%s' is none of dense, pairs, both", wanted);
}

bool args_read_sparse(struct args *args, char *error)
{
	const struct args_texts *texts = &args->texts;
	struct args_sparse *sparse = &args->sparse;

	*sparse = (struct args_sparse){ .width = 64, .range = 43056, .zipf = 1, .index_dtype = CHOIR_I32, .lists = 2 };
	if (!args_read_bytes("--width", texts->width, &sparse->width, error) ||
	    !args_read_bytes("--range", texts->range, &sparse->range, error) ||
	    !args_read_bytes("--lists", texts->lists, &sparse->lists, error) || !read_ids(texts, sparse, error))
		return false;
	if (sparse->width == 0 || sparse->range == 0 || sparse->range > INT32_MAX)
		return args_complain(error, "--width and --range must be at least 1, --range below 2^31");
	if (sparse->lists == 0 || sparse->lists > ARGS_MAX_LIST)
		return args_complain(error, "--lists must be 1 to %d", ARGS_MAX_LIST);
	if (!read_rows(args, error) || !read_result(texts, sparse, error))
		return false;
	sparse->values = texts->values != NULL ? texts->values : "normal";
	sparse->rows = args->rows[0];
	if (texts->index != NULL && choir_dtype_parse(texts->index, &sparse->index_dtype) != CHOIR_SUCCESS)
		sparse->index_dtype = CHOIR_F32;
	if (sparse->index_dtype != CHOIR_I32 && sparse->index_dtype != CHOIR_I64)
		return args_complain(error, "--index: '%s' is neither i32 nor i64", texts->index);
	return true;
}
