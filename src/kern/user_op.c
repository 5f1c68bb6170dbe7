/* SPDX-License-Identifier: MIT */
/* Design notes.  A reduction goes block by block, so that partial results stay in the first-level cache.  A block is
 * folded in a destination, else in a block of this thread's, and copied to the other destinations.  Where ranks reduce
 * in place, a destination is the first source, or the second of two ranks' and the operator is commutative: folded
 * there, a block is copied once less. */
#include "kern/user_op.h"

#include "base/copy.h"
#include "base/dtype.h"
#include "base/float_control.h"
#include "kern/convert.h"

#include <string.h>

enum { BLOCK_BYTES = 8192, WIDEST = 4 /* an accumulator is so many times as long as its element, at most */ };

struct user_op_elements user_op_elements(const struct user_op *op, choir_dtype dtype, int n_ranks)
{
	choir_dtype acc = dtype_is_narrow(dtype) ? CHOIR_F32 : dtype;

	return (struct user_op_elements){ .op = op,
		                          .dtype = dtype,
		                          .acc_dtype = acc,
		                          .bytes = choir_dtype_bytes(dtype),
		                          .acc_bytes = choir_dtype_bytes(acc),
		                          .n_ranks = n_ranks };
}

/* The first values of accumulators; acc may be from where no accumulator is wider. */
static void begin(const struct user_op_elements *of, void *acc, const void *from, size_t n, bool raw)
{
	const choir_op_config *config = &of->op->config;

	convert_values(of->acc_dtype, acc, of->dtype, from, n);
	if (raw && config->raw != NULL)
		config->raw(config->ctx, acc, n, of->n_ranks, of->acc_dtype);
}

void user_op_fold(const struct user_op_elements *of, void *acc, const void *from, size_t n, bool raw, bool is_first)
{
	_Alignas(64) unsigned char block[BLOCK_BYTES];
	const choir_op_config *config = &of->op->config;
	size_t each = BLOCK_BYTES / of->acc_bytes;

	if (is_first) {
		begin(of, acc, from, n, raw);
		return;
	}
	if (of->acc_dtype == of->dtype && !(raw && config->raw != NULL)) {
		config->fold(config->ctx, acc, from, n, of->acc_dtype);
		return;
	}
	for (size_t at = 0; at < n; at += each) {
		size_t some = n - at < each ? n - at : each;

		begin(of, block, (const unsigned char *)from + at * of->bytes, some, raw);
		config->fold(config->ctx, (unsigned char *)acc + at * of->acc_bytes, block, some, of->acc_dtype);
	}
}

void user_op_finish(const struct user_op_elements *of, void *to, void *acc, size_t n, bool final)
{
	const choir_op_config *config = &of->op->config;

	if (final && config->final != NULL)
		config->final(config->ctx, acc, n, of->n_ranks, of->acc_dtype);
	convert_values(of->dtype, to, of->acc_dtype, acc, n);
}

/* Where blocks are accumulated: destination `in`, n_dst = none of them; and the source that is folded first. */
struct place {
	uint32_t in, first;
};

/* True if sources are read from that destination by a fold that begins with source `first`. */
static bool is_read_later(const struct reduce_call *call, const void *dst, const void *const *src, uint32_t first)
{
	bool read = false;

	for (uint32_t k = 0; k < call->n_src; k++)
		read |= k != first && src[k] == dst;
	return read;
}

/* A cached destination that no later source is read from, best one that is the first source itself. */
static struct place find_place(const struct user_op_elements *of, const struct reduce_call *call, bool swaps,
                               void *const *dst, const void *const *src)
{
	uint32_t n = of->acc_dtype == of->dtype ? call->nt_from < call->n_dst ? call->nt_from : call->n_dst : 0;
	struct place place = { .in = call->n_dst };

	for (uint32_t first = 0; first < (swaps && call->n_src > 1 ? 2 : 1); first++)
		for (uint32_t i = 0; i < n; i++)
			if (src[first] == dst[i] && !is_read_later(call, dst[i], src, first))
				return (struct place){ i, first };
	for (uint32_t i = 0; i < n && place.in == call->n_dst; i++)
		if (!is_read_later(call, dst[i], src, 0))
			place.in = i;
	return place;
}

static void reduce_block(const struct user_op_elements *of, const struct reduce_call *call, void *const *dst,
                         const void *const *src, struct place place, size_t off, size_t n)
{
	_Alignas(64) unsigned char room[BLOCK_BYTES * WIDEST];
	void *acc = place.in < call->n_dst ? (unsigned char *)dst[place.in] + off : room;

	for (uint32_t k = 0; k < call->n_src; k++) {
		uint32_t of_src = k > 1 ? k : k ^ place.first;

		user_op_fold(of, acc, (const unsigned char *)src[of_src] + off, n, of_src >= call->raw_from, k == 0);
	}
	user_op_finish(of, acc, acc, n, call->final);
	for (uint32_t k = 0; k < call->n_dst; k++)
		if (k >= call->nt_from)
			copy_host_nt((unsigned char *)dst[k] + off, acc, n * of->bytes);
		else if (k != place.in)
			copy_host_plain((unsigned char *)dst[k] + off, acc, n * of->bytes);
}

void user_op_reduce(const struct reduce_call *call, bool swaps, void *const *dst, const void *const *src)
{
	struct user_op_elements of = user_op_elements(call->user, call->dtype, call->n_ranks);
	size_t each = BLOCK_BYTES / of.bytes;
	struct place place = find_place(&of, call, swaps, dst, src);
	uint64_t control = float_control_begin();

	for (size_t at = 0; at < call->count; at += each)
		reduce_block(&of, call, dst, src, place, at * of.bytes,
		             call->count - at < each ? call->count - at : each);
	if (call->nt_from < call->n_dst && !call->fence_later)
		copy_host_fence();
	float_control_end(control);
}
