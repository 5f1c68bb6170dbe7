/* SPDX-License-Identifier: MIT */
#include "args_read.h"

#include <string.h>

static bool read_ids(const struct args_raw *raw, struct args_sparse *sparse, char *error)
{
	int ways = raw->given[OPTION_ZIPF] + raw->uniform + raw->clustered + (raw->text != NULL);

	if (ways > 1)
		return args_complain(error, "--zipf, --uniform, --clustered and --text exclude each other");
	if (!args_read_share("--zipf", raw->zipf, &sparse->zipf, error) || !args_read_share("--overlap", raw->overlap, &sparse->overlap, error))
		return false;
	sparse->ids = IDS_ZIPF;
	if (raw->uniform || (raw->given[OPTION_ZIPF] && sparse->zipf == 0))
		sparse->ids = IDS_UNIFORM;
	else if (raw->clustered)
		sparse->ids = IDS_CLUSTERED;
	else if (raw->text != NULL)
		sparse->ids = IDS_TEXT;
	if (sparse->overlap > 1 || (sparse->overlap > 0 && sparse->ids == IDS_TEXT))
		return args_complain(error, "--overlap is a share of at most 1, and of drawn indices");
	sparse->text = raw->text;
	sparse->permuted = raw->permuted;
	sparse->hot = raw->hot;
	sparse->empty = raw->empty;
	sparse->heavy_tailed = raw->heavy_tailed;
	return true;
}

static bool read_densities(const struct args_raw *raw, struct args *args, char *error)
{
	const char *texts[ARGS_MAX_LIST];

	if (!args_read_list("--density", raw->density, texts, &args->n_rows, error))
		return false;
	for (int i = 0; i < args->n_rows; i++) {
		double share = 0;

		if (!args_read_share("--density", texts[i], &share, error))
			return false;
		if (share > 1)
			return args_complain(error, "--density: '%s' is above 1", texts[i]);
		args->rows[i] = (size_t)(share * (double)args->sparse.range + 0.5);
	}
	return true;
}

static bool read_rows(const struct args_raw *raw, struct args *args, char *error)
{
	const char *texts[ARGS_MAX_LIST];

	if (raw->rows != NULL && raw->density != NULL)
		return args_complain(error, "--rows and --density exclude each other");
	if (raw->density != NULL)
		return read_densities(raw, args, error);
	args->rows[0] = 4096;
	args->n_rows = 1;
	if (raw->rows == NULL)
		return true;
	if (!args_read_list("--rows", raw->rows, texts, &args->n_rows, error))
		return false;
	for (int i = 0; i < args->n_rows; i++)
		if (!args_read_bytes("--rows", texts[i], &args->rows[i], error))
			return false;
	return true;
}

bool args_read_sparse(const struct args_raw *raw, struct args *args, char *error)
{
	struct args_sparse *sparse = &args->sparse;

	*sparse = (struct args_sparse){ .width = 64, .range = 43056, .zipf = 1, .index_dtype = CHOIR_I32, .lists = 2 };
	if (!args_read_bytes("--width", raw->width, &sparse->width, error) || !args_read_bytes("--range", raw->range, &sparse->range, error) ||
	    !args_read_bytes("--lists", raw->lists, &sparse->lists, error) || !read_ids(raw, sparse, error))
		return false;
	if (sparse->width == 0 || sparse->range == 0 || sparse->range > INT32_MAX)
		return args_complain(error, "--width and --range must be at least 1, --range below 2^31");
	if (sparse->lists == 0 || sparse->lists > ARGS_MAX_LIST)
		return args_complain(error, "--lists must be 1 to %d", ARGS_MAX_LIST);
	if (!read_rows(raw, args, error))
		return false;
	sparse->rows = args->rows[0];
	if (raw->index != NULL && choir_dtype_parse(raw->index, &sparse->index_dtype) != CHOIR_SUCCESS)
		sparse->index_dtype = CHOIR_F32;
	if (sparse->index_dtype != CHOIR_I32 && sparse->index_dtype != CHOIR_I64)
		return args_complain(error, "--index: '%s' is neither i32 nor i64", raw->index);
	return true;
}
