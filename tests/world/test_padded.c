/* SPDX-License-Identifier: MIT */
/* reduce_scatter and allgather of any count: blocks of ceil(count / ranks), zeros where the last ones end beyond it,
 * and not a byte outside; several segments of a buffer, each padded apart. */
#include "exec/call_cache.h"
#include "quick.h"
#include "world/gate.h"
#include "world/memory.h"
#include "world/methods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SEGMENTS = 4, LONGEST = 3001 };

struct shape {
	bool gathers, on_device, as_list, kept;
	choir_op op;
	const char *options;
	const char *algorithm;   /* that must have run; NULL = any */
	size_t counts[SEGMENTS]; /* one behind the other; only the first, if not as a list */
};

struct set {
	const struct shape *shape;
	int rank, n;
	struct memory whole, block; /* the longer buffer, the shorter one */
	choir_tensor tensors[SEGMENTS];
	size_t n_segments, whole_count, block_count;
};

static size_t block_of(const struct set *set, size_t segment)
{
	return (set->shape->counts[segment] + (size_t)set->n - 1) / (size_t)set->n;
}

static int32_t value_of(int rank, size_t i)
{
	return (int32_t)((size_t)rank * 17 + i % 1000) + 1;
}

static int32_t folded(const struct set *set, size_t i)
{
	int32_t sum = 0;

	for (int r = 0; r < set->n; r++)
		sum += value_of(r, i);
	return set->shape->op == CHOIR_OP_MIN ? value_of(0, i) : sum;
}

/* Element e of block `rank` of a segment that begins at element `first` of the whole; 0 = padding. */
static int32_t block_at(const struct set *set, size_t segment, size_t first, int rank, size_t e)
{
	size_t i = (size_t)rank * block_of(set, segment) + e;

	return i < set->shape->counts[segment] ? folded(set, first + i) : 0;
}

static bool make(struct set *set, choir_device *device)
{
	const struct shape *s = set->shape;

	set->n_segments = s->as_list ? SEGMENTS : 1;
	for (size_t i = 0; i < set->n_segments; i++) {
		set->whole_count += s->counts[i];
		set->block_count += block_of(set, i);
	}
	if (!memory_make(&set->whole, device, s->on_device, set->whole_count * sizeof(int32_t), 4) ||
	    !memory_make(&set->block, device, s->on_device, set->block_count * sizeof(int32_t), 8))
		return false;
	for (size_t i = 0, whole = 0, block = 0; i < set->n_segments; i++) {
		choir_buffer longer = set->whole.buffer, shorter = set->block.buffer;

		longer.offset_bytes += whole * sizeof(int32_t);
		shorter.offset_bytes += block * sizeof(int32_t);
		set->tensors[i] = (choir_tensor){ .send = s->gathers ? shorter : longer,
			                          .recv = s->gathers ? longer : shorter,
			                          .count = s->counts[i],
			                          .dtype = CHOIR_I32 };
		whole += s->counts[i];
		block += block_of(set, i);
	}
	return true;
}

/* The padding of what an allgather sends is anything. */
static void fill(struct set *set)
{
	int32_t *whole = (int32_t *)(void *)memory_payload(&set->whole),
		*block = (int32_t *)(void *)memory_payload(&set->block);

	for (size_t i = 0; i < set->whole_count; i++)
		whole[i] = set->shape->gathers ? -1 : value_of(set->rank, i);
	for (size_t s = 0, first = 0; s < set->n_segments; first += set->shape->counts[s++])
		for (size_t e = 0; e < block_of(set, s); e++) {
			int32_t value = block_at(set, s, first, set->rank, e);

			*block++ = set->shape->gathers && value != 0 ? value : -7;
		}
	memory_push(&set->whole);
	memory_push(&set->block);
}

