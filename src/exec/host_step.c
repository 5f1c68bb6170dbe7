/* SPDX-License-Identifier: MIT */
/* Steps between memory that the host reaches: copies and reductions on this thread, one piece a call, so that other runs get their turn.  Where the caller's buffer
 * is many (exec/segments.h), a piece goes from segment to segment. */
#include "exec/steps.h"

#include "base/copy.h"
#include "kern/reduce.h"

#include <stdlib.h>
#include <string.h>

/* Which destinations are written past the cache: Note [past the cache] where peers read them; the callers' own buffers where they do not fit the shared cache. */
static bool is_past(const struct run *run, const struct plan_step *step, struct plan_ref dst)
{
	if (step->len < STORES_BYTES)
		return false;
	if (dst.buf == PLAN_SLOT)
		return run->past;
	if (dst.buf == PLAN_PEER_RECV)
		return run->past || run->plan->stream;
	return dst.buf == PLAN_RECV && run->plan->stream;
}

static bool any_past(const struct run *run, const struct plan_step *step)
{
	bool any = is_past(run, step, step->dst);

	for (uint32_t i = 0; i < step->n_more; i++)
		any |= is_past(run, step, run->plan->refs[step->more_first + i]);
	return any;
}

static uint64_t next_piece(const struct run *run, const struct plan_step *step)
{
	uint64_t left = step->len - run->board.piece;

	return left < STEP_PIECE_BYTES ? left : STEP_PIECE_BYTES;
}

/* Where the step stands now in what it refers to. */
static unsigned char *now_at(struct run *run, struct plan_ref ref)
{
	ref.off += run->board.piece;
	return steps_host(run, ref);
}

/* How many of `bytes` bytes lie together in the segments of a reference. */
static uint64_t together(struct segments *segments, uint64_t off, uint64_t bytes)
{
	uint64_t span = segments->n > 0 ? segments_find(segments, off)[1].from - off : bytes;

	return span < bytes ? span : bytes;
}

static uint64_t span_at(struct run *run, struct plan_ref ref, uint64_t bytes)
{
	if (ref.buf == PLAN_SEND || ref.buf == PLAN_PEER_SEND)
		return together(&run->send_list, ref.off + run->board.piece, bytes);
	if (ref.buf == PLAN_RECV || ref.buf == PLAN_PEER_RECV)
		return together(&run->recv_list, ref.off + run->board.piece, bytes);
	return bytes;
}

/* How far the step can go before one of its buffers ends. */
static uint64_t next_span(struct run *run, const struct plan_step *step, uint64_t bytes)
{
	if (run->lists == NULL)
		return bytes;
	bytes = span_at(run, step->dst, bytes);
	for (uint32_t i = 0; i < step->n_more; i++)
		bytes = span_at(run, run->plan->refs[step->more_first + i], bytes);
	for (uint32_t i = 0; i < step->n_src; i++)
		bytes = span_at(run, run->plan->refs[step->src_first + i], bytes);
	return bytes;
}

bool steps_host_copy(struct run *run, const struct plan_step *step)
{
	bool past = is_past(run, step, step->dst);

	for (uint64_t left = next_piece(run, step), span; left > 0; left -= span) {
		void *dst = now_at(run, step->dst), *src = now_at(run, run->plan->refs[step->src_first]);

		span = next_span(run, step, left);
		if (past)
			copy_host_stream(dst, src, span);
		else if (dst != src) /* a tensor in place, and a plan that does not know */
			copy_host_plain(dst, src, span);
		run->board.piece += span;
	}
	if (past)
		copy_host_fence();
	return run->board.piece == step->len;
}

void steps_reduce_call(const struct run *run, const struct plan_step *step, uint64_t len, struct reduce_call *call)
{
	*call = (struct reduce_call){
		.dtype = run->dtype,
		.op = run->op,
		.n_src = step->n_src,
		.raw_from = step->raw == PLAN_RAW_ALL ? 0 : step->raw == PLAN_RAW_REST ? 1 : step->n_src,
		.final = step->final,
		.n_ranks = run->comm->n,
		.factor = run->factor,
		.n_dst = 1,
		.stream_from = 1,
		.count = len / run->plan->elem_bytes,
	};
}

enum { FEW_OPERANDS = 32 };

static choir_status reduce_span(struct run *run, const struct plan_step *step, uint64_t span)
{
	const struct plan_ref *more = &run->plan->refs[step->more_first], *source = &run->plan->refs[step->src_first];
	uint32_t n_dst = step->n_more + 1, n = n_dst + step->n_src;
	void *few[FEW_OPERANDS], **dst = few;
	const void **src;
	struct reduce_call call;

	steps_reduce_call(run, step, span, &call);
	if (n > FEW_OPERANDS && (dst = malloc(n * sizeof *dst)) == NULL)
		return error_no_memory("operands of a reduction", n * sizeof *dst);
	src = (const void **)(dst + n_dst);
	call.stream_from = n_dst;
	call.fence_later = true;
	for (uint32_t i = 0, next = 0; i < n_dst; i++) { /* streamed ones are the last */
		struct plan_ref ref = i > 0 ? more[i - 1] : step->dst;

		dst[is_past(run, step, ref) ? --call.stream_from : next++] = now_at(run, ref);
	}
	for (uint32_t i = 0; i < step->n_src; i++)
		src[i] = now_at(run, source[i]);
	call.n_dst = n_dst;
	reduce_host(&call, dst, src);
	if (dst != few)
		free(dst);
	return CHOIR_SUCCESS;
}

choir_status steps_host_reduce(struct run *run, const struct plan_step *step, bool *done)
{
	for (uint64_t left = next_piece(run, step), span; left > 0; left -= span) {
		span = next_span(run, step, left);
		TRY(reduce_span(run, step, span));
		run->board.piece += span;
	}
	if (any_past(run, step))
		copy_host_fence();
	*done = run->board.piece == step->len;
	return CHOIR_SUCCESS;
}
