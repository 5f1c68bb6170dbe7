/* SPDX-License-Identifier: MIT */
/* Bytes between the host and the device in a top-k call on buffers of the device: only selections and results move, not
 * the tensor. */
#include "topk/law.h"
#include "world/bus.h"
#include "world/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, COUNT = 200000, K = 2000, CALLS = 4, PAIR_BYTES = 8 };

static pthread_barrier_t barrier;
struct moved {
	const char *algorithm;
	uint64_t down, up;      /* of all ranks, the most of a call */
	uint64_t reads, writes; /* commands of the last call */
};

/* One in 33 is large: about so many pass a threshold in each call, whatever the residual has. */
static void fill(struct memory *grad, int rank, int call)
{
	float *values = (float *)(void *)memory_payload(grad);

	for (size_t i = 0; i < COUNT; i++) {
		uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank * 7919 + (uint64_t)call * 104729;

		x ^= x >> 29;
		x *= UINT64_C(0xbf58476d1ce4e5b9);
		values[i] = x % 33 == 0 ? (float)(x >> 44) + 1e6f : (float)(x >> 54) * 1e-3f;
	}
	memory_push(grad);
}

/* Before and after a call no rank moves bytes of its own. */
static void calls(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct moved *moved = arg;
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state = NULL;
	struct memory grad;
	bool ok;

	config.count = COUNT;
	config.k = K;
	config.algorithm = moved->algorithm;
	ok = OK(choir_topk_create(comm, &config, &state));
	memory_make(&grad, world->device, true, COUNT * 4, 8);
	out.dense = grad.buffer;
	for (int call = 0; call < CALLS; call++) {
		fill(&grad, rank, call);
		pthread_barrier_wait(&barrier);
		if (rank == 0)
			bus_reset();
		pthread_barrier_wait(&barrier);
		ok = ok && OK(choir_topk_allreduce(state, grad.buffer, &out, NULL, NULL));
		pthread_barrier_wait(&barrier);
		if (rank == 0) {
			moved->down = bus_down() > moved->down ? bus_down() : moved->down;
			moved->up = bus_up() > moved->up ? bus_up() : moved->up;
			moved->reads = bus_reads().commands;
			moved->writes = bus_writes().commands;
		}
		pthread_barrier_wait(&barrier);
	}
	memory_free(&grad);
	choir_topk_destroy(state);
}

static struct moved moved_by(const char *algorithm, choir_reduce_where where)
{
	choir_comm_config comm_config = CHOIR_COMM_CONFIG_INIT;
	struct moved moved = { .algorithm = algorithm };
	choir_device *devices[RANKS];
	struct world world;

	for (int r = 0; r < RANKS; r++)
		devices[r] = world_far_device(where);
	comm_config.deadline_ms = 60000;
	pthread_barrier_init(&barrier, NULL, RANKS);
	world_begin_on(&world, RANKS, devices, &comm_config);
	world_threads(&world, calls, &moved);
	world_end(&world);
	pthread_barrier_destroy(&barrier);
	memory_drop();
	return moved;
}

/* Of the limit that a search finds. */
enum { SEARCH_BYTES = 16 };

/* Does everyone add what all have sent?  Then the sum stays on the device. */
static bool sums_stay(const char *name)
{
	static const char *const names[] = { "topka", "topk-opt", "gaussiank", "gaussiank-concat" };
	bool stay = false;

	for (int i = 0; i < 4; i++)
		stay |= strcmp(name, names[i]) == 0;
	return stay;
}

/* Down: what is selected, or twice four times that where a threshold is tried on candidates; the sums that a gaussian
 * needs, 1/1024 byte an element; a search, spardl one for each chunk; sums that travel on, and a byte for each entry
 * that may be in the result.  Up: the selection's indices, the lists that are added or the result's pairs, and what is
 * dropped. */
static void no_tensor_moves(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		const char *name = law_algorithms[a];
		bool dense = a == 0, gaussian = name[0] == 'g' && name[1] == 'a';
		bool tried = strcmp(name, "topk-opt") == 0 || strcmp(name, "oktopk") == 0;
		uint64_t tries = 1 + tried, searches = strcmp(name, "spardl") == 0 ? RANKS : 1;
		uint64_t added = sums_stay(name) ? 0 : (gaussian ? 2 : 1) * 2 * K * (PAIR_BYTES + 1);
		struct moved moved = moved_by(name, CHOIR_REDUCE_KERNEL);

		print_message("%s: %llu bytes down, %llu up\n", name, (unsigned long long)moved.down,
		              (unsigned long long)moved.up);
		if (dense) {
			assert_true(moved.down >= RANKS * COUNT * 4);
			continue;
		}
		if (gaussian)
			assert_in_range(moved.down, RANKS * K * PAIR_BYTES,
			                RANKS * (7 * K * PAIR_BYTES + COUNT / 1024 + 256 + added));
		else
			assert_in_range(moved.down, RANKS * K * PAIR_BYTES,
			                RANKS * (tries * (K + 256) * PAIR_BYTES + searches * SEARCH_BYTES + added));
		assert_in_range(moved.up, RANKS * K * PAIR_BYTES / 2,
		                RANKS * ((gaussian ? 8 : 4) * K * PAIR_BYTES + added));
	}
}

/* Exactly k are selected, so no count of them comes.  Down: the limit, two arrays, the count of the sum.  Up: two lists
 * of two arrays, and the indices of what left the residual. */
static void no_count_of_k_comes(void **state)
{
	struct moved moved = moved_by("topka", CHOIR_REDUCE_KERNEL);

	(void)state;
	assert_int_equal(moved.reads, RANKS * (1 + 2 + 1));
	assert_int_equal(moved.writes, RANKS * 5);
}

/* Where the host does the work the tensor comes down, and this program sees it. */
static void the_host_reads_all(void **state)
{
	struct moved moved = moved_by("topka", CHOIR_REDUCE_HOST);

	(void)state;
	assert_true(moved.down >= RANKS * COUNT * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_tensor_moves), cmocka_unit_test(no_count_of_k_comes),
		                            cmocka_unit_test(the_host_reads_all) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
