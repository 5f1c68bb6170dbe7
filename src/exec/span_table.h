/* SPDX-License-Identifier: MIT */
/* The span table of a part whose buffers are lists: the addresses of all spans of its first steps, found by the call
 * that executed it first.  A span is what lies together in all operands of a step, so a step has about as many as
 * the list has tensors. */
#ifndef EXEC_SPAN_TABLE_H
#define EXEC_SPAN_TABLE_H

#include "exec/prepared.h"

struct span {
	uint64_t bytes;
	void *at[TABLE_OPERANDS];
};

struct step_spans {
	uint32_t n, room; /* n = 0: none were found yet */
	uint32_t nt_from; /* of the step then */
	struct span *spans;
};

/* span_table_of: the spans of that step of the run, whose n operands are refs, those from nt_from on written by nt
 * stores; valid in this call.  NULL: the table does not take such steps, or there is no memory.
 * span_table_add: another span of the step, false without memory.  span_table_free: NULL is silent. */
struct step_spans *span_table_of(struct run *run, const struct plan_step *step, const struct plan_ref *refs, uint32_t n,
                                 uint32_t nt_from);
bool span_table_add(struct step_spans *of, uint64_t bytes, void *const *at, uint32_t n);
void span_table_free(struct span_table *table);

#endif
