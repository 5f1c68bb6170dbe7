/* SPDX-License-Identifier: MIT */
/* Launches of cl/reduce.cl. */
#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/float_control.h"
#include "dev/launch.h"
#include "kern/reduce.h"

#include <stdio.h>

#define SOURCE      "reduce.cl"
#define FAN_IN      8 /* sources of one launch */
#define FROM_PART   1
#define TO_PART     2
#define GROUP_ITEMS 256
#define PAGE_BYTES  4096

static const char *const dtype_options[] = {
#define CHOIR_DTYPE(name, number, text, bytes, kind) [number] = #name,
#include <choir/dtype.def>
#undef CHOIR_DTYPE
};

static const char *const op_options[] = {
#define CHOIR_OP(name, number, text, about) [number] = #name,
#include <choir/op.def>
#undef CHOIR_OP
};

const char *reduce_dtype_option(choir_dtype dtype)
{
	return dtype_options[dtype];
}

const char *reduce_op_option(choir_op op, char text[REDUCE_OP_OPTION_BYTES])
{
	const struct user_op *user = user_op_held(op);

	if (user == NULL)
		return op_options[op];
	snprintf(text, REDUCE_OP_OPTION_BYTES, "USER " DEV_TEXT_OPTION "%016llx", (unsigned long long)user->text_hash);
	return text;
}

struct options {
	char text[96];
};

/* A width of 1 is not said: the programs of CPUs, which keep what they built on disk, stay the same. */
static struct options options_of(const choir_device *device, choir_dtype dtype, choir_op op)
{
	unsigned width = dev_vector_width(device, choir_dtype_bytes(dtype));
	char text[REDUCE_OP_OPTION_BYTES], wide[24] = "";
	struct options options;

	if (width > 1)
		snprintf(wide, sizeof wide, " -D WIDTH=%u", width);
	snprintf(options.text, sizeof options.text, "-D DTYPE=%s -D OP=%s%s", reduce_dtype_option(dtype),
	         reduce_op_option(op, text), wide);
	return options;
}

static choir_status user_text_supported(choir_device *device, const struct user_op *op, choir_dtype dtype)
{
	TRY(reduce_user_supported(op, dtype));
	if (op->text == NULL)
		return error_set(CHOIR_UNSUPPORTED, "operator '%s' has no fold_text, which kernels need", op->name);
	if (dev_is_host(device))
		return error_set(CHOIR_UNSUPPORTED,
		                 "operator '%s' has no fold function, and the device, host memory "
		                 "alone, has no kernels",
		                 op->name);
	return CHOIR_SUCCESS;
}

/* Sums of the narrower types but bf16 are normal f32; products of them, and what a caller's operator makes, need not
 * be. */
static bool makes_denormals(choir_dtype dtype, choir_op op)
{
	return dtype == CHOIR_F32 || dtype == CHOIR_F32_I32 || dtype == CHOIR_BF16 ||
	       (dtype_is_narrow(dtype) && (op == CHOIR_OP_PROD || user_op_is(op)));
}

choir_status reduce_kernel_supported(choir_device *device, choir_dtype dtype, choir_op op)
{
	const struct user_op *user = user_op_held(op); /* a call under way may have a destroyed one */

	TRY(user != NULL ? user_text_supported(device, user, dtype) : reduce_supported(dtype, op));
	if ((dtype == CHOIR_F64 || dtype == CHOIR_F64_I32) && !dev_has_fp64(device))
		return error_set(CHOIR_UNSUPPORTED, "the device has no fp64: %s reduces on the host",
		                 choir_dtype_name(dtype));
	if (makes_denormals(dtype, op) && !dev_keeps_denormals(device) && (user == NULL || user->config.fold != NULL))
		return error_set(CHOIR_UNSUPPORTED, "the device makes denormal numbers 0: %s reduces on the host",
		                 choir_dtype_name(dtype));
	if (op == CHOIR_OP_MEAN && (dtype == CHOIR_F32 || dtype_is_narrow(dtype)) && !dev_divides_exactly(device))
		return error_set(CHOIR_UNSUPPORTED,
		                 "the device does not divide exactly: a mean of %s is taken on the host",
		                 choir_dtype_name(dtype));
	return CHOIR_SUCCESS;
}

