/* SPDX-License-Identifier: MIT */
/* choir_predict: the time of a call by its name: the plans that it would have on this comm, of all ranks. */
#include "api/forecast.h"

#include <stdlib.h>

static const char function[] = "choir_predict";

static choir_status read_name(const char *text, struct call_form *out)
{
	if (text == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: no collective is named", function);
	TRY(collective_parse_form(text, &out->collective, &out->padded));
	if (out->collective == COLLECTIVE_TOPK_ALLREDUCE)
		return error_set(CHOIR_UNSUPPORTED, "%s: how much a %s sends is in its state, which is not given",
		                 function, text);
	return CHOIR_SUCCESS;
}

/* Of a v form: count elements of each rank, or from each to each. */
static choir_status make_blocks(struct dense *d)
{
	size_t n = (size_t)d->comm->n, blocks = collective_of_pairs(d->collective) ? n * n : n;
	uint64_t bytes = d->count * choir_dtype_bytes(d->dtype);

	if (!collective_has(d->collective, TRAIT_UNEVEN))
		return CHOIR_SUCCESS;
	d->block_bytes = calloc(blocks, sizeof *d->block_bytes);
	if (d->block_bytes == NULL)
		return error_no_memory("blocks", blocks * sizeof *d->block_bytes);
	for (size_t i = 0; i < blocks; i++)
		d->block_bytes[i] = bytes;
	d->mean_bytes = bytes;
	if (!collective_of_pairs(d->collective))
		d->count *= n;
	return CHOIR_SUCCESS;
}

static choir_status predict(choir_comm *comm, const struct call_key *key, const choir_call *call, double *seconds_p,
                            const char **algorithm_p)
{
	struct dense d;
	choir_status st;

	if (key->form->collective == COLLECTIVE_SPARSE_ALLREDUCE) {
		st = forecast_sparse(comm, key, call, seconds_p, algorithm_p);
		return st == CHOIR_SUCCESS ? st : error_prefix(st, "%s", function);
	}
	TRY(dense_of(comm, key, key->form, &d));
	st = make_blocks(&d);
	if (st == CHOIR_SUCCESS)
		st = forecast_dense(&d, call, seconds_p, algorithm_p);
	free(d.block_bytes);
	return st;
}

static size_t block_count(const choir_comm *comm, size_t count)
{
	size_t n = (size_t)comm->n;

	return count / n + (count % n != 0);
}

choir_status choir_predict(choir_comm *comm, const char *collective, size_t count, choir_dtype dtype, choir_op op,
                           int root, const choir_call *given, double *seconds_p, const char **algorithm_p)
{
	struct call_form form = { .name = function };
	struct call_key key = { .form = &form, .count = count, .dtype = dtype, .op = op, .peer = root };
	const char *algorithm;
	double seconds;
	choir_call call;
	choir_status st;

	if (seconds_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null pointer for the seconds", function);
	TRY(read_name(collective, &form));
	TRY(call_read(function, given, CALL_TAKES_FACTOR | CALL_TAKES_TAG, &call));
	key.factor = call.factor;
	TRY(call_enter(function, comm));
	if (form.padded)
		key.count = block_count(comm, count);
	st = comm_failure(comm);
	if (st == CHOIR_SUCCESS)
		st = predict(comm, &key, &call, &seconds, &algorithm);
	comm_leave(comm);
	if (st != CHOIR_SUCCESS)
		return st;
	*seconds_p = seconds;
	if (algorithm_p != NULL)
		*algorithm_p = algorithm;
	return CHOIR_SUCCESS;
}
