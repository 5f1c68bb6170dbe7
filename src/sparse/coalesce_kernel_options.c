/* SPDX-License-Identifier: MIT */
#include "sparse/coalesce_kernel_options.h"

#include "kern/reduce.h"

#include <stdio.h>

static const char *index_type(uint32_t ind_bytes)
{
	return ind_bytes == 4 ? "int" : "long";
}

static const char *key_type(const struct coalesce_device *job)
{
	return job->wide ? "ulong" : "uint";
}

static const char *value_type(const struct coalesce_device *job)
{
	static const char *const types[] = { "uchar", "ushort", "uint", "ulong" };

	return job->carries ? types[__builtin_ctzll(choir_dtype_bytes(job->call.dtype))] : "uint";
}

void coalesce_radix_options(char *out, const struct coalesce_device *job, const char *index)
{
	snprintf(out, COALESCE_OPTIONS_BYTES,
	         "-DINDEX=%s -DKEY=%s -DVALUE=%s -DCARRIES=%d -DRADIX_BITS=%u -DGROUP=%zu -DSPAN=%zu", index,
	         key_type(job), value_type(job), job->carries, job->radix_bits, job->shape.group, job->shape.span);
}

void coalesce_blocks_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes)
{
	snprintf(out, COALESCE_OPTIONS_BYTES,
	         "-DINDEX=%s -DKEY=%s -DVALUE=%s -DCARRIES=%d -DRADIX_BITS=%u -DEACH=%u -DGROUP=%zu",
	         index_type(ind_bytes), key_type(job), value_type(job), job->carries, job->radix_bits, job->each,
	         job->group);
}

void coalesce_groups_options(char *out, const struct coalesce_device *job, unsigned digit_bits, unsigned passes)
{
	snprintf(out, COALESCE_OPTIONS_BYTES, "-DKEY=%s -DVALUE=%s -DDIGIT_BITS=%u -DPASSES=%u", key_type(job),
	         value_type(job), digit_bits, passes);
}

void coalesce_segment_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes)
{
	snprintf(out, COALESCE_OPTIONS_BYTES, "-DINDEX=%s -DKEY=%s -DVALUE=%s -DGROUP=%zu", index_type(ind_bytes),
	         key_type(job), value_type(job), job->group);
}

/* Raw and final only where they matter: the other operators share one program. */
static bool changes_raw(const struct coalesce_call *call)
{
	return call->raw && reduce_has_raw(call->op);
}

static bool finishes(const struct coalesce_call *call)
{
	return call->final && reduce_has_final(call->op);
}

void coalesce_fold_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes)
{
	const struct coalesce_call *call = &job->call;
	char op[REDUCE_OP_OPTION_BYTES];

	snprintf(out, COALESCE_OPTIONS_BYTES,
	         "-DDTYPE=%s -DOP=%s -DRAW=%d -DFINAL=%d -DINDEX=%s -DKEY=%s -DVALUE=%s "
	         "-DCARRIES=%d -DGROUP=%zu -DSPAN=%zu",
	         reduce_dtype_option(call->dtype), reduce_op_option(call->op, op), changes_raw(call), finishes(call),
	         index_type(ind_bytes), key_type(job), value_type(job), job->carries, job->shape.group,
	         job->shape.span);
}

void coalesce_cells_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes)
{
	const struct coalesce_call *call = &job->call;
	char op[REDUCE_OP_OPTION_BYTES];

	snprintf(out, COALESCE_OPTIONS_BYTES,
	         "-DDTYPE=%s -DOP=%s -DRAW=%d -DFINAL=%d -DINDEX=%s -DKEY=%s -DVALUE=%s -DCELL_BITS=%u",
	         reduce_dtype_option(call->dtype), reduce_op_option(call->op, op), changes_raw(call), finishes(call),
	         index_type(ind_bytes), key_type(job), value_type(job), job->cell_bits);
}

void coalesce_merge_options(char *out, const struct coalesce_device *job, uint32_t ind_bytes)
{
	const struct coalesce_call *call = &job->call;
	char op[REDUCE_OP_OPTION_BYTES];

	snprintf(out, COALESCE_OPTIONS_BYTES, "-DDTYPE=%s -DOP=%s -DFINAL=%d -DINDEX=%s -DGROUP=%zu -DSPAN=%zu",
	         reduce_dtype_option(call->dtype), reduce_op_option(call->op, op), finishes(call),
	         index_type(ind_bytes), job->shape.group, job->shape.span);
}
