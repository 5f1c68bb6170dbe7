/* SPDX-License-Identifier: MIT */
/* Operands: where the bytes are that a plan's references name.  SEND and RECV are the caller's buffers, one each or
 * many segments; SCRATCH is the run's; SLOT is a rank's part of the arena; PEER_SEND and PEER_RECV are the buffers of
 * the node's other ranks, found by the symmetric addresses in their lanes. */
#ifndef EXEC_OPERAND_H
#define EXEC_OPERAND_H

#include "exec/run.h"
#include "kern/reduce.h"

/* operand_at: the host address of a reference, NULL if the host cannot reach it.  operand_span: the same; *span becomes
 * no more than what lies together from there on. */
unsigned char *operand_at(struct run *run, struct plan_ref ref);
unsigned char *operand_span(struct run *run, struct plan_ref ref, uint64_t *span);

/* operand_refs: the destinations of a copy or a reduction, then its sources, into refs.  Destinations from the returned
 * number on are written by non-temporal stores. */
uint32_t operand_refs(const struct run *run, const struct plan_step *step, struct plan_ref *refs);

/* operand_reduce_call: what a REDUCE of len bytes computes. */
void operand_reduce_call(const struct run *run, const struct plan_step *step, uint64_t len, struct reduce_call *call);

/* operand_say_segments: writes the symmetric addresses of my segments to the beginning of my slot, if the run has
 * segments that peers reach; before its flag is raised. */
void operand_say_segments(const struct run *run);

/* operand_find_peer: fills run->peers[local_rank] from that rank's lane.  It has raised its flag, and its buffers are
 * within reach.
 * operand_knows_peer: has its lane the addresses from which run->peers[local_rank] was filled? */
void operand_find_peer(struct run *run, int local_rank);
static inline bool operand_knows_peer(const struct run *run, int local_rank)
{
	const struct arena_lane *lane = comm_lane(run->comm, local_rank, run->lane);
	const struct run_peer *peer = &run->peers[local_rank];

	return peer->send_address == lane->send_address && peer->recv_address == lane->recv_address &&
	       peer->changes == atomic_load_explicit(&run->comm->symmetric.changes, memory_order_acquire);
}

enum { TABLE_STEPS = 6, TABLE_OPERANDS = 8 };

/* A copy or reduction with its addresses: those of a slot count from the beginning of the call's slot, those of a
 * lane's bytes from lane 0. */
struct table_step {
	uint32_t n, n_dst;          /* operands: destinations, then sources; n = 0: the step is not in the table */
	unsigned char *at[TABLE_OPERANDS];
	unsigned char base[TABLE_OPERANDS]; /* enum operand_base */
	bool copies;
	struct reduce_call call;    /* of a copy: only which destinations are written by non-temporal stores */
	uint64_t len;
};

/* The first steps of a part, bound to addresses by the first call that carried it out. */
struct operand_table {
	const struct plan *plan;    /* NULL = nothing is bound yet */
	const void *scratch;        /* of the run then */
	bool nt;                    /* run->nt.on then */
	struct run_peer *peers;     /* [node size] run->peers then; NULL = the plan does not use them */
	struct table_step steps[TABLE_STEPS];
};

/* operand_table_create: an empty one.  operand_table_bind: makes it valid for the plan of that run, which is about to
 * begin its steps.  operand_table_load: gives the run the peers of the table.
 * operand_table_do: does the step if it is in the table.  operand_table_free: NULL is silent. */
choir_status operand_table_create(struct operand_table **out_p);
void operand_table_bind(struct operand_table *table, struct run *run);
void operand_table_load(const struct operand_table *table, struct run *run);
void operand_table_do_step(const struct table_step *step, const struct run *run);
static inline bool operand_table_do(const struct operand_table *table, const struct run *run, uint32_t id)
{
	bool is_there = id < TABLE_STEPS && table->steps[id].n > 0;

	if (is_there)
		operand_table_do_step(&table->steps[id], run);
	return is_there;
}
void operand_table_free(struct operand_table *table);

#endif
