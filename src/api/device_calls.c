/* SPDX-License-Identifier: MIT */
/* Calls on one device (<choir/pairs.h>): the operands of each, and how they start. */
#include "api/call.h"

#include "api/device_comm.h"
#include "base/dtype.h"
#include "base/plural.h"
#include "base/user_op.h"
#include "exec/record.h"

#include "topk/device_call.h"

#include <math.h>
#include <string.h>

static struct operand input(const char *role, choir_buffer buffer, uint64_t count, choir_dtype dtype)
{
	return operand_of(role, buffer, count, choir_dtype_bytes(dtype), true, false);
}

static struct operand result(const char *role, choir_buffer buffer, uint64_t count, choir_dtype dtype)
{
	return operand_of(role, buffer, count, choir_dtype_bytes(dtype), false, true);
}

static choir_status check_index_dtype(const char *name, choir_dtype dtype)
{
	if (choir_dtype_bytes(dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: ind_dtype %d is no dtype", name, (int)dtype);
	if (dtype != CHOIR_I32 && dtype != CHOIR_I64)
		return error_set(CHOIR_UNSUPPORTED, "%s: ind_dtype is %s: indices are i32 or i64", name,
		                 choir_dtype_name(dtype));
	return CHOIR_SUCCESS;
}

/* Indices of elements of a tensor: are there not more of those than ind_dtype has numbers for? */
static choir_status check_reach(const char *name, choir_dtype ind_dtype, size_t count)
{
	if (ind_dtype == CHOIR_I32 && count > (size_t)INT32_MAX + 1)
		return error_set(CHOIR_ARGUMENT, "%s: an i32 index cannot name each of %zu elements", name, count);
	return CHOIR_SUCCESS;
}

static choir_status check_dtype(const char *name, choir_dtype dtype)
{
	if (choir_dtype_bytes(dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: dtype %d is no dtype", name, (int)dtype);
	return CHOIR_SUCCESS;
}

/* The script sees to the deps: a dep that fails is no failure of the comm, which is the device's. */
static void move_deps(struct run *run, struct run_deps *out)
{
	*out = run->deps;
	run->deps = (struct run_deps){ .cl = NULL };
}

/* Longer than any call takes: the deadline is the script's. */
#define FOREVER_MS (INT64_C(1) << 40)

static choir_status prepare(struct run *run, struct device_call *todo, const choir_call *call)
{
	const char *name = todo->form->name;

	TRY(run_set_call(run, call, name));
	todo->deadline_ms = run->watch.deadline_ms;
	todo->wake = comm_wake_self;
	run->watch.deadline_ms = FOREVER_MS;
	run->bound.single_rank = true;
	run->bound.dtype = todo->args.dtype;
	run->bound.record = (struct call_record){ .collective = N_COLLECTIVES,
		                                  .flags = RECORD_ON_DEVICE,
		                                  .dtype = (uint8_t)todo->args.dtype,
		                                  .count = todo->args.count };
	record_set_algorithm(&run->bound.record, name + strlen("choir_"));
	for (size_t i = 0; i < todo->n_operands; i++)
		if (todo->operands[i].bytes > 0)
			TRY(run_keep(run, todo->operands[i].buffer));
	TRY(device_call_create(todo, &run->script.ops, &run->script.state));
	move_deps(run, &((struct device_call *)run->script.state)->deps);
	return CHOIR_SUCCESS;
}

static choir_status submit(choir_comm *comm, struct device_call *todo, const choir_call *call, choir_event **event_p)
{
	const char *name = todo->form->name;
	struct run *run;

	TRY(call_may_start(name, comm, event_p));
	TRY(run_create(comm, &run));
	return call_start(name, run, prepare(run, todo, call), event_p);
}

static choir_status start_inside(choir_device *device, struct device_call *todo, const choir_call *given,
                                 choir_event **event_p)
{
	const char *name = todo->form->name;
	choir_comm *comm;
	choir_call call;
	choir_status st;

	todo->device = device;
	TRY(call_read(name, given, 0, &call));
	TRY(call_takes_no_options(name, &call));
	TRY(operands_check(name, device, todo->operands, todo->n_operands));
	TRY(device_comm(device, &comm));
	TRY(call_enter(name, comm));
	st = submit(comm, todo, &call, event_p);
	comm_leave(comm);
	return st;
}

static choir_status start(choir_device *device, struct device_call *todo, const choir_call *given,
                          choir_event **event_p)
{
	return call_named(start_inside(device, todo, given, event_p), given);
}

static choir_status check_device(const char *name, const choir_device *device)
{
	if (device == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null device", name);
	if (dev_is_the_parents(device))
		return error_set(CHOIR_ARGUMENT, "%s: the device belongs to the process before fork", name);
	return CHOIR_SUCCESS;
}

static choir_status check_selection(const struct device_call *todo, const choir_device *device)
{
	const char *name = todo->form->name;
	choir_dtype dtype = todo->args.dtype;

	TRY(check_device(name, device));
	TRY(check_dtype(name, dtype));
	TRY(check_index_dtype(name, todo->args.ind_dtype));
	if (dtype != CHOIR_F32 && dtype != CHOIR_F64 && dtype != CHOIR_F16 && dtype != CHOIR_BF16)
		return error_set(CHOIR_UNSUPPORTED, "%s: dtype is %s, which is none of f16, bf16, f32 and f64", name,
		                 choir_dtype_name(dtype));
	return check_reach(name, todo->args.ind_dtype, todo->args.count);
}

choir_status choir_select_top(choir_device *device, choir_buffer from, size_t count, choir_dtype dtype, size_t k,
                              choir_buffer ind, choir_dtype ind_dtype, choir_buffer val, const choir_call *call,
                              choir_event **event_p)
{
	struct device_call todo = { .form = &device_form_select_top,
		                    .args = { .count = count, .k = k, .dtype = dtype, .ind_dtype = ind_dtype },
		                    .operands = { input("from", from, count, dtype), result("ind", ind, k, ind_dtype),
		                                  result("val", val, k, dtype) },
		                    .n_operands = 3 };

	TRY(call_named(check_selection(&todo, device), call));
	if (k > count)
		return call_named(
		    error_set(CHOIR_ARGUMENT, "choir_select_top: k is %zu of %zu element%s", k, count, plural(count)),
		    call);
	return start(device, &todo, call, event_p);
}

choir_status choir_select_above(choir_device *device, choir_buffer from, size_t count, choir_dtype dtype,
                                double threshold, choir_buffer ind, choir_dtype ind_dtype, choir_buffer val,
                                size_t *pairs_p, const choir_call *call, choir_event **event_p)
{
	size_t room = pairs_p != NULL ? *pairs_p : 0;
	struct device_call todo = { .form = &device_form_select_above,
		                    .args = { .count = count,
		                              .threshold = threshold,
		                              .dtype = dtype,
		                              .ind_dtype = ind_dtype,
		                              .count_p = pairs_p,
		                              .room = room },
		                    .operands = { input("from", from, count, dtype),
		                                  result("ind", ind, room, ind_dtype),
		                                  result("val", val, room, dtype) },
		                    .n_operands = 3 };

	TRY(call_named(check_selection(&todo, device), call));
	if (pairs_p == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "choir_select_above: null pairs_p"), call);
	if (isnan(threshold) || threshold < 0)
		return call_named(error_set(CHOIR_ARGUMENT, "choir_select_above: threshold is %g", threshold), call);
	return start(device, &todo, call, event_p);
}

static choir_status check_rows(const char *name, const choir_device *device, choir_dtype ind_dtype, choir_dtype dtype,
                               size_t *row_bytes, size_t width)
{
	TRY(check_device(name, device));
	TRY(check_dtype(name, dtype));
	TRY(check_index_dtype(name, ind_dtype));
	if (width == 0 || width > SIZE_MAX / choir_dtype_bytes(dtype))
		return error_set(CHOIR_ARGUMENT, "%s: rows of width %zu", name, width);
	*row_bytes = width * choir_dtype_bytes(dtype);
	return CHOIR_SUCCESS;
}

/* An operand of rows: its elements are aligned, whole rows counted. */
static struct operand rows_operand(const char *role, choir_buffer buffer, uint64_t rows, uint64_t row_bytes,
                                   choir_dtype dtype, bool read, bool write)
{
	struct operand made = operand_of(role, buffer, rows, row_bytes, read, write);

	made.elem_bytes = (uint32_t)choir_dtype_bytes(dtype);
	return made;
}

/* gather and scatter: one of the tensors has `rows` rows, and one a row for each index. */
static struct device_call rows_call(const struct device_form *form, choir_buffer ind, size_t ind_count,
                                    choir_dtype ind_dtype, size_t rows, size_t width, choir_dtype dtype)
{
	return (struct device_call){
		.form = form,
		.args = { .count = ind_count, .rows = rows, .width = width, .dtype = dtype, .ind_dtype = ind_dtype },
		.operands = { input("ind", ind, ind_count, ind_dtype) },
		.n_operands = 3
	};
}

choir_status choir_gather_rows(choir_device *device, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype,
                               choir_buffer from, size_t rows, size_t width, choir_dtype dtype, choir_buffer to,
                               const choir_call *call, choir_event **event_p)
{
	struct device_call todo = rows_call(&device_form_gather, ind, ind_count, ind_dtype, rows, width, dtype);
	size_t row_bytes;

	TRY(call_named(check_rows(todo.form->name, device, ind_dtype, dtype, &row_bytes, width), call));
	todo.operands[1] = rows_operand("from", from, rows, row_bytes, dtype, true, false);
	todo.operands[2] = rows_operand("to", to, ind_count, row_bytes, dtype, false, true);
	return start(device, &todo, call, event_p);
}

choir_status choir_scatter_rows(choir_device *device, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype,
                                choir_buffer from, choir_buffer to, size_t rows, size_t width, choir_dtype dtype,
                                const choir_call *call, choir_event **event_p)
{
	struct device_call todo = rows_call(&device_form_scatter, ind, ind_count, ind_dtype, rows, width, dtype);
	size_t row_bytes;

	TRY(call_named(check_rows(todo.form->name, device, ind_dtype, dtype, &row_bytes, width), call));
	todo.operands[1] = rows_operand("from", from, ind_count, row_bytes, dtype, true, false);
	todo.operands[2] = rows_operand("to", to, rows, row_bytes, dtype, true, true);
	return start(device, &todo, call, event_p);
}

choir_status choir_intersect(choir_device *device, choir_buffer ind, size_t ind_count, choir_buffer among,
                             size_t among_count, choir_dtype ind_dtype, choir_buffer found, const choir_call *call,
                             choir_event **event_p)
{
	struct device_call todo = {
		.form = &device_form_intersect,
		.args = { .count = ind_count, .among = among_count, .dtype = ind_dtype, .ind_dtype = ind_dtype },
		.operands = { input("ind", ind, ind_count, ind_dtype), input("among", among, among_count, ind_dtype),
		              operand_of("found", found, ind_count, 1, false, true) },
		.n_operands = 3
	};

	TRY(call_named(check_device(todo.form->name, device), call));
	TRY(call_named(check_index_dtype(todo.form->name, ind_dtype), call));
	return start(device, &todo, call, event_p);
}

static choir_status check_coalescing(const struct device_call *todo, const choir_device *device, size_t val_count)
{
	const char *name = todo->form->name;
	choir_op op = todo->args.op;
	uint64_t n = todo->args.count;
	choir_status st;

	TRY(check_device(name, device));
	TRY(check_dtype(name, todo->args.dtype));
	TRY(check_index_dtype(name, todo->args.ind_dtype));
	if (op == CHOIR_OP_MEAN || op == CHOIR_OP_PREMUL_SUM || op == CHOIR_OP_LOCAL)
		return error_set(CHOIR_UNSUPPORTED, "%s: the operator %s needs ranks", name, choir_op_name(op));
	if (dtype_kind(todo->args.dtype) == KIND_PAIR)
		return error_set(CHOIR_UNSUPPORTED, "%s: dtype is %s: rows are numbers, not pairs", name,
		                 choir_dtype_name(todo->args.dtype));
	st = reduce_supported(todo->args.dtype, op);
	if (st != CHOIR_SUCCESS)
		return error_prefix(user_op_is(op) ? st : CHOIR_UNSUPPORTED, "%s", name);
	if (reduce_has_final(op))
		return error_set(CHOIR_UNSUPPORTED, "%s: the final function of operator %s needs ranks", name,
		                 choir_op_name(op));
	if (n == 0 ? val_count != 0 : val_count == 0 || val_count % n != 0)
		return error_set(CHOIR_ARGUMENT, "%s: val_count %zu is no positive multiple of ind_count %zu", name,
		                 val_count, (size_t)n);
	return todo->args.count_p != NULL ? CHOIR_SUCCESS : error_set(CHOIR_ARGUMENT, "%s: null pairs_p", name);
}

choir_status choir_coalesce_rows(choir_device *device, choir_buffer ind, size_t ind_count, choir_buffer val,
                                 size_t val_count, choir_dtype ind_dtype, choir_dtype val_dtype, choir_op op,
                                 choir_buffer to_ind, choir_buffer to_val, size_t *pairs_p, const choir_call *call,
                                 choir_event **event_p)
{
	size_t room = pairs_p != NULL ? *pairs_p : 0, width = ind_count > 0 ? val_count / ind_count : 1;
	struct device_call todo = { .form = &device_form_coalesce,
		                    .args = { .count = ind_count,
		                              .width = width,
		                              .dtype = val_dtype,
		                              .ind_dtype = ind_dtype,
		                              .op = op,
		                              .count_p = pairs_p,
		                              .room = room },
		                    .operands = { input("ind", ind, ind_count, ind_dtype),
		                                  input("val", val, val_count, val_dtype),
		                                  result("to_ind", to_ind, room, ind_dtype) },
		                    .n_operands = 4 };

	TRY(call_named(check_coalescing(&todo, device, val_count), call));
	if (width > SIZE_MAX / choir_dtype_bytes(val_dtype))
		return call_named(error_set(CHOIR_ARGUMENT, "%s: rows of width %zu", todo.form->name, width), call);
	todo.operands[3] =
	    rows_operand("to_val", to_val, room, width * choir_dtype_bytes(val_dtype), val_dtype, false, true);
	return start(device, &todo, call, event_p);
}
