/* SPDX-License-Identifier: MIT */
/* Comms: split, layouts, rules, and devices of two platforms in one comm. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 500 };

static void on_all_worlds(world_fn fn)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	for (int per_node = 0; per_node <= 3; per_node++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			world_run_at(sizes[i], per_node, 30000, fn, NULL);
}

/* Ranks of one node of the parent are on one node of the child, others are not. */
static bool keeps_nodes(choir_comm *child, choir_comm *parent, const int *parent_rank)
{
	for (int a = 0; a < choir_comm_size(child); a++)
		for (int b = 0; b < a; b++)
			if ((choir_comm_node(child, a) == choir_comm_node(child, b)) !=
			    (choir_comm_node(parent, parent_rank[a]) == choir_comm_node(parent, parent_rank[b])))
				return false;
	return true;
}

/* By parity, reversed; rank 0 stays out of the second; then halves of the first.  Parent and children at work at once;
 * the parent goes first. */
static void splits(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *parity, *most, *quarter, *again = NULL;
	int members[8], n = 0;
	struct sum sums[3];

	(void)arg;
	OK(choir_comm_split(comm, rank % 2, -rank, &parity));
	for (int r = world->n - 1; r >= 0; r--)
		if (r % 2 == rank % 2)
			members[n++] = r;
	CHECK(choir_comm_size(parity) == n && members[choir_comm_rank(parity)] == rank &&
	      keeps_nodes(parity, comm, members));
	CHECK(choir_comm_device(parity) == world->device);
	OK(choir_comm_split(comm, rank == 0 ? -5 : 7, 0, &most));
	CHECK(rank == 0 ? most == NULL : choir_comm_size(most) == world->n - 1 && choir_comm_rank(most) == rank - 1);
	OK(choir_comm_split(parity, choir_comm_rank(parity) / 2, 0, &quarter));
	CHECK(choir_comm_size(quarter) <= 2 && sum_works(quarter, COUNT));
	for (int round = 0; round < 5; round++) {
		OK(sum_start(&sums[0], comm, COUNT, 1, NULL, true));
		OK(sum_start(&sums[1], parity, COUNT, 2, NULL, true));
		if (most != NULL)
			OK(sum_start(&sums[2], most, COUNT, 3, NULL, true));
		for (int i = most != NULL ? 2 : 1; i >= 0; i--) {
			OK(choir_event_wait(sums[i].event, -1));
			CHECK(sum_is(&sums[i], choir_comm_size(i == 0 ? comm : i == 1 ? parity : most)));
			sum_free(&sums[i]);
		}
	}
	OK(choir_comm_split(quarter, 0, 0, &again));
	OK(choir_comm_destroy(quarter));
	CHECK(sum_works(again, COUNT) && sum_works(parity, COUNT));
	OK(choir_comm_destroy(comm));
	world->comms[rank] = NULL;
	CHECK(sum_works(parity, COUNT) && (most == NULL || sum_works(most, COUNT)) && sum_works(again, COUNT));
	OK(choir_comm_destroy(most));
	OK(choir_comm_destroy(parity));
	OK(choir_comm_destroy(again));
}

static void test_splits(void **state)
{
	(void)state;
	on_all_worlds(splits);
}

/* One thread splits for five ranks into three colors, one of them negative, then drives the children together. */
static void test_split_local(void **state)
{
	static const int colors[5] = { 4, 1, -1, 4, 1 }, keys[5] = { 9, 0, 0, 1, 0 }, sizes[5] = { 2, 2, 0, 2, 2 },
			 ranks[5] = { 1, 0, -1, 0, 1 };

	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		choir_comm *children[5];
		struct sum sums[5];
		struct world world;

		config.ranks_per_node = per_node;
		world_begin(&world, 5, &config);
		assert_int_equal(choir_comm_split_local(5, world.comms, colors, keys, children), CHOIR_SUCCESS);
		for (int r = 0; r < 5; r++) {
			assert_int_equal(choir_comm_size(children[r]), sizes[r]);
			assert_int_equal(choir_comm_rank(children[r]), ranks[r]);
		}
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		for (int r = 0; r < 5; r++)
			if (children[r] != NULL)
				assert_int_equal(sum_start(&sums[r], children[r], COUNT, 1, NULL, false),
				                 CHOIR_SUCCESS);
		/* inside a group */
		assert_int_equal(choir_comm_split_local(5, world.comms, colors, keys, children), CHOIR_ARGUMENT);
		assert_int_equal(choir_group_end(), CHOIR_SUCCESS);
		for (int r = 0; r < 5; r++)
			if (children[r] != NULL) {
				assert_true(sum_is(&sums[r], 2));
				sum_free(&sums[r]);
				assert_int_equal(choir_comm_destroy(children[r]), CHOIR_SUCCESS);
			}
		world_end(&world);
	}
}

