/* SPDX-License-Identifier: MIT */
/* Bytes between the host and the device in a sparse_allreduce on buffers of the device.  Ranks whose devices share no
 * context: no more than the rank's coalesced list and the result have, and counts.  Ranks whose devices share one:
 * counts alone.  test_sparse_bytes --long: 290 000 pairs too. */
#include "exec/comm.h"
#include "world/bus.h"
#include "world/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 8, FAR_RANKS = 4, COUNTS = 16384 /* bytes of counts, ranges and the like, a rank */ };

struct trial {
	int ranks;
	bool near; /* their devices share a context, and the ranks know */
	size_t pairs, width, range;
	const char *algorithm; /* NULL = the library chooses */
	uint64_t moved;
	size_t lists;   /* pairs of all coalesced lists */
	size_t results; /* pairs of the result */
};

static pthread_barrier_t barrier;
static choir_device *device;

static int32_t index_of(const struct trial *trial, int rank, size_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank * 7919;

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return (int32_t)((x >> 20) % trial->range);
}

static float value_of(int rank, size_t i, size_t column)
{
	return (float)(int)((i * 7 + column + (size_t)rank) % 19) - 9;
}

/* The rows of all ranks at their indices; which indices there are, a bit a rank.  Returns the pairs of all lists. */
static size_t expect(const struct trial *trial, float *sums, unsigned char *there)
{
	size_t lists = 0;

	for (int r = 0; r < trial->ranks; r++)
		for (size_t i = 0; i < trial->pairs; i++) {
			size_t x = (size_t)index_of(trial, r, i);

			lists += (there[x] >> r & 1) == 0;
			there[x] |= (unsigned char)(1 << r);
			for (size_t c = 0; c < trial->width; c++)
				sums[x * trial->width + c] += value_of(r, i, c);
		}
	return lists;
}

static void check(struct world *world, int rank, struct trial *trial, struct memory *ind, struct memory *val,
                  size_t count)
{
	float *sums = calloc(trial->range * trial->width, sizeof *sums);
	unsigned char *there = calloc(trial->range, 1);
	const int32_t *got;
	const float *rows;
	size_t at = 0, lists;

	memory_pull(ind);
	memory_pull(val);
	got = (const int32_t *)(const void *)memory_payload(ind);
	rows = (const float *)(const void *)memory_payload(val);
	lists = expect(trial, sums, there);
	if (rank == 0)
		trial->lists = lists;
	for (size_t x = 0; x < trial->range; x++) {
		if (!there[x])
			continue;
		if (at >= count || got[at] != (int32_t)x ||
		    memcmp(rows + at * trial->width, sums + x * trial->width, trial->width * 4) != 0) {
			world_fail(world, rank, "index %zu is not the result's pair %zu, or its row is another", x, at);
			break;
		}
		at++;
	}
	CHECK(at == count);
	CHECK(memory_sentinels_stand(ind) && memory_sentinels_stand(val));
	free(sums);
	free(there);
}

static void fill(const struct trial *trial, int rank, struct memory *ind, struct memory *val)
{
	for (size_t i = 0; i < trial->pairs; i++) {
		((int32_t *)(void *)memory_payload(ind))[i] = index_of(trial, rank, i);
		for (size_t c = 0; c < trial->width; c++)
			((float *)(void *)memory_payload(val))[i * trial->width + c] = value_of(rank, i, c);
	}
	memory_push(ind);
	memory_push(val);
}