static bool is_right(struct set *set)
{
	const int32_t *whole = (int32_t *)(void *)memory_payload(&set->whole),
		      *block = (int32_t *)(void *)memory_payload(&set->block);
	bool right;

	memory_pull(&set->whole);
	memory_pull(&set->block);
	right = memory_sentinels_stand(&set->whole) && memory_sentinels_stand(&set->block);
	for (size_t i = 0; i < set->whole_count; i++)
		right &= whole[i] == (set->shape->gathers ? folded(set, i) : value_of(set->rank, i));
	for (size_t s = 0, first = 0; s < set->n_segments && !set->shape->gathers; first += set->shape->counts[s++])
		for (size_t e = 0; e < block_of(set, s); e++)
			right &= *block++ == block_at(set, s, first, set->rank, e);
	return right;
}

static choir_status call_of(struct set *set, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	const choir_tensor *t = set->tensors;
	choir_op op = set->shape->op;

	if (set->shape->as_list && set->shape->gathers)
		return choir_allgather_padded_multi(comm, t, SEGMENTS, call, event_p);
	if (set->shape->as_list)
		return choir_reduce_scatter_padded_multi(comm, t, SEGMENTS, op, call, event_p);
	if (set->shape->gathers)
		return choir_allgather_padded(comm, t->send, t->recv, t->count, t->dtype, call, event_p);
	return choir_reduce_scatter_padded(comm, t->send, t->recv, t->count, t->dtype, op, call, event_p);
}

static choir_status keep(struct set *set, choir_comm *comm, const choir_call *call, choir_request **request_p)
{
	const choir_tensor *t = set->tensors;
	choir_op op = set->shape->op;

	if (set->shape->as_list && set->shape->gathers)
		return choir_allgather_padded_multi_init(comm, t, SEGMENTS, call, request_p);
	if (set->shape->as_list)
		return choir_reduce_scatter_padded_multi_init(comm, t, SEGMENTS, op, call, request_p);
	if (set->shape->gathers)
		return choir_allgather_padded_init(comm, t->send, t->recv, t->count, t->dtype, call, request_p);
	return choir_reduce_scatter_padded_init(comm, t->send, t->recv, t->count, t->dtype, op, call, request_p);
}

