/* SPDX-License-Identifier: MIT */
/* Calls on one device, without other ranks: select, gather, scatter, intersect, coalesce.  A script of the engine:
 * deps, operands brought to where the work is done, the work, results brought back.
 * The work is done by kernels where the device is none of the host's processors and all operands are its cl_mems, else
 * by the host twin, with the same result. */
#ifndef TOPK_DEVICE_CALL_H
#define TOPK_DEVICE_CALL_H

#include "exec/run.h"
#include "sparse/coalesce.h"
#include "sparse/range_kernel.h"
#include "sparse/scratch.h"
#include "sparse/select_kernel.h"
#include "topk/operand.h"

#include <choir/pairs.h>

enum { DEVICE_OPERANDS = 5 };

/* The arguments of the calls beside their operands; each call reads its own. */
struct device_args {
	uint64_t count, k, width, rows, among;
	choir_dtype dtype, ind_dtype;
	choir_op op;
	double threshold;
	size_t *count_p; /* count out */
	uint64_t room;   /* what *count_p was when the call was made: the operands have no more */
};

struct device_call;

/* One kind of call. */
struct device_form {
	const char *name; /* "choir_select_top" */
	choir_status (*host)(struct device_call *call);
	/* NULL, or does this call fit the kernels? */
	bool (*fits_kernels)(const struct device_call *call);
	/* called until *done_p: starts the next kernel once call->event is complete; or sets call->host_only */
	choir_status (*kernels)(struct device_call *call, bool *done_p);
};

struct device_call {
	const struct device_form *form;
	choir_device *device;
	struct device_args args;
	struct operand operands[DEVICE_OPERANDS];
	size_t n_operands;
	struct user_op *user; /* the caller's operator; a reference; NULL = none */
	struct run_deps deps;
	int64_t deadline_ms, end_ns;
	void (*wake)(void *unused);
	choir_status (*step)(struct device_call *call, struct script_turn *turn);
	struct kept_error outcome; /* of the turns of work */
	/* of the kernels */
	bool host_only;
	int phase;
	cl_event event;
	bool watched;
	struct select_job *select;
	struct range_job *range;
	struct coalesce coalesce;
	struct coalesce_source source;
	cl_mem made[3];
};

extern const struct device_form device_form_select_top, device_form_select_above, device_form_gather,
    device_form_scatter, device_form_intersect, device_form_coalesce;

/* device_call_create: a script for a checked call, which is copied; deps are taken over. */
choir_status device_call_create(const struct device_call *call, const struct script_ops **ops_p, void **state_p);

/* device_call_index_form, device_call_indices: of the call's index dtype; are all n indices within [0, rows)?  ARGUMENT
 * naming the first that is not. */
static inline struct index_form device_call_index_form(const struct device_call *call)
{
	return (struct index_form){ .bytes = (uint32_t)choir_dtype_bytes(call->args.ind_dtype) };
}

choir_status device_call_indices(const struct device_call *call, const void *ind, uint64_t n, uint64_t rows);

/* device_call_capacity: writes the count and compares it with the capacity that was given. */
choir_status device_call_capacity(const struct device_call *call, uint64_t count);

#endif
