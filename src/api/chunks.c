/* SPDX-License-Identifier: MIT */
/* Tensors in chunks: blocks of a v form, one a rank, which lie in the tensor in the order of their indexes instead of
 * the ranks'. */
#include <choir/chunks.h>

#include "api/local_calls.h"
#include "api/vector_calls.h"

#include "base/plural.h"

#include <stdlib.h>

/* The chunks by rank, as the v forms take them. */
struct blocks {
	size_t *counts, *offsets; /* [n] */
	int *holder_of;           /* [n] by index: which of the comms; -1 = none yet */
};

static choir_status read_chunks(const char *name, const choir_chunks *given, choir_chunks *out)
{
	choir_chunks read = CHOIR_CHUNKS_INIT;

	TRY(call_read_struct(name, "chunks", "CHOIR_CHUNKS_INIT", given, &read, sizeof read));
	if (read.chunks == NULL || read.n == 0)
		return error_set(CHOIR_ARGUMENT, "%s: chunks->chunks is null, or chunks->n is 0", name);
	*out = read;
	return CHOIR_SUCCESS;
}

choir_status choir_chunks_cut(choir_chunks *chunks)
{
	choir_chunks read = CHOIR_CHUNKS_INIT;
	size_t each, left;

	TRY(read_chunks("choir_chunks_cut", chunks, &read));
	each = read.count / read.n + (read.count % read.n != 0);
	left = read.count;
	for (size_t i = 0; i < read.n; i++) {
		choir_chunk *chunk = &read.chunks[i];

		chunk->index = i;
		chunk->offset = read.count - left;
		chunk->count = left < each ? left : each;
		left -= chunk->count;
	}
	return CHOIR_SUCCESS;
}

/* Each index once. */
static choir_status find_holders(const char *name, const choir_chunks *chunks, int *holder_of)
{
	for (size_t i = 0; i < chunks->n; i++)
		holder_of[i] = -1;
	for (size_t i = 0; i < chunks->n; i++) {
		size_t index = chunks->chunks[i].index;

		if (index >= chunks->n)
			return error_set(CHOIR_ARGUMENT, "%s: chunks[%zu].index is %zu of %zu chunk%s", name, i, index,
			                 chunks->n, plural(chunks->n));
		if (holder_of[index] >= 0)
			return error_set(CHOIR_ARGUMENT, "%s: chunks[%d] and chunks[%zu] both have index %zu", name,
			                 holder_of[index], i, index);
		holder_of[index] = (int)i;
	}
	return CHOIR_SUCCESS;
}

/* In the order of the indexes they follow one another, from the first element to the last. */
static choir_status follow_each_other(const char *name, const choir_chunks *chunks, const int *holder_of)
{
	size_t end = 0;

	for (size_t index = 0; index < chunks->n; index++) {
		const choir_chunk *chunk = &chunks->chunks[holder_of[index]];

		if (chunk->count == 0)
			continue;
		if (chunk->offset != end)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: the chunk with index %zu (chunks[%d]) begins at element %zu, but the one "
			                 "before it ends at %zu",
			                 name, index, holder_of[index], chunk->offset, end);
		if (chunk->count > chunks->count - end)
			return error_set(
			    CHOIR_ARGUMENT,
			    "%s: the chunk with index %zu (chunks[%d]) has %zu element%s, and the tensor has "
			    "%zu of %zu left",
			    name, index, holder_of[index], chunk->count, plural(chunk->count), chunks->count - end,
			    chunks->count);
		end += chunk->count;
	}
	if (end != chunks->count)
		return error_set(CHOIR_ARGUMENT, "%s: the chunks end at element %zu of %zu", name, end, chunks->count);
	return CHOIR_SUCCESS;
}

static void free_blocks(struct blocks *blocks)
{
	free(blocks->counts);
	free(blocks->offsets);
	free(blocks->holder_of);
}

/* The caller ends *blocks, also on failure. */
static choir_status make_blocks(const struct local_call *local, const choir_chunks *chunks, struct blocks *blocks)
{
	size_t n = (size_t)local->n;

	if (chunks->n != n)
		return error_set(CHOIR_ARGUMENT, "%s: chunks->n is %zu, but '%s' has %zu rank%s", local->name,
		                 chunks->n, local->comms[0]->name, n, plural(n));
	blocks->counts = calloc(n, sizeof *blocks->counts);
	blocks->offsets = calloc(n, sizeof *blocks->offsets);
	blocks->holder_of = calloc(n, sizeof *blocks->holder_of);
	if (blocks->counts == NULL || blocks->offsets == NULL || blocks->holder_of == NULL)
		return error_no_memory("chunks", 3 * n * sizeof *blocks->counts);
	TRY(find_holders(local->name, chunks, blocks->holder_of));
	TRY(follow_each_other(local->name, chunks, blocks->holder_of));
	for (size_t i = 0; i < n; i++) {
		int rank = local->comms[i]->rank;

		blocks->counts[rank] = chunks->chunks[i].count;
		blocks->offsets[rank] = chunks->chunks[i].count > 0 ? chunks->chunks[i].offset : 0;
	}
	return CHOIR_SUCCESS;
}