static void run_shape(struct world *world, int rank, choir_comm *comm, const struct shape *shape)
{
	struct set set = { .shape = shape, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request = NULL;

	call.options = shape->options;
	if (!make(&set, world->device)) {
		world_fail(world, rank, "no memory");
		return;
	}
	if (shape->kept)
		OK(keep(&set, comm, &call, &request));
	for (int round = 0; round < 2; round++) {
		choir_event *event = NULL, **event_p = shape->algorithm != NULL ? &event : NULL;

		fill(&set);
		OK(shape->kept ? choir_start(request, NULL, event_p) : call_of(&set, comm, &call, event_p));
		if (event != NULL && OK(choir_event_wait(event, -1)) &&
		    strcmp(choir_event_algorithm(event), shape->algorithm) != 0)
			world_fail(world, rank, "%s by %s, not %s", shape->gathers ? "allgather" : "reduce_scatter",
			           choir_event_algorithm(event), shape->algorithm);
		choir_event_release(event);
		if (!is_right(&set))
			world_fail(world, rank, "%s, %zu elements, device %d, list %d, '%s', round %d: wrong",
			           shape->gathers ? "allgather" : "reduce_scatter", shape->counts[0], shape->on_device,
			           shape->as_list, shape->options != NULL ? shape->options : "", round);
	}
	choir_request_free(request);
	memory_free(&set.whole);
	memory_free(&set.block);
}

/* kind: of pointers, and nothing else; NULL: host memory and cl_mems. */
static void all_shapes(struct world *world, int rank, choir_comm *comm, void *kind)
{
	static const size_t counts[] = { 0, 1, 2, 7, 40, LONGEST };
	bool slots = choir_comm_nodes(comm) == 1 && world->n > 1;
	const char *way = slots && comm->device_bytes > 0 ? "algorithm=device" : NULL;

	for (int c = 0; c < 6; c++)
		for (int i = 0; i < 16; i++) {
			struct shape s = { .gathers = i & 1,
				           .on_device = i & 2,
				           .as_list = i & 4,
				           .kept = (i + c) & 8,
				           .op = i % 3 == 0 ? CHOIR_OP_MIN : CHOIR_OP_SUM,
				           .options = (i + c) % 5 == 0 && slots ? "algorithm=slots"
				                      : i % 3 == 1              ? way
				                                                : NULL,
				           .counts = { counts[c], counts[(c + 2) % 6], 13, counts[(c + 4) % 6] } };

			if (kind == NULL || s.on_device)
				run_shape(world, rank, comm, &s);
			s.options = methods[(i / 2 + c) % N_METHODS].option;
			if (world->n > 1 && counts[c] > 0)
				s.algorithm = s.gathers ? methods[(i / 2 + c) % N_METHODS].gather
				                        : methods[(i / 2 + c) % N_METHODS].scatter;
			if (kind == NULL)
				run_shape(world, rank, comm, &s);
		}
}

static void test_shapes(void **state)
{
	static const int sizes[] = { 2, 3, 1, 5, 8 };

	(void)state;
	for (size_t i = 0; i < (quick_wanted() ? 2 : sizeof sizes / sizeof *sizes); i++)
		line_up_layouts(sizes[i], all_shapes);
}

static void test_pointers(void **state)
{
	(void)state;
	line_up_pointers(all_shapes);
}

static void refused(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t a[8] = { 0 }, b[8] = { 0 };

	(void)unused;
	SAYS(choir_reduce_scatter_padded(comm, choir_host(a), choir_host(&a[4 * rank]), 8, CHOIR_I32, CHOIR_OP_SUM,
	                                 NULL, NULL),
	     CHOIR_ARGUMENT, "choir_reduce_scatter_padded|never in place");
	SAYS(choir_allgather_padded(comm, choir_host(a), choir_host(b), SIZE_MAX / 3, CHOIR_I32, NULL, NULL),
	     CHOIR_ARGUMENT, "choir_allgather_padded|2^63");
	SAYS(choir_allgather_padded(comm, choir_none(), choir_host(b), 8, CHOIR_I32, NULL, NULL), CHOIR_ARGUMENT,
	     "choir_allgather_padded|send");
	CHECK(sum_works(comm, 8));
}

static void test_refused(void **state)
{
	(void)state;
	line_up_layouts(2, refused);
}

/* Ranks whose counts have the same blocks, but differ. */
static void differ(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t a[8] = { 0 }, b[8] = { 0 };

	(void)unused;
	IS(choir_reduce_scatter_padded(comm, choir_host(a), choir_host(b), 7 + (size_t)rank, CHOIR_I32, CHOIR_OP_SUM,
	                               NULL, NULL),
	   CHOIR_MISMATCH);
	CHECK(says(choir_last_error(), "reduce_scatter"));
	line_up();
}

static void test_differ(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, differ, NULL);
	line_up_run(2, 1, 30000, differ, NULL);
}

/* A tensor whose count is a multiple of the ranks has no padding: its call is that of the collective, not of a list.  A
 * call is not kept where another thread drives just then, so each is made a few times. */
static void without_padding(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t whole[13] = { 0 }, block[5];

	(void)unused;
	for (int more = 0; more < 2; more++) {
		size_t count = 12 + (size_t)more;

		for (int again = 0; again < 5; again++)
			OK(choir_reduce_scatter_padded(comm, choir_host(whole), choir_host(block), count, CHOIR_I32,
			                               CHOIR_OP_SUM, NULL, NULL));
		CHECK(comm->engine.cache.latest->parts[0].bound.lists == (more == 1));
		for (int again = 0; again < 5; again++)
			OK(choir_allgather_padded(comm, choir_host(block), choir_host(whole), count, CHOIR_I32, NULL,
			                          NULL));
		CHECK(comm->engine.cache.latest->parts[0].bound.lists == (more == 1));
	}
}

static void test_without_padding(void **state)
{
	(void)state;
	world_run_at(3, 0, 30000, without_padding, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_pointers),
		                            cmocka_unit_test(test_refused), cmocka_unit_test(test_differ),
		                            cmocka_unit_test(test_without_padding) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	memory_drop();
	world_device_drop();
	return failed;
}
