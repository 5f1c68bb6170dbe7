/* SPDX-License-Identifier: MIT */
/* Design notes.  Where a tensor of the rank's own is cannot change, since the list is in the key of the call; where a
 * peer's is, the peer says in its slot in each call, so a table serves while every peer says the same and no symmetric
 * memory has come or gone: a peer may name other memory by the same number then, also while the call waits for it. */
#include "exec/span_table.h"

#include <stdlib.h>
#include <string.h>

struct span_table {
	uint64_t changes; /* of the comm's symmetric memory then */
	size_t n;         /* addresses that a rank says in its slot: of its SENDs, then of its RECVs */
	struct step_spans steps[TABLE_STEPS];
	uint64_t addresses[]; /* [node size][n] then */
};

/* Is every operand a buffer of a caller's?  Slots and scratch are elsewhere in each call. */
static bool are_callers(const struct plan_ref *refs, uint32_t n)
{
	bool callers = true;

	for (uint32_t i = 0; i < n && callers; i++)
		callers = refs[i].buf != PLAN_SLOT && refs[i].buf != PLAN_SCRATCH;
	return callers;
}

/* Has every peer said the addresses of the call before?  The rank's own are those of its part. */
static bool is_known(const struct run *run, const struct span_table *table)
{
	bool known = table->changes == comm_symmetric_changes(run->comm);

	for (int i = 0; i < run->comm->node_size && known; i++)
		known = i == run->comm->local_rank ||
		        memcmp(&table->addresses[(size_t)i * table->n], run->peers[i].send_addresses,
		               table->n * sizeof *table->addresses) == 0;
	return known;
}

static void begin_anew(const struct run *run, struct span_table *table)
{
	table->changes = comm_symmetric_changes(run->comm);
	for (int i = 0; i < run->comm->node_size; i++)
		memcpy(&table->addresses[(size_t)i * table->n], run->peers[i].send_addresses,
		       table->n * sizeof *table->addresses);
	for (uint32_t i = 0; i < TABLE_STEPS; i++)
		table->steps[i].n = 0;
}

static struct span_table *table_of(const struct run *run)
{
	struct span_table *table = run->part->spans;
	size_t n = 2 * run->bound.send_list.n, all = n * (size_t)run->comm->node_size;

	if (table != NULL && is_known(run, table))
		return table;
	if (table == NULL)
		table = run->part->spans = calloc(1, sizeof *table + all * sizeof *table->addresses);
	if (table != NULL) {
		table->n = n;
		begin_anew(run, table);
	}
	return table;
}

struct step_spans *span_table_of(struct run *run, const struct plan_step *step, const struct plan_ref *refs, uint32_t n,
                                 uint32_t nt_from)
{
	uint32_t id = (uint32_t)(step - run->plan->steps);
	struct span_table *table;
	struct step_spans *spans;

	if (!run->plan->peers || run->plan->device || run->part == NULL || id >= TABLE_STEPS || n > TABLE_OPERANDS ||
	    !are_callers(refs, n))
		return NULL;
	table = table_of(run);
	if (table == NULL)
		return NULL;
	spans = &table->steps[id];
	if (spans->nt_from != nt_from)
		spans->n = 0;
	spans->nt_from = nt_from;
	return spans;
}

bool span_table_add(struct step_spans *of, uint64_t bytes, void *const *at, uint32_t n)
{
	struct span *spans = of->spans;

	if (of->n == of->room) {
		spans = realloc(spans, 2 * (of->room + 8) * sizeof *spans);
		if (spans == NULL)
			return false;
		of->spans = spans;
		of->room = 2 * (of->room + 8);
	}
	spans[of->n].bytes = bytes;
	memcpy(spans[of->n].at, at, n * sizeof *at);
	of->n++;
	return true;
}

void span_table_free(struct span_table *table)
{
	for (uint32_t i = 0; table != NULL && i < TABLE_STEPS; i++)
		free(table->steps[i].spans);
	free(table);
}
