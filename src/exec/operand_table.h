/* SPDX-License-Identifier: MIT */
/* The operand table of a part: the addresses of its first steps, bound by the first call that is executed in order. */
#ifndef EXEC_OPERAND_TABLE_H
#define EXEC_OPERAND_TABLE_H

#include "exec/operand.h"

enum { TABLE_STEPS = 6, TABLE_OPERANDS = 8 };

/* A copy or reduction with its addresses: those of a slot count from the beginning of the call's slot, those of a
 * lane's bytes from lane 0, those of a run's line from the line. */
struct table_step {
	uint32_t n, n_dst; /* operands: destinations, then sources; n = 0: the step is not in the table */
	unsigned char *at[TABLE_OPERANDS];
	unsigned char base[TABLE_OPERANDS]; /* enum operand_base */
	bool copies;
	struct reduce_call call; /* of a copy: only which destinations are written by non-temporal stores */
	uint64_t len;
};

struct operand_table {
	const struct plan *plan; /* NULL = nothing is bound yet */
	const void *scratch;     /* of the run then */
	bool nt;                 /* run->nt.on then */
	struct run_peer *peers;  /* [node size] run->peers then; NULL = the plan does not use them */
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