/* The second call is counted: the first takes memory that later ones use again. */
static void one_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	size_t pairs = trial->pairs, all = pairs * (size_t)trial->ranks, width = trial->width, ind_count = 0;
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;
	struct memory ind, val, to_ind, to_val;
	char options[64];

	snprintf(options, sizeof options, "algorithm=%s", trial->algorithm != NULL ? trial->algorithm : "");
	call.options = trial->algorithm != NULL ? options : NULL;
	all = all < trial->range ? all : trial->range;
	memory_make(&ind, world->device, true, pairs * 4, 4);
	memory_make(&val, world->device, true, pairs * width * 4, 8);
	memory_make(&to_ind, world->device, true, all * 4, 12);
	memory_make(&to_val, world->device, true, all * width * 4, 4);
	fill(trial, rank, &ind, &val);
	for (int i = 0; i < 2; i++) {
		size_t val_count = all * width;

		ind_count = all;
		pthread_barrier_wait(&barrier);
		if (rank == 0)
			bus_reset();
		pthread_barrier_wait(&barrier);
		OK(choir_sparse_allreduce(comm, ind.buffer, pairs, val.buffer, pairs * width, to_ind.buffer, &ind_count,
		                          to_val.buffer, &val_count, CHOIR_I32, CHOIR_F32, CHOIR_OP_SUM, &attr, &call,
		                          NULL));
		CHECK(val_count == ind_count * width);
		pthread_barrier_wait(&barrier);
		if (rank == 0) {
			trial->moved = bus_down() + bus_up();
			trial->results = ind_count;
		}
		pthread_barrier_wait(&barrier);
	}
	check(world, rank, trial, &to_ind, &to_val, ind_count);
	memory_free(&ind);
	memory_free(&val);
	memory_free(&to_ind);
	memory_free(&to_val);
}

static void moves_little(struct trial trial)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[MOST_RANKS];
	struct world world;
	uint64_t pair = 4 + trial.width * 4, least, most, counts = COUNTS * (uint64_t)trial.ranks;

	config.deadline_ms = 60000;
	pthread_barrier_init(&barrier, NULL, (unsigned)trial.ranks);
	for (int r = 0; r < MOST_RANKS; r++)
		devices[r] = device;
	world_begin_on(&world, trial.ranks, devices, &config);
	for (int r = 0; r < trial.ranks; r++) {
		world.comms[r]->command_bytes = 0; /* what was measured here decides nothing */
		if (!trial.near)
			world.comms[r]->device_bytes = 0;
	}
	world_threads(&world, one_rank, &trial);
	world_end(&world);
	pthread_barrier_destroy(&barrier);
	least = (trial.pairs + trial.results) * pair * (uint64_t)trial.ranks;
	most = (trial.lists + trial.results * (uint64_t)trial.ranks) * pair;
	print_message("%zu pairs of width %zu, %d ranks, %s%s: %llu bytes, %.3f of input and result\n", trial.pairs,
	              trial.width, trial.ranks, trial.algorithm != NULL ? trial.algorithm : "as chosen",
	              trial.near ? ", of one context" : "", (unsigned long long)trial.moved,
	              (double)trial.moved / (double)least);
	if (trial.near)
		assert_in_range(trial.moved, 1, counts);
	else
		assert_in_range(trial.moved, trial.lists * pair, most + counts);
	assert_in_range(trial.moved, 1, least * 11 / 10);
}

static void rows(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= FAR_RANKS; ranks++)
		moves_little((struct trial){ .ranks = ranks, .pairs = 4096, .width = 64, .range = 6000 });
}

static void scalars(void **state)
{
	static const char *const names[] = { NULL,   "allgather", "split",       "recursive_doubling",
		                             "mask", "dense",     "split_bitmap" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int ranks = 2; ranks <= FAR_RANKS; ranks++)
			moves_little((struct trial){
			    .ranks = ranks, .pairs = 20000, .width = 1, .range = 50000, .algorithm = names[i] });
}

static void of_one_context(void **state)
{
	static const int sizes[] = { 2, 3, 5, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct trial trial = { .ranks = sizes[i], .near = true, .pairs = 4096, .width = 64, .range = 6000 };

		moves_little(trial);
		trial.pairs = 20000;
		trial.width = 1;
		trial.range = 50000;
		moves_little(trial);
	}
}

static void many(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= FAR_RANKS; ranks++)
		for (int near = 0; near < 2; near++)
			moves_little((struct trial){
			    .ranks = ranks, .near = near, .pairs = 290000, .width = 1, .range = 14700000 });
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows), cmocka_unit_test(scalars),
		                            cmocka_unit_test(of_one_context), cmocka_unit_test(many) };
	size_t n = argc > 1 && strcmp(argv[1], "--long") == 0 ? 4 : 3;
	int failed;

	device = world_far_device(CHOIR_REDUCE_KERNEL);
	failed =
	    n == 4 ? cmocka_run_group_tests(tests, NULL, NULL) : _cmocka_run_group_tests("quick", tests, n, NULL, NULL);
	world_device_drop();
	return failed;
}