choir_status reduce_possible(choir_device *device, choir_dtype dtype, choir_op op)
{
	struct user_op *user;
	choir_status st = CHOIR_SUCCESS;

	TRY(reduce_supported(dtype, op));
	if (!user_op_is(op))
		return CHOIR_SUCCESS;
	TRY(user_op_find("a reduction", op, &user));
	if (user->config.fold == NULL)
		st = reduce_kernel_supported(device, dtype, op);
	user_op_release(user);
	return st;
}

choir_status reduce_kernel_warm(choir_device *device, choir_dtype dtype, choir_op op)
{
	struct options options;
	cl_kernel kernel;

	choir_status st;

	TRY(reduce_kernel_supported(device, dtype, op));
	options = options_of(device, dtype, op);
	st = dev_kernel_take(device, SOURCE, options.text, "reduce_two", &kernel);
	if (st != CHOIR_SUCCESS)
		return user_op_is(op) && st == CHOIR_OPENCL ? error_set(CHOIR_ARGUMENT, "%s", error_text()) : st;
	dev_kernel_give(device, SOURCE, options.text, "reduce_two", kernel);
	return CHOIR_SUCCESS;
}

/* Arguments are set one after another; the first failure sticks. */
struct arguments {
	cl_kernel kernel;
	cl_uint next;
	cl_int rc;
};

static void set(struct arguments *args, size_t bytes, const void *value)
{
	if (args->rc == CL_SUCCESS)
		args->rc = clSetKernelArg(args->kernel, args->next++, bytes, value);
}

static void set_operand(struct arguments *args, struct reduce_operand operand, size_t elem_bytes)
{
	cl_ulong elements = operand.off / elem_bytes;

	set(args, sizeof operand.mem, &operand.mem);
	set(args, sizeof elements, &elements);
}

static choir_status launch(choir_device *device, struct arguments *args, const struct reduce_call *call,
                           cl_event *event_p)
{
	size_t group = launch_kernel_group(device, args->kernel, GROUP_ITEMS);
	uint64_t width = dev_vector_width(device, choir_dtype_bytes(call->dtype));
	uint64_t items = (call->count + width - 1) / width;

	if (args->rc != CL_SUCCESS)
		return error_cl("clSetKernelArg", args->rc);
	return dev_launch(device, args->kernel, round_up(items, group), group, event_p);
}

/* Bit k: source first + k holds original values. */
static cl_uint raw_bits(const struct reduce_call *call, uint32_t first, uint32_t n)
{
	cl_uint bits = 0;

	for (uint32_t k = 0; k < n; k++)
		if (first + k >= call->raw_from)
			bits |= 1u << k;
	return bits;
}

/* Not inlined, so that the conversion stays between float_control_begin and float_control_end. */
static cl_float __attribute__((noinline)) narrowed(cl_double factor)
{
	return (cl_float)factor;
}

/* The kernel's parameter is a float unless dtype is f64, so that devices need no fp64 for it. */
static void set_factor(struct arguments *args, const struct reduce_call *call)
{
	cl_double wide = call->factor;
	uint64_t control = float_control_begin();
	cl_float narrow = narrowed(call->factor);

	float_control_end(control);
	if (call->dtype == CHOIR_F64)
		set(args, sizeof wide, &wide);
	else
		set(args, sizeof narrow, &narrow);
}

static choir_status start_two(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                              const struct reduce_operand *src, cl_event *event_p)
{
	struct options options = options_of(device, call->dtype, call->op);
	struct arguments args = { .rc = CL_SUCCESS };
	size_t elem_bytes = choir_dtype_bytes(call->dtype);
	cl_ulong count = call->count;
	cl_uint raw = raw_bits(call, 0, 2);
	cl_int n_final = call->final ? call->n_ranks : 0;

	TRY(dev_kernel_take(device, SOURCE, options.text, "reduce_two", &args.kernel));
	set_operand(&args, dst, elem_bytes);
	set_operand(&args, src[0], elem_bytes);
	set_operand(&args, src[1], elem_bytes);
	set(&args, sizeof count, &count);
	set(&args, sizeof raw, &raw);
	set(&args, sizeof n_final, &n_final);
	set_factor(&args, call);
	choir_status st = launch(device, &args, call, event_p);
	dev_kernel_give(device, SOURCE, options.text, "reduce_two", args.kernel);
	return st;
}

