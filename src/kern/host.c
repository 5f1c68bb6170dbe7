/* SPDX-License-Identifier: MIT */
/* Note [several destinations].  Two sources, as two ranks have, go line by line from the registers to one or two
 * destinations.  Else a block is reduced into the first destination, or, if that is written past the cache, into a
 * small buffer; from there, still in the first cache, it goes to the others.  The block is small because stores past
 * the cache must keep pace with the loads, and not too small because the copy reads what has only just been stored.  On
 * a Zen 4, f32, 2 sources of 16 MB (bytes read and written): blocks of 1 KB 34 GB/s, of 2 KB 42, of 4 KB 34; without
 * stores past the cache 22.  Two ranks that write 2 MB of sums into both their buffers, through the cache: 76 us in
 * blocks, 57 in lines. */
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
/* The builtins ask the operating system too, which has to keep the wider registers. */
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

static const char *defined_for(choir_op op)
{
	if (op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR)
		return "bool only";
	return op == CHOIR_OP_PREMUL_SUM ? "floating-point types" : "integers and bool";
}

choir_status reduce_supported(choir_dtype dtype, choir_op op)
{
	if ((uint32_t)dtype >= HOST_DTYPES)
		return error_set(CHOIR_ARGUMENT, "%d is no data type", (int)dtype);
	if ((uint32_t)op >= HOST_OPS)
		return error_set(CHOIR_ARGUMENT, "%d is no operator", (int)op);
	if (twin_of(dtype, op)->reduce == NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s is not defined for %s: it is for %s", choir_op_name(op),
		                 choir_dtype_name(dtype), defined_for(op));
	return CHOIR_SUCCESS;
}

bool reduce_has_final(choir_op op)
{
	return op == CHOIR_OP_MEAN;
}

/* Elements first .. first + n - 1: at most BLOCK_BYTES, and less than a line for the first block. */
static void spread_block(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                         const void *const *src, size_t first, size_t n)
{
	_Alignas(HOST_LINE_BYTES) unsigned char buffer[BLOCK_BYTES + HOST_LINE_BYTES];
	size_t elem_bytes = choir_dtype_bytes(call->dtype), off = first * elem_bytes, bytes = n * elem_bytes;
	uint32_t k = call->stream_from > 0 ? 1 : 0;
	void *result = k == 1 ? (unsigned char *)dst[0] + off : buffer;

	twin->reduce(call, result, src, first, n);
	for (; k < call->n_dst; k++)
		if (k < call->stream_from)
			memcpy((unsigned char *)dst[k] + off, result, bytes);
		else
			copy_host_nt((unsigned char *)dst[k] + off, result, bytes);
}

/* Blocks end where a line of the first streamed destination ends, so that it is written in whole lines. */
static void spread(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                   const void *const *src)
{
	size_t elem_bytes = choir_dtype_bytes(call->dtype), block = BLOCK_BYTES / elem_bytes, n;
	bool streams = call->stream_from < call->n_dst;
	uintptr_t at = streams ? (uintptr_t)dst[call->stream_from] : 0;
	size_t head = -at % HOST_LINE_BYTES / elem_bytes;

	for (size_t first = 0; first < call->count; first += n) {
		n = first == 0 ? block + head : block;
		n = n < call->count - first ? n : call->count - first;
		spread_block(twin, call, dst, src, first, n);
	}
	if (streams && !call->fence_later)
		copy_host_fence();
}

/* Two sources to one or two destinations, of which those that are streamed begin their lines at the same elements. */
static bool goes_by_lines(const struct reduce_call *call, void *const *dst)
{
	uintptr_t at = call->stream_from < call->n_dst ? (uintptr_t)dst[call->stream_from] : 0;
	bool may = call->n_src == 2 && call->n_dst <= 2 && at % choir_dtype_bytes(call->dtype) == 0;

	for (uint32_t k = call->stream_from; k < call->n_dst; k++)
		may &= (uintptr_t)dst[k] % HOST_LINE_BYTES == at % HOST_LINE_BYTES;
	return may;
}

/* Less than a line. */
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

static void by_lines(const struct host_twin *twin, const struct reduce_call *call, void *const *dst,
                     const void *const *src)
{
	size_t elem_bytes = choir_dtype_bytes(call->dtype), each = HOST_LINE_BYTES / elem_bytes;
	bool streams = call->stream_from < call->n_dst;
	uintptr_t at = (uintptr_t)dst[streams ? call->stream_from : 0];
	size_t to_line = -at % HOST_LINE_BYTES / elem_bytes, head = to_line < call->count ? to_line : call->count,
	       lines = (call->count - head) / each;
	struct host_lines to = { .first = (unsigned char *)dst[0] + head * elem_bytes,
		                 .first_past = call->stream_from == 0,
		                 .second_past = call->stream_from <= 1 };

	if (call->n_dst == 2)
		to.second = (unsigned char *)dst[1] + head * elem_bytes;
	reduce_few(twin, call, dst, src, 0, head);
	twin->reduce_lines(call, &to, src, head, lines);
	reduce_few(twin, call, dst, src, head + lines * each, (call->count - head) % each);
	if (streams && !call->fence_later)
		copy_host_fence();
}

void reduce_host(const struct reduce_call *call, void *const *dst, const void *const *src)
{
	const struct host_twin *twin = twin_of(call->dtype, call->op);
	uint64_t control = float_control_begin();

	if (call->n_dst == 1 && call->stream_from > 0)
		twin->reduce(call, dst[0], src, 0, call->count);
	else if (goes_by_lines(call, dst))
		by_lines(twin, call, dst, src);
	else
		spread(twin, call, dst, src);
	float_control_end(control);
}

void reduce_identity(choir_dtype dtype, choir_op op, void *out)
{
	twin_of(dtype, op)->identity(out);
}
