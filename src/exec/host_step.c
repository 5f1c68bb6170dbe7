/* SPDX-License-Identifier: MIT */
/* Steps between memory that the host reaches: copies and reductions on this thread, one piece a call, so that other
 * runs get their turn.  Where the caller's buffer is a list (exec/segments.h), a piece goes from segment to segment. */
#include "exec/steps.h"

#include "base/copy.h"
#include "exec/operand.h"
#include "exec/span_table.h"
#include "kern/user_op.h"

#include <stdlib.h>

static uint64_t next_piece(const struct run *run, const struct plan_step *step)
{
	uint64_t left = step->len - run->board.bytes_done;

	return left < STEP_PIECE_BYTES ? left : STEP_PIECE_BYTES;
}

enum { FEW_OPERANDS = 16, FETCHED_BYTES = 256, LINE_BYTES = 64 };

/* The operands of a step: n_dst destinations, those from nt_from on written by nt stores, then its sources. */
struct operands {
	uint32_t n_dst, nt_from, n;
	bool swaps;            /* an operator of the caller's: the first two sources may be folded in either order */
	struct plan_ref *refs; /* [n] */
	void **at;             /* [n] their addresses in the span at hand */
	void **next;           /* [n] and in the span after it */
};

/* The addresses of all operands at `off` of the step; how many of `bytes` bytes follow there without a gap in each. */
static uint64_t locate(struct run *run, const struct operands *o, uint64_t off, uint64_t bytes, void **at)
{
	for (uint32_t i = 0; i < o->n; i++) {
		struct plan_ref ref = o->refs[i];

		ref.off += off;
		at[i] = operand_span(run, ref, &bytes);
	}
	return bytes;
}

/* The beginning of the next span: a step of many short spans takes most of its time to fetch them. */
static void fetch(const struct operands *o, uint64_t span)
{
	uint64_t bytes = span < FETCHED_BYTES ? span : FETCHED_BYTES;

	for (uint32_t i = 0; i < o->n; i++)
		for (uint64_t off = 0; off < bytes && (i < o->nt_from || i >= o->n_dst); off += LINE_BYTES)
			__builtin_prefetch((const unsigned char *)o->next[i] + off);
}

static void copy_span(const struct operands *o, uint64_t span)
{
	if (o->nt_from == 0)
		copy_host_nt(o->at[0], o->at[1], span);
	else if (o->at[0] != o->at[1]) /* a tensor in place, and a plan that does not know */
		copy_host_plain(o->at[0], o->at[1], span);
}

static void reduce_span(const struct operands *o, struct reduce_call *call, uint64_t span)
{
	call->count = span / choir_dtype_bytes(call->dtype);
	if (call->user != NULL)
		user_op_reduce(call, o->swaps, o->at, (const void *const *)(o->at + o->n_dst));
	else
		reduce_host(call, o->at, (const void *const *)(o->at + o->n_dst));
}

/* The span at hand; call: of a REDUCE; NULL = a COPY. */
static void do_span(const struct operands *o, struct reduce_call *call, uint64_t span)
{
	if (call != NULL)
		reduce_span(o, call, span);
	else
		copy_span(o, span);
}

static void take_next_span(struct operands *o)
{
	void **at = o->at;

	o->at = o->next;
	o->next = at;
}

static void do_known_spans(struct run *run, struct operands *o, struct reduce_call *call,
                           const struct step_spans *known)
{
	for (uint32_t i = 0; i < known->n; i++) {
		o->at = known->spans[i].at;
		o->next = known->spans[i + 1 < known->n ? i + 1 : i].at;
		fetch(o, known->spans[i + 1 < known->n ? i + 1 : i].bytes);
		do_span(o, call, known->spans[i].bytes);
		run->board.bytes_done += known->spans[i].bytes;
	}
}

/* Each span is located, and its beginning fetched, before the work on the one before it.  table: NULL, or where they
 * are kept. */
static void do_new_spans(struct run *run, struct operands *o, struct reduce_call *call, uint64_t left,
                         struct step_spans *table)
{
	uint64_t span = locate(run, o, run->board.bytes_done, left, o->at);

	while (left > 0) {
		uint64_t next = 0;

		if (table != NULL && !span_table_add(table, span, o->at, o->n)) {
			table->n = 0;
			table = NULL;
		}
		if (span < left) {
			next = locate(run, o, run->board.bytes_done + span, left - span, o->next);
			fetch(o, next);
		}
		do_span(o, call, span);
		run->board.bytes_done += span;
		left -= span;
		span = next;
		take_next_span(o);
	}
}

/* The next piece, span by span. */
static void do_piece(struct run *run, const struct plan_step *step, struct operands *o, struct reduce_call *call)
{
	bool whole = run->bound.lists && step->len <= STEP_PIECE_BYTES;
	struct step_spans *table = whole ? span_table_of(run, step, o->refs, o->n, o->nt_from) : NULL;

	if (table != NULL && table->n > 0)
		do_known_spans(run, o, call, table);
	else
		do_new_spans(run, o, call, next_piece(run, step), table);
	if (o->nt_from < o->n_dst)
		copy_host_fence();
}

choir_status steps_host_copy(struct run *run, const struct plan_step *step, bool *done)
{
	struct plan_ref refs[2];
	void *at[4];
	struct operands o = { .n_dst = 1, .n = 2, .refs = refs, .at = at, .next = at + 2 };

	o.nt_from = operand_refs(run, step, refs);
	do_piece(run, step, &o, NULL);
	*done = run->board.bytes_done == step->len;
	return CHOIR_SUCCESS;
}

choir_status steps_host_reduce(struct run *run, const struct plan_step *step, bool *done)
{
	struct operands o = { .n_dst = step->n_more + 1,
		              .n = step->n_more + 1 + step->n_src,
		              .swaps = run->bound.in.fold_order == PLAN_ORDER_ANY };
	struct plan_ref few_refs[FEW_OPERANDS];
	void *few_at[2 * FEW_OPERANDS];
	struct reduce_call call;
	bool many = o.n > FEW_OPERANDS;
	void *room = many ? malloc(o.n * (sizeof *o.refs + 2 * sizeof *o.at)) : NULL;

	if (many && room == NULL)
		return error_no_memory("operands of a reduction", o.n * (sizeof *o.refs + 2 * sizeof *o.at));
	o.refs = many ? room : few_refs;
	o.at = many ? (void **)(void *)(o.refs + o.n) : few_at;
	o.next = o.at + o.n;
	o.nt_from = operand_refs(run, step, o.refs);
	operand_reduce_call(run, step, 0, &call);
	call.n_dst = o.n_dst;
	call.nt_from = o.nt_from;
	call.fence_later = true;
	do_piece(run, step, &o, &call);
	free(room);
	if (call.user != NULL) /* its functions may have failed the comm: no peer is to read what they left */
		TRY(comm_failure_inside(run->comm));
	*done = run->board.bytes_done == step->len;
	return CHOIR_SUCCESS;
}