/* Reduces sources first .. first + n - 1 of the call; part may be NULL where no flag uses it. */
static choir_status start_many(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                               const struct reduce_operand *src, uint32_t first, uint32_t n, cl_mem part, cl_uint flags,
                               cl_event *event_p)
{
	struct options options = options_of(device, call->dtype, call->op);
	struct arguments args = { .rc = CL_SUCCESS };
	size_t elem_bytes = choir_dtype_bytes(call->dtype);
	cl_ulong count = call->count;
	cl_uint n_src = n, raw = raw_bits(call, first, n);
	cl_int n_final = call->final && (flags & TO_PART) == 0 ? call->n_ranks : 0;
	cl_mem part_arg = part != NULL ? part : dst.mem;

	TRY(dev_kernel_take(device, SOURCE, options.text, "reduce_many", &args.kernel));
	set_operand(&args, dst, elem_bytes);
	for (uint32_t k = 0; k < FAN_IN; k++)
		set_operand(&args, src[k < n ? first + k : first], elem_bytes);
	set(&args, sizeof n_src, &n_src);
	set(&args, sizeof raw, &raw);
	set(&args, sizeof part_arg, &part_arg);
	set(&args, sizeof flags, &flags);
	set(&args, sizeof count, &count);
	set(&args, sizeof n_final, &n_final);
	set_factor(&args, call);
	choir_status st = launch(device, &args, call, event_p);
	dev_kernel_give(device, SOURCE, options.text, "reduce_many", args.kernel);
	return st;
}

/* A buffer of its own carries partial results from launch to launch, since they keep ACC's precision and dst may be a
 * source of a later launch. */
static choir_status start_in_turns(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                                   const struct reduce_operand *src, cl_event *event_p)
{
	choir_status st = CHOIR_SUCCESS;
	cl_mem part;

	if (call->count > UINT64_MAX / 2 / dtype_acc_bytes(call->dtype))
		return error_set(CHOIR_ARGUMENT, "a reduction of %llu elements", (unsigned long long)call->count);
	/* Whole pages: Oclgrind 21.10 gives a new buffer the number and size of a freed one, and reports bytes beyond
	 * that size as uninitialised. */
	uint64_t pages = (call->count * dtype_acc_bytes(call->dtype) + PAGE_BYTES - 1) / PAGE_BYTES;
	TRY(dev_buffer_create(device, pages * PAGE_BYTES, &part));
	for (uint32_t first = 0; first < call->n_src && st == CHOIR_SUCCESS; first += FAN_IN) {
		uint32_t n = call->n_src - first < FAN_IN ? call->n_src - first : FAN_IN;
		bool last = first + n == call->n_src;
		cl_uint flags = (first > 0 ? FROM_PART : 0) | (last ? 0 : TO_PART);

		st = start_many(device, call, dst, src, first, n, part, flags, last ? event_p : NULL);
	}
	dev_buffer_free(part); /* the commands hold it */
	return st;
}

choir_status reduce_kernel_start(choir_device *device, const struct reduce_call *call, struct reduce_operand dst,
                                 const struct reduce_operand *src, cl_event *event_p)
{
	TRY(reduce_kernel_supported(device, call->dtype, call->op));
	if (call->n_src == 0)
		return error_set(CHOIR_ARGUMENT, "a reduction of no sources");
	if (call->n_dst != 1)
		return error_set(CHOIR_ARGUMENT, "a kernel writes one destination, not %u", call->n_dst);
	if (call->count == 0)
		return event_p != NULL ? dev_marker(dev_queue(device), event_p) : CHOIR_SUCCESS;
	if (call->n_src == 2)
		return start_two(device, call, dst, src, event_p);
	if (call->n_src <= FAN_IN)
		return start_many(device, call, dst, src, 0, call->n_src, NULL, 0, event_p);
	return start_in_turns(device, call, dst, src, event_p);
}