/* Two threads, two and three ranks each, colors across them. */
static void half(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static const int colors[5] = { 0, 1, 1, 0, 2 }, keys[5] = { 0 }, wanted[5] = { 2, 2, 2, 2, 1 };
	int first = rank == 0 ? 0 : 2, n = rank == 0 ? 2 : 3;
	choir_comm *children[3];
	choir_event *events[3];

	(void)comm, (void)arg;
	if (rank > 1)
		return;
	OK(choir_comm_split_local(n, world->comms + first, colors + first, keys, children));
	for (int i = 0; i < n; i++) {
		CHECK(choir_comm_size(children[i]) == wanted[first + i]);
		OK(choir_barrier(children[i], NULL, &events[i]));
	}
	for (int i = 0; i < n; i++) {
		OK(choir_event_wait(events[i], -1));
		choir_event_release(events[i]);
	}
	for (int i = 0; i < n; i++)
		OK(choir_comm_destroy(children[i]));
}

static void test_split_halves(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		world_run_at(5, per_node, 20000, half, NULL);
}

static void test_layouts(void **state)
{
	(void)state;
	for (int n = 1; n <= 8; n++)
		for (int per_node = 0; per_node <= 9; per_node++) {
			choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
			int each = per_node == 0 ? n : per_node;
			struct world world;

			config.ranks_per_node = per_node;
			world_begin(&world, n, &config);
			for (int r = 0; r < n; r++) {
				assert_int_equal(choir_comm_nodes(world.comms[r]), (n + each - 1) / each);
				for (int of = 0; of < n; of++) {
					assert_int_equal(choir_comm_node(world.comms[r], of), of / each);
					assert_int_equal(choir_comm_node_rank(world.comms[r], of), of % each);
				}
				assert_int_equal(choir_comm_rank(world.comms[r]), r);
				assert_int_equal(choir_comm_size(world.comms[r]), n);
			}
			world_end(&world);
		}
	setenv("CHOIR_RANKS_PER_NODE", "2", 1);
	struct world world;
	world_begin(&world, 4, NULL);
	assert_int_equal(choir_comm_nodes(world.comms[0]), 2);
	world_end(&world);
	unsetenv("CHOIR_RANKS_PER_NODE");
}

/* The rules of the config decide, of the environment where it has none; a split inherits them. */
static void ruled(struct world *world, int rank, choir_comm *comm, void *arg)
{
	choir_comm *child;
	struct sum sum;

	for (int i = 0; i < 2; i++) {
		OK(i == 0 ? choir_comm_split(comm, 0, 0, &child) : CHOIR_SUCCESS);
		OK(sum_start(&sum, i == 0 ? comm : child, COUNT, 1, NULL, true));
		OK(choir_event_wait(sum.event, -1));
		CHECK(strcmp(choir_event_algorithm(sum.event), arg) == 0 && sum_is(&sum, world->n));
		sum_free(&sum);
	}
	OK(choir_comm_destroy(child));
}

static void test_rules(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	world_run(3, &config, ruled, (void *)"oneshot");
	config.rules = "allreduce: 0- twoshot";
	world_run(3, &config, ruled, (void *)"twoshot");
	config.rules = NULL;
	setenv("CHOIR_RULES", "allreduce: 0-1k oneshot; 1k- twoshot", 1);
	world_run(3, &config, ruled, (void *)"twoshot");
	unsetenv("CHOIR_RULES");
}

/* Rules in Latin-1: the bytes are no UTF-8, which JSON is. */
static void test_rules_text(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm;
	char *text;

	(void)state;
	config.rules = "# f\xfcr zwei\nallreduce: ring";
	assert_int_equal(choir_comm_create_local(1, &device, &config, &comm), CHOIR_SUCCESS);
	assert_int_equal(choir_comm_json(comm, &text), CHOIR_SUCCESS);
	assert_non_null(strstr(text, "# f?r zwei"));
	free(text);
	choir_comm_destroy(comm);
}

/* --- devices of two platforms --- */

