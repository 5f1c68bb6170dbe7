/* SPDX-License-Identifier: MIT */
/* Tensors in chunks over the ranks of one process, all of them called by one thread: reduce_scatter, allgather,
 * concat and allreduce; chunks of any lengths, held in any order. */
#include "quick.h"
#include "world/chunk_set.h"
#include "world/gate.h"
#include "world/methods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

static const struct chunk_shape shapes[] = {
	{ .count = 0 },
	{ .count = 1, .even = true, .turn = 1 },
	{ .count = 7, .even = true, .turn = 2, .with_event = true, .reversed = true },
	{ .count = 1000, .turn = 1, .on_device = true },
	{ .count = 1000, .even = true, .in_place = true, .with_event = true },
	{ .count = 4096, .turn = 3, .in_place = true, .reversed = true, .on_device = true },
	{ .count = 100003, .turn = 1, .with_event = true, .reversed = true },
	{ .count = 100003, .even = true, .turn = 2, .on_device = true, .with_event = true },
};

static const char *const algorithms[] = {
	"algorithm=direct",
	"algorithm=slots",
	"algorithm=ring",
	"algorithm=pairwise",
};

static void test_shapes(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int ranks_per_node = 0; ranks_per_node < (sizes[i] < 8 ? 2 : 1); ranks_per_node++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			struct world world;

			config.ranks_per_node = ranks_per_node;
			world_begin(&world, sizes[i], &config);
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
				if (!quick_wanted() || s % 2 == 1)
					chunk_set_run(&world, &shapes[s]);
			world_end(&world);
		}
}

static void on_pointers(enum memory_kind kind)
{
	(void)kind;
	for (int ranks_per_node = quick_wanted() ? 2 : 0; ranks_per_node < 3; ranks_per_node++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world;

		config.ranks_per_node = ranks_per_node;
		world_begin(&world, 3, &config);
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			if (shapes[s].on_device)
				chunk_set_run(&world, &shapes[s]);
		world_end(&world);
	}
}

static void test_pointers(void **state)
{
	(void)state;
	memory_each(world_device(), on_pointers);
}

/* The blocks of a reduce_scatterv that do not lie in the order of the ranks, by each algorithm. */
static void test_algorithms(void **state)
{
	(void)state;
	for (int ranks_per_node = 0; ranks_per_node < 2; ranks_per_node++)
		for (size_t m = 0; m < sizeof algorithms / sizeof *algorithms; m++) {
			struct chunk_shape shape = { .count = 3001, .turn = 2, .options = algorithms[m] };
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			struct world world;

			if (m < 2 ? ranks_per_node == 1 : ranks_per_node == 0)
				continue;
			if (m == 0 && choir_device_class(world_device()) != CHOIR_CLASS_DIRECT)
				continue;
			config.ranks_per_node = ranks_per_node;
			world_begin(&world, 5, &config);
			chunk_set_run(&world, &shape);
			world_end(&world);
		}
}

/* GCL's methods, of uneven and of even chunks, on one node and between nodes. */
static void test_methods(void **state)
{
	static const int sizes[] = { 2, 3, 5 };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world;

		config.ranks_per_node = (int)i % 2;
		world_begin(&world, sizes[i / 2], &config);
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			for (size_t m = 0; m < N_METHODS; m++) {
				struct chunk_shape shape = shapes[s];

				shape.with_event = true;
				shape.method = methods[m].option;
				shape.scatter_name = methods[m].scatter;
				shape.gather_name = methods[m].gather;
				if (!quick_wanted() || (s + m) % 4 == 0)
					chunk_set_run(&world, &shape);
			}
		world_end(&world);
	}
}

static void note(void *ctx, choir_status status)
{
	*(_Atomic int *)ctx += status == CHOIR_SUCCESS ? 1 : 100;
}

