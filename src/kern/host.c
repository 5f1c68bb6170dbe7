/* SPDX-License-Identifier: MIT */
/* Note [several destinations].  Two sources, as two ranks have, are reduced one cache line at a time, and each line is
 * stored from registers to one or two destinations.  More sources are reduced in blocks: a block goes to the first
 * destination, or to a small buffer if that destination takes nt (non-temporal) stores, and is copied from there to the
 * others while it is in the first-level cache.  Small blocks let nt stores keep pace with the loads; in very small ones
 * the copy reads bytes that were only just stored.  BLOCK_BYTES is the fastest size measured between the two. */
#include "base/copy.h"
#include "base/float_control.h"
#include "kern/host_twin.h"

#include <stdatomic.h>
#include <string.h>

#define BLOCK_BYTES 2048

static bool fits_any(void)
{
	return true;
}

#ifdef __x86_64__
/* The builtins also check that the operating system saves the wider registers. */
static bool fits_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
}

static bool fits_avx512(void)
{
	return fits_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

const struct host_level host_levels[] = {
#ifdef __x86_64__
	{ "avx512", fits_avx512, host_avx512_twins },
	{ "avx2", fits_avx2, host_avx2_twins },
#endif
	{ "base", fits_any, host_base_twins },
	{ NULL, NULL, NULL },
};

static const struct host_level *_Atomic level_in_use;

void host_use(const struct host_level *level)
{
	atomic_store_explicit(&level_in_use, level, memory_order_relaxed);
}

static const struct host_twin *twin_of(choir_dtype dtype, choir_op op)
{
	const struct host_level *level = atomic_load_explicit(&level_in_use, memory_order_relaxed);

	if (level == NULL) {
		for (level = host_levels; !level->fits(); level++)
			;
		host_use(level);
	}
	return &level->twins[dtype][op];
}

static const char *defined_for(choir_dtype dtype, choir_op op)
{
	if (op == CHOIR_OP_MINLOC || op == CHOIR_OP_MAXLOC)
		return "pairs of a value and an index";
	if (dtype_kind(dtype) == KIND_PAIR)
		return "numbers";
	return op == CHOIR_OP_PREMUL_SUM ? "floating-point types" : "integers and bool";
}

choir_status reduce_user_supported(const struct user_op *op, choir_dtype dtype)
{
	if (op->config.dtypes == 0 || (op->config.dtypes >> dtype & 1) != 0)
		return CHOIR_SUCCESS;
	return error_set(CHOIR_UNSUPPORTED, "operator '%s' is not for %s, as its dtypes say", op->name,
	                 choir_dtype_name(dtype));
}

static choir_status user_op_supported(choir_dtype dtype, choir_op number)
{
	struct user_op *op;
	choir_status st;

	TRY(user_op_find("the operator", number, &op));
	st = reduce_user_supported(op, dtype);
	user_op_release(op);
	return st;
}

choir_status reduce_supported(choir_dtype dtype, choir_op op)
{
	if ((uint32_t)dtype >= N_DTYPES)
		return error_set(CHOIR_ARGUMENT, "%d is no data type", (int)dtype);
	if (user_op_is(op))
		return user_op_supported(dtype, op);
	if ((uint32_t)op >= N_OPS)
		return error_set(CHOIR_ARGUMENT, "%d is no operator", (int)op);
	if (twin_of(dtype, op)->reduce == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s is not defined for %s: it is for %s", choir_op_name(op),
		                 choir_dtype_name(dtype), defined_for(dtype, op));
	return CHOIR_SUCCESS;
}

bool reduce_is_exact(choir_dtype dtype, choir_op op)
{
	/* Pairs that are equal may have zeros of either sign. */
	bool has_float = dtype_is_float(dtype) || dtype == CHOIR_F32_I32 || dtype == CHOIR_F64_I32;

	return (!has_float && !user_op_is(op)) || op == CHOIR_OP_LOCAL;
}

static bool is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

bool reduce_has_final(choir_op op)
{
	const struct user_op *user = user_op_held(op);

	return op == CHOIR_OP_MEAN || (user != NULL && user->has_final);
}

bool reduce_has_raw(choir_op op)
{
	const struct user_op *user = user_op_held(op);

	return op == CHOIR_OP_SQUARE_ADD || is_logical(op) || (user != NULL && user->has_raw);
}

/* Reduces elements first .. first + n - 1 into all destinations; n is BLOCK_BYTES, and up to a line more in the first
 * block. */
static void reduce_block(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                         const void *const *src, size_t first, size_t n)
{
	_Alignas(HOST_LINE_BYTES) unsigned char buffer[BLOCK_BYTES + HOST_LINE_BYTES];
	size_t elem_bytes = choir_dtype_bytes(call->dtype), off = first * elem_bytes, bytes = n * elem_bytes;
	uint32_t k = call->nt_from > 0 ? 1 : 0;
	void *result = k == 1 ? (unsigned char *)dst[0] + off : buffer;

	twin->reduce(call, result, src, first, n);
	for (; k < call->n_dst; k++)
		if (k < call->nt_from)
			memcpy((unsigned char *)dst[k] + off, result, bytes);
		else
			copy_host_nt((unsigned char *)dst[k] + off, result, bytes);
}

/* Blocks end at a line of the first destination with nt stores, so that these write whole lines. */
static void reduce_by_blocks(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                             const void *const *src)
{
	size_t elem_bytes = choir_dtype_bytes(call->dtype), block = BLOCK_BYTES / elem_bytes, n;
	bool has_nt = call->nt_from < call->n_dst;
	uintptr_t at = has_nt ? (uintptr_t)dst[call->nt_from] : 0;
	size_t head = -at % HOST_LINE_BYTES / elem_bytes;

	for (size_t first = 0; first < call->count; first += n) {
		n = first == 0 ? block + head : block;
		n = n < call->count - first ? n : call->count - first;
		reduce_block(twin, call, dst, src, first, n);
	}
	if (has_nt && !call->fence_later)
		copy_host_fence();
}

/* True for two sources and one or two destinations, where cache lines of all nt destinations begin at the same
 * elements. */
static bool fits_lines(const struct reduce_call *call, void *const *dst)
{
	uintptr_t at = call->nt_from < call->n_dst ? (uintptr_t)dst[call->nt_from] : 0;
	bool fits = call->n_src == 2 && call->n_dst <= 2 && at % choir_dtype_bytes(call->dtype) == 0;

	for (uint32_t k = call->nt_from; k < call->n_dst; k++)
		fits &= (uintptr_t)dst[k] % HOST_LINE_BYTES == at % HOST_LINE_BYTES;
	return fits;
}

/* Reduces n elements, less than a line. */
static void reduce_few(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                       const void *const *src, size_t first, size_t n)
{
	size_t elem_bytes = choir_dtype_bytes(call->dtype), off = first * elem_bytes;

	if (n == 0)
		return;
	twin->reduce(call, (unsigned char *)dst[0] + off, src, first, n);
	if (call->n_dst == 2)
		memcpy((unsigned char *)dst[1] + off, (const unsigned char *)dst[0] + off, n * elem_bytes);
}

static void reduce_by_lines(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                            const void *const *src)
{
	size_t elem_bytes = choir_dtype_bytes(call->dtype), each = HOST_LINE_BYTES / elem_bytes;
	bool has_nt = call->nt_from < call->n_dst;
	uintptr_t at = (uintptr_t)dst[has_nt ? call->nt_from : 0];
	size_t to_line = -at % HOST_LINE_BYTES / elem_bytes, head = to_line < call->count ? to_line : call->count,
	       lines = (call->count - head) / each;
	struct host_lines to = { .first = (unsigned char *)dst[0] + head * elem_bytes,
		                 .first_nt = call->nt_from == 0,
		                 .second_nt = call->nt_from <= 1 };

	if (call->n_dst == 2)
		to.second = (unsigned char *)dst[1] + head * elem_bytes;
	reduce_few(twin, call, dst, src, 0, head);
	twin->reduce_lines(call, &to, src, head, lines);
	reduce_few(twin, call, dst, src, head + lines * each, (call->count - head) % each);
	if (has_nt && !call->fence_later)
		copy_host_fence();
}

void reduce_host(const struct reduce_call *call, void *const *dst, const void *const *src)
{
	const struct host_twin *twin = twin_of(call->dtype, call->op);
	uint64_t control = float_control_begin();

	if (call->n_dst == 1 && call->nt_from > 0)
		twin->reduce(call, dst[0], src, 0, call->count);
	else if (fits_lines(call, dst))
		reduce_by_lines(twin, call, dst, src);
	else
		reduce_by_blocks(twin, call, dst, src);
	float_control_end(control);
}

void reduce_identity(choir_dtype dtype, choir_op op, void *out)
{
	twin_of(dtype, op)->identity(out);
}