static int find_devices(choir_device **out, cl_context *contexts)
{
	cl_platform_id platforms[8];
	cl_uint n_platforms = 0, n = 0;

	clGetPlatformIDs(8, platforms, &n_platforms);
	for (cl_uint p = 0; p < n_platforms && n < 2; p++) {
		cl_device_id id;
		cl_int rc;

		if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS)
			continue;
		contexts[n] = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
		if (rc == CL_SUCCESS && choir_device_create(contexts[n], id, NULL, &out[n]) == CHOIR_SUCCESS)
			n++;
	}
	return (int)n;
}

/* Values whose sum depends on the order: the bits must be the same on both devices. */
static void mixed_sum(struct world *world, int rank, choir_comm *comm, void *arg)
{
	static float results[4][1000];
	choir_device *device = choir_comm_device(comm);
	float values[1000], chain;
	cl_event dep;
	cl_int rc;
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(choir_device_context(device), choir_device_id(device), NULL, &rc);
	cl_mem mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, sizeof values, NULL, &rc);
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event;

	(void)arg;
	for (int i = 0; i < 1000; i++)
		values[i] = 1.0f / (float)(i + 3 * rank + 1);
	clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, sizeof values, values, 0, NULL, &dep);
	clFlush(queue);
	call.cl_deps = &dep;
	call.n_cl_deps = 1;
	OK(choir_allreduce(comm, choir_mem(mem, 0), choir_mem(mem, 0), 1000, CHOIR_F32, CHOIR_OP_SUM, &call, &event));
	OK(choir_queue_wait(queue, 1, &event));
	clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, results[rank], 0, NULL, NULL);
	OK(choir_barrier(comm, NULL, NULL));
	CHECK(memcmp(results[rank], results[0], sizeof values) == 0);
	chain = 0;
	for (int r = 0; r < world->n; r++)
		chain += 1.0f / (float)(3 * r + 1);
	CHECK(results[rank][0] > chain * 0.99999f && results[rank][0] < chain * 1.00001f);
	OK(choir_barrier(comm, NULL, NULL));
	choir_event_release(event);
	clReleaseEvent(dep);
	clReleaseMemObject(mem);
	clReleaseCommandQueue(queue);
}

static void test_mixed_devices(void **state)
{
	choir_device *found[2], *devices[4];
	cl_context contexts[2];
	int n = find_devices(found, contexts);

	(void)state;
	if (n < 2)
		print_message("one OpenCL platform: a comm over two was not tried\n");
	for (int per_node = 0; per_node <= 2 && n == 2; per_node++) {
		choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
		struct world world = { .n = 4, .comms = calloc(4, sizeof(choir_comm *)) };

		config.ranks_per_node = per_node;
		config.deadline_ms = 20000;
		for (int r = 0; r < 4; r++)
			devices[r] = found[r % 2];
		assert_int_equal(choir_comm_create_local(4, devices, &config, world.comms), CHOIR_SUCCESS);
		world_threads(&world, mixed_sum, NULL);
		world_end(&world);
	}
	for (int i = 0; i < n; i++) {
		choir_device_destroy(found[i]);
		clReleaseContext(contexts[i]);
	}
}

#define TWICE(expr)                                                                                                    \
	do {                                                                                                           \
		assert_int_equal(expr, CHOIR_ARGUMENT);                                                                \
		assert_true(says(choir_last_error(), "comms[1] is rank 0|there twice"));                               \
	} while (0)

/* Such a call would wait for the rank that is left out.  The comm is as good as new. */
static void test_a_rank_twice(void **state)
{
	static const int colors[2] = { 0, 0 }, keys[2] = { 0, 1 }, ranks[2] = { 0, 1 };
	choir_comm_group all;

	(void)state;
	assert_int_equal(choir_comm_group_parse("all", &all), CHOIR_SUCCESS);
	for (int n = 1; n <= 2; n++) {
		choir_comm *twice[2], *made[2];
		struct world world;
		void *memory[2];

		world_begin(&world, n, NULL);
		twice[0] = twice[1] = world.comms[0];
		TWICE(choir_comm_split_local(2, twice, colors, keys, made));
		TWICE(choir_comm_group_split_local(2, twice, &all, NULL, made));
		TWICE(choir_comm_create_group_local(2, twice, "twice", ranks, n, NULL, made));
		TWICE(choir_mem_alloc_local(2, twice, 4096, memory, NULL));
		assert_int_equal(choir_mem_alloc_local(n, world.comms, 4096, memory, NULL), CHOIR_SUCCESS);
		world_end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits),        cmocka_unit_test(test_split_local),
		cmocka_unit_test(test_split_halves),  cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_rules),         cmocka_unit_test(test_rules_text),
		cmocka_unit_test(test_mixed_devices), cmocka_unit_test(test_a_rank_twice),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