/* An event of all ranks is one like any other: a dep, a callback, and a failure's sentence. */
static void test_events(void **state)
{
	struct chunk_shape shape = { .count = 10, .even = true, .with_event = true };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *first, *second;
	_Atomic int noted = 0;
	struct world world;
	struct chunk_set set;
	cl_event gate;

	(void)state;
	world_begin(&world, 3, NULL);
	chunk_set_make(&set, &world, &shape);
	chunk_set_fill(&set, true);
	gate = gate_make(choir_device_context(world.device));
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	assert_int_equal(
	    choir_chunks_reduce_scatter(3, set.comms, set.buffers, &set.chunks, CHOIR_OP_SUM, &call, &first),
	    CHOIR_SUCCESS);
	assert_int_equal(choir_event_on_complete(first, note, &noted), CHOIR_SUCCESS);
	assert_int_equal(choir_event_status(first), CHOIR_RUNNING);
	call.n_cl_deps = 0;
	call.deps = &first;
	call.n_deps = 1;
	assert_int_equal(choir_chunks_allgather(3, set.comms, &set.chunks, set.buffers, &call, &second), CHOIR_SUCCESS);
	gate_open(gate, CL_COMPLETE);
	assert_int_equal(choir_event_wait(second, -1), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(first, -1), CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++)
		chunk_set_check_whole(&set, i);
	choir_event_release(first);
	choir_event_release(second);
	clReleaseEvent(gate);
	gate = gate_make(choir_device_context(world.device));
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	call.n_deps = 0;
	assert_int_equal(
	    choir_allreduce_local(3, set.comms, set.buffers, set.buffers, 10, CHOIR_I32, CHOIR_OP_SUM, &call, &first),
	    CHOIR_SUCCESS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(choir_comm_abort(world.comms[i]), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(first, -1), CHOIR_ABORTED);
	assert_true(choir_event_error(first)[0] != '\0');
	choir_event_release(first);
	gate_open(gate, CL_COMPLETE);
	clReleaseEvent(gate);
	chunk_set_drop(&set);
	world_end(&world); /* waits for the callback */
	assert_int_equal(noted, 1);
}

static void count_work(void *ctx, choir_work_fn work, void *arg)
{
	*(_Atomic int *)ctx += 1;
	work(arg);
}

/* The caller's executor gets the caller's callbacks, not those by which the ranks' events end the one of all. */
static void test_executor(void **state)
{
	struct chunk_shape shape = { .count = 10, .even = true, .with_event = true };
	_Atomic int works = 0;
	struct world world;

	(void)state;
	assert_int_equal(choir_set_executor(count_work, &works), CHOIR_SUCCESS);
	world_begin(&world, 3, NULL);
	chunk_set_run(&world, &shape);
	world_end(&world);
	assert_int_equal(choir_set_executor(NULL, NULL), CHOIR_SUCCESS);
	assert_int_equal(works, 0);
}

#define REFUSED(call, words)                                                                                           \
	do {                                                                                                           \
		assert_int_equal((call), CHOIR_ARGUMENT);                                                              \
		if (!says(choir_last_error(), words))                                                                  \
			fail_msg("\"%s\" does not say %s", choir_last_error(), words);                                 \
	} while (0)
#define SCATTER(n, comms) choir_chunks_reduce_scatter(n, comms, set.buffers, &set.chunks, CHOIR_OP_SUM, NULL, NULL)

static void test_bad_chunks(struct world *world)
{
	struct chunk_shape shape = { .count = 10, .even = true };
	struct chunk_set set;

	chunk_set_make(&set, world, &shape);
	set.chunk[1].index = 3;
	REFUSED(SCATTER(3, set.comms), "choir_chunks_reduce_scatter|chunks[1].index is 3|3 chunks");
	set.chunk[1].index = 0;
	REFUSED(SCATTER(3, set.comms), "chunks[0] and chunks[1] both have index 0");
	set.chunk[1].index = 1;
	set.chunk[1].offset = 3;
	REFUSED(SCATTER(3, set.comms), "index 1|begins at element 3|ends at 4");
	set.chunk[1].offset = 4;
	set.chunk[1].count = SIZE_MAX - 1;
	REFUSED(SCATTER(3, set.comms), "index 1|6 of 10 left");
	set.chunk[1].count = 4;
	set.chunks.count = 11;
	REFUSED(SCATTER(3, set.comms), "the chunks end at element 10 of 11");
	set.chunks.count = 10;
	set.chunks.n = 2;
	REFUSED(SCATTER(3, set.comms), "chunks->n is 2|3 ranks");
	set.chunks.n = 3;
	set.chunks.dtype = (choir_dtype)77;
	REFUSED(SCATTER(3, set.comms), "no data type has number 77");
	set.chunks.dtype = CHOIR_I32;
	set.chunk[2].buffer = choir_none();
	REFUSED(SCATTER(3, set.comms), "comms[2]|recv buffer: none is given");
	set.chunks.struct_size++;
	REFUSED(SCATTER(3, set.comms), "struct_size");
	REFUSED(choir_chunks_cut(&set.chunks), "struct_size");
	set.chunks.struct_size--;
	set.chunks.chunks = NULL;
	REFUSED(SCATTER(3, set.comms), "chunks->chunks is null");
	REFUSED(choir_chunks_cut(NULL), "null chunks");
	chunk_set_drop(&set);
}

/* After all of them the comm is as good as new. */
static void test_refusals(void **state)
{
	struct chunk_shape shape = { .count = 10, .even = true };
	choir_comm *twice[3];
	choir_call call = CHOIR_CALL_INIT;
	struct world world;
	struct chunk_set set;

	(void)state;
	world_begin(&world, 3, NULL);
	test_bad_chunks(&world);
	chunk_set_make(&set, &world, &shape);
	REFUSED(SCATTER(2, set.comms), "n_local is 2|3 ranks|choir_comm_split_local");
	REFUSED(SCATTER(0, set.comms), "n_local is 0");
	REFUSED(SCATTER(3, NULL), "comms is null");
	memcpy(twice, set.comms, sizeof twice);
	twice[2] = twice[0];
	REFUSED(SCATTER(3, twice), "comms[2] is rank 0, which is there twice");
	twice[2] = NULL;
	REFUSED(SCATTER(3, twice), "null comm");
	REFUSED(choir_chunks_concat(3, set.comms, &set.chunks, 3, set.buffers[0], NULL, NULL), "holder is 3 of 3");
	REFUSED(choir_chunks_allgather(3, set.comms, &set.chunks, NULL, NULL, NULL), "recvs is null");
	REFUSED(choir_allreduce_local(3, set.comms, set.buffers, NULL, 10, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL),
	        "choir_allreduce_local|recvs is null");
	REFUSED(choir_allreduce_local(3, set.comms, set.buffers, set.buffers, SIZE_MAX / 4, CHOIR_I32, CHOIR_OP_SUM,
	                              NULL, NULL),
	        "2^63 bytes");
	call.options = "algorithm=nothing";
	REFUSED(choir_chunks_allgather(3, set.comms, &set.chunks, set.buffers, &call, NULL), "nothing");
	call.options = NULL;
	call.n_deps = 1;
	REFUSED(choir_chunks_allgather(3, set.comms, &set.chunks, set.buffers, &call, NULL), "deps are null");
	choir_group_begin();
	REFUSED(SCATTER(3, set.comms), "inside a group");
	choir_group_end();
	chunk_set_drop(&set);
	chunk_set_run(&world, &shapes[3]);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),   cmocka_unit_test(test_pointers), cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_methods),  cmocka_unit_test(test_events),   cmocka_unit_test(test_executor),
		cmocka_unit_test(test_refusals),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	gate_drop();
	world_device_drop();
	return failed;
}
