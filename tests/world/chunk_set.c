/* SPDX-License-Identifier: MIT */
#include "world/chunk_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int32_t value_of(int i, size_t e)
{
	return (int32_t)(e % 1009) * 3 + i + 1;
}

static int32_t sum_of(int n, size_t e)
{
	int32_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += value_of(i, e);
	return sum;
}

/* Lengths that grow with the index, every third chunk empty, the rest in the last one; held in another order. */
static void cut(struct chunk_set *set)
{
	const struct chunk_shape *s = set->shape;
	choir_chunk by_index[MOST_RANKS];
	size_t offset = 0;

	set->chunks = (choir_chunks)CHOIR_CHUNKS_INIT;
	set->chunks.count = s->count;
	set->chunks.dtype = CHOIR_I32;
	set->chunks.n = (size_t)set->n;
	set->chunks.chunks = by_index;
	assert_int_equal(choir_chunks_cut(&set->chunks), CHOIR_SUCCESS);
	for (size_t i = 0; !s->even && i < set->chunks.n; i++) {
		size_t left = s->count - offset, some = i % 3 == 1 ? 0 : s->count / 16 * i;

		by_index[i].offset = offset;
		by_index[i].count = i + 1 == set->chunks.n || some > left ? left : some;
		offset += by_index[i].count;
	}
	for (int i = 0; i < set->n; i++)
		set->chunk[i] = by_index[(i + s->turn) % set->n];
	set->chunks.chunks = set->chunk;
}

void chunk_set_make(struct chunk_set *set, struct world *world, const struct chunk_shape *shape)
{
	*set = (struct chunk_set){ .shape = shape, .n = world->n };
	cut(set);
	for (int i = 0; i < set->n; i++) {
		choir_chunk *chunk = &set->chunk[i];

		set->comms[i] = world->comms[shape->reversed ? set->n - 1 - i : i];
		assert_true(memory_make(&set->wholes[i], world->device, shape->on_device, shape->count * 4, 4));
		assert_true(memory_make(&set->parts[i], world->device, shape->on_device, chunk->count * 4, 8));
		set->buffers[i] = set->wholes[i].buffer;
		chunk->buffer = set->parts[i].buffer;
		if (shape->in_place) {
			chunk->buffer = set->buffers[i];
			chunk->buffer.offset_bytes += chunk->offset * 4;
		}
		if (chunk->count == 0) {
			chunk->buffer = choir_none();
			chunk->offset = SIZE_MAX; /* is not looked at */
		}
	}
}

void chunk_set_drop(struct chunk_set *set)
{
	for (int i = 0; i < set->n; i++) {
		memory_free(&set->wholes[i]);
		memory_free(&set->parts[i]);
	}
}

static int32_t *ints(struct memory *memory)
{
	return (int32_t *)(void *)memory_payload(memory);
}

/* own: each rank's values, else -1. */
void chunk_set_fill(struct chunk_set *set, bool own)
{
	for (int i = 0; i < set->n; i++) {
		for (size_t e = 0; e < set->shape->count; e++)
			ints(&set->wholes[i])[e] = own ? value_of(i, e) : -1;
		memory_push(&set->wholes[i]);
	}
}

/* algorithm: that the call must have taken; NULL: any. */
static void finish(const struct chunk_set *set, choir_status st, choir_event *const *event_p, const char *algorithm)
{
	if (st != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	if (!set->shape->with_event)
		return;
	assert_int_equal(choir_event_wait(*event_p, -1), CHOIR_SUCCESS);
	assert_true(choir_event_algorithm(*event_p)[0] != '\0');
	if (algorithm != NULL)
		assert_string_equal(choir_event_algorithm(*event_p), algorithm);
	choir_event_release(*event_p);
}

/* The chunks hold the sums; where they lie in the wholes, nothing else of the wholes has changed. */
static void check_chunks(struct chunk_set *set)
{
	for (int i = 0; i < set->n; i++) {
		const choir_chunk *chunk = &set->chunk[i];
		bool inside = set->shape->in_place;

		memory_pull(&set->wholes[i]);
		memory_pull(&set->parts[i]);
		for (size_t e = 0; !inside && e < chunk->count; e++)
			assert_int_equal(ints(&set->parts[i])[e], sum_of(set->n, chunk->offset + e));
		for (size_t e = 0; e < set->shape->count; e++) {
			bool mine =
			    inside && chunk->count > 0 && e >= chunk->offset && e - chunk->offset < chunk->count;

			assert_int_equal(ints(&set->wholes[i])[e], mine ? sum_of(set->n, e) : value_of(i, e));
		}
		assert_true(memory_sentinels_stand(&set->wholes[i]) && memory_sentinels_stand(&set->parts[i]));
	}
}

void chunk_set_check_whole(struct chunk_set *set, int i)
{
	memory_pull(&set->wholes[i]);
	for (size_t e = 0; e < set->shape->count; e++)
		assert_int_equal(ints(&set->wholes[i])[e], sum_of(set->n, e));
	assert_true(memory_sentinels_stand(&set->wholes[i]));
}

/* What an allgather in place sends is in the whole already. */
static void wipe_wholes(struct chunk_set *set)
{
	if (!set->shape->in_place)
		chunk_set_fill(set, false);
}

void chunk_set_run(struct world *world, const struct chunk_shape *shape)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL, **event_p = shape->with_event ? &event : NULL;
	struct chunk_set set;
	int holder = world->n / 2;

	call.options = shape->method != NULL ? shape->method : shape->options;
	chunk_set_make(&set, world, shape);
	chunk_set_fill(&set, true);
	finish(&set,
	       choir_chunks_reduce_scatter(set.n, set.comms, set.buffers, &set.chunks, CHOIR_OP_SUM, &call, event_p),
	       &event, shape->scatter_name);
	check_chunks(&set);
	call.options = NULL;
	wipe_wholes(&set);
	finish(&set, choir_chunks_concat(set.n, set.comms, &set.chunks, holder, set.buffers[holder], &call, event_p),
	       &event, NULL);
	chunk_set_check_whole(&set, holder);
	wipe_wholes(&set);
	call.options = shape->method;
	finish(&set, choir_chunks_allgather(set.n, set.comms, &set.chunks, set.buffers, &call, event_p), &event,
	       shape->gather_name);
	for (int i = 0; i < set.n; i++)
		chunk_set_check_whole(&set, i);
	chunk_set_fill(&set, true);
	finish(&set,
	       choir_allreduce_local(set.n, set.comms, set.buffers, set.buffers, shape->count, CHOIR_I32, CHOIR_OP_SUM,
	                             &call, event_p),
	       &event, NULL);
	for (int i = 0; i < set.n; i++)
		chunk_set_check_whole(&set, i);
	chunk_set_drop(&set);
}
