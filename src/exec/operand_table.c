/* SPDX-License-Identifier: MIT */
#include "exec/operand_table.h"

#include "base/copy.h"

#include <stdlib.h>
#include <string.h>

/* The base from which an operand's address is counted: slot, lane and run differ from call to call. */
enum operand_base { ABSOLUTE, IN_SLOT, IN_LANE, IN_RUN, N_BASES };

static enum operand_base base_of(const struct run *run, struct plan_ref ref)
{
	if (ref.buf != PLAN_SLOT)
		return ABSOLUTE;
	if (run->publish_carries_bytes && ref.peer == run->comm->rank)
		return IN_RUN;
	return run->slot.in_lane ? IN_LANE : IN_SLOT;
}

static void find_bases(const struct run *run, uint64_t bases[N_BASES])
{
	bases[ABSOLUTE] = 0;
	bases[IN_SLOT] = run->slot.at;
	bases[IN_LANE] = (uint64_t)run->lane * sizeof(struct arena_lane);
	bases[IN_RUN] = (uint64_t)(uintptr_t)run->lane_bytes;
}

static void bind_step(struct table_step *to, struct run *run, const struct plan_step *step, const uint64_t *bases)
{
	struct plan_ref refs[TABLE_OPERANDS];
	uint32_t n = step->n_more + 1 + step->n_src;

	to->n = 0;
	if ((step->kind != PLAN_COPY && step->kind != PLAN_REDUCE) || n > TABLE_OPERANDS || step->len == 0)
		return;
	if (step->kind == PLAN_REDUCE && run->bound.user != NULL) /* may fail the comm: steps_host_reduce */
		return;
	to->copies = step->kind == PLAN_COPY;
	to->len = step->len;
	to->n_dst = step->n_more + 1;
	operand_reduce_call(run, step, step->len, &to->call);
	to->call.n_dst = to->n_dst;
	to->call.nt_from = operand_refs(run, step, refs);
	for (uint32_t i = 0; i < n; i++) {
		to->base[i] = (unsigned char)base_of(run, refs[i]);
		to->at[i] = operand_at(run, refs[i]) - bases[to->base[i]];
	}
	to->n = n;
}

choir_status operand_table_create(struct operand_table **out_p)
{
	*out_p = calloc(1, sizeof **out_p);
	return *out_p != NULL ? CHOIR_SUCCESS : error_no_memory("the operands of a call", sizeof **out_p);
}

/* False: without memory the table stays empty, and each call looks its addresses up. */
static bool keep_peers(struct operand_table *table, const struct run *run)
{
	size_t bytes = (size_t)run->comm->node_size * sizeof *run->peers;

	if (!run->plan->peers)
		return true;
	if (table->peers == NULL && (table->peers = malloc(bytes)) == NULL)
		return false;
	memcpy(table->peers, run->peers, bytes);
	return true;
}

void operand_table_bind(struct operand_table *table, struct run *run)
{
	uint64_t bases[N_BASES];

	if (table->plan == run->plan && table->nt == run->nt.on && table->scratch == run->host_scratch.ptr &&
	    !run->peers_changed)
		return;
	table->plan = NULL;
	for (uint32_t i = 0; i < TABLE_STEPS; i++)
		table->steps[i].n = 0;
	if (!keep_peers(table, run))
		return;
	find_bases(run, bases);
	for (uint32_t i = 0; i < run->plan->n_steps && i < TABLE_STEPS; i++)
		bind_step(&table->steps[i], run, &run->plan->steps[i], bases);
	table->plan = run->plan;
	table->nt = run->nt.on;
	table->scratch = run->host_scratch.ptr;
	run->peers_changed = false;
}

void operand_table_load(const struct operand_table *table, struct run *run)
{
	run->peers_changed = table->plan == NULL || (table->peers != NULL && run->peers == NULL);
	if (!run->peers_changed && table->peers != NULL)
		memcpy(run->peers, table->peers, (size_t)run->comm->node_size * sizeof *run->peers);
}

static void copy(const struct table_step *step, void *const *at)
{
	if (step->call.nt_from == 0)
		copy_host(at[0], at[1], step->len, true);
	else if (at[0] != at[1])
		copy_host_plain(at[0], at[1], step->len);
}

void operand_table_do_step(const struct table_step *step, const struct run *run)
{
	uint64_t bases[N_BASES];
	void *at[TABLE_OPERANDS];

	find_bases(run, bases);
	for (uint32_t i = 0; i < step->n; i++)
		at[i] = step->at[i] + bases[step->base[i]];
	if (step->copies)
		copy(step, at);
	else
		reduce_host(&step->call, at, (const void *const *)(at + step->n_dst));
}

void operand_table_free(struct operand_table *table)
{
	if (table != NULL)
		free(table->peers);
	free(table);
}