static choir_buffer buffer_of(const choir_chunk *chunk)
{
	return chunk->count > 0 ? chunk->buffer : choir_none();
}

/* The part in which the three calls differ.  prepare: the call of the rank of comms[i]. */
struct chunks_call {
	const choir_chunks *chunks;
	const choir_buffer *wholes; /* sends or recvs; of a concat recv alone */
	choir_op op;
	int holder;
	choir_status (*prepare)(const struct chunks_call *c, const struct local_call *local,
	                        const struct blocks *blocks, int i);
};

static choir_status run(const char *name, int n_local, choir_comm *const *comms, struct chunks_call *c,
                        const choir_call *call, choir_event **event_p)
{
	struct blocks blocks = { NULL, NULL, NULL };
	struct local_call local;
	choir_chunks chunks = CHOIR_CHUNKS_INIT;
	choir_status st;

	if (c->wholes == NULL)
		return call_named(error_set(CHOIR_ARGUMENT, "%s: sends or recvs is null", name), call);
	TRY(call_named(read_chunks(name, c->chunks, &chunks), call));
	c->chunks = &chunks;
	TRY(local_call_begin(name, n_local, comms, call, &local));
	st = make_blocks(&local, &chunks, &blocks);
	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++) {
		st = c->prepare(c, &local, &blocks, i);
		if (st != CHOIR_SUCCESS)
			st = error_prefix(st, "%s: comms[%d]", name, i);
	}
	free_blocks(&blocks);
	return local_call_end(&local, st, event_p);
}

static choir_status prepare_reduce_scatter(const struct chunks_call *c, const struct local_call *local,
                                           const struct blocks *blocks, int i)
{
	return reduce_scatterv_at_init(local->comms[i], c->wholes[i], buffer_of(&c->chunks->chunks[i]), blocks->counts,
	                               blocks->offsets, c->chunks->dtype, c->op, &local->prepared, &local->requests[i]);
}

static choir_status prepare_allgather(const struct chunks_call *c, const struct local_call *local,
                                      const struct blocks *blocks, int i)
{
	const choir_chunk *chunk = &c->chunks->chunks[i];

	return choir_allgatherv_init(local->comms[i], buffer_of(chunk), chunk->count, c->wholes[i], blocks->counts,
	                             blocks->offsets, c->chunks->dtype, &local->prepared, &local->requests[i]);
}

static choir_status prepare_concat(const struct chunks_call *c, const struct local_call *local,
                                   const struct blocks *blocks, int i)
{
	const choir_chunk *chunk = &c->chunks->chunks[i];

	return choir_gatherv_init(
	    local->comms[i], buffer_of(chunk), chunk->count, i == c->holder ? *c->wholes : choir_none(), blocks->counts,
	    blocks->offsets, c->chunks->dtype, local->comms[c->holder]->rank, &local->prepared, &local->requests[i]);
}

choir_status choir_chunks_reduce_scatter(int n_local, choir_comm *const *comms, const choir_buffer *sends,
                                         const choir_chunks *chunks, choir_op op, const choir_call *call,
                                         choir_event **event_p)
{
	struct chunks_call c = { chunks, sends, op, 0, prepare_reduce_scatter };

	return run("choir_chunks_reduce_scatter", n_local, comms, &c, call, event_p);
}

choir_status choir_chunks_allgather(int n_local, choir_comm *const *comms, const choir_chunks *chunks,
                                    const choir_buffer *recvs, const choir_call *call, choir_event **event_p)
{
	struct chunks_call c = { chunks, recvs, CHOIR_OP_SUM, 0, prepare_allgather };

	return run("choir_chunks_allgather", n_local, comms, &c, call, event_p);
}

choir_status choir_chunks_concat(int n_local, choir_comm *const *comms, const choir_chunks *chunks, int holder,
                                 choir_buffer recv, const choir_call *call, choir_event **event_p)
{
	static const char name[] = "choir_chunks_concat";
	struct chunks_call c = { chunks, &recv, CHOIR_OP_SUM, holder, prepare_concat };

	if (holder < 0 || holder >= n_local)
		return call_named(
		    error_set(CHOIR_ARGUMENT, "%s: holder is %d of %d comm%s", name, holder, n_local, plural(n_local)),
		    call);
	return run(name, n_local, comms, &c, call, event_p);
}
