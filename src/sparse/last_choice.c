/* SPDX-License-Identifier: MIT */
/* The last choice: the method of the last call like this one, and how much longer its result was than a rank's list, by
 * the comm's choice memory.  The memories of ranks differ: calls in flight end in different orders, and a list that is
 * empty here is long elsewhere.  So each rank puts its memory in its header, and all ranks use that of the first rank
 * with pairs.  The result's bits do not depend on it. */
#include "sparse/state.h"

#include <xxhash.h>

/* The properties of a call that decide which methods it may use and what they cost. */
static struct choice_memory_call call_of(const struct sparse *sparse)
{
	const struct sparse_header *header = &sparse->header;
	uint64_t kind[] = { sparse->tensor,
		            (uint64_t)sparse->wire_dtype,
		            (uint64_t)sparse->call.op,
		            (uint64_t)sparse->call.attr.coalesce_mode,
		            header->width,
		            (uint64_t)header->raw };

	return (struct choice_memory_call){ .kind = XXH3_64bits(kind, sizeof kind),
		                            .count = header->pairs,
		                            .range = index_range_span((struct index_range){ header->lo, header->hi }) };
}

uint64_t last_choice_tensor(const char *name)
{
	return name == NULL ? 0 : XXH3_64bits(name, strlen(name));
}

void last_choice_fill(struct sparse *sparse)
{
	struct choice_memory_row last = { .taken = -1 };

	if (sparse->env.choice_memory != NULL && sparse->header.raw_pairs > 0) {
		sparse->like = call_of(sparse);
		last = choice_memory_find(sparse->env.choice_memory, &sparse->like);
	}
	sparse->header.last = last.taken;
	sparse->header.growth = last.growth;
}

void last_choice_note(struct sparse *sparse)
{
	double each = (double)sparse->facts.pairs / sparse->env.layout->n;
	/* A method that was chosen by a guess at the result's length is not remembered. */
	bool guessed = sparse->facts.growth <= 0;
	int taken = sparse->forced >= 0 || sparse->method == NULL || guessed ? -1 : sparse->method_row;

	if (sparse->env.choice_memory != NULL && sparse->header.raw_pairs > 0)
		choice_memory_note(sparse->env.choice_memory, &sparse->like, taken, (double)sparse->count / each);
}
