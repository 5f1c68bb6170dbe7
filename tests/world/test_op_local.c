/* SPDX-License-Identifier: MIT */
/* An operator of the caller's own that is not commutative in the calls of one thread for all ranks of its process,
 * whose comms it gives backwards: chunks of a reduction, and an allreduce. */
#include "world/affine.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 5, COUNT = 3001 };

/* comms[i] is rank n - 1 - i, and its chunk the one of index i. */
struct local_ranks {
	int n;
	choir_comm *comms[MOST];
	uint64_t *sent[MOST], *got[MOST];
	choir_buffer sends[MOST], recvs[MOST];
	choir_chunk chunk[MOST];
	choir_chunks chunks;
};

static void make(struct local_ranks *l, const struct world *world)
{
	*l = (struct local_ranks){ .n = world->n, .chunks = CHOIR_CHUNKS_INIT };
	l->chunks.count = COUNT;
	l->chunks.dtype = CHOIR_U64;
	l->chunks.n = (size_t)l->n;
	l->chunks.chunks = l->chunk;
	assert_int_equal(choir_chunks_cut(&l->chunks), CHOIR_SUCCESS);
	for (int i = 0; i < l->n; i++) {
		int rank = l->n - 1 - i;

		l->comms[i] = world->comms[rank];
		l->sent[i] = calloc(COUNT, sizeof **l->sent);
		l->got[i] = calloc(COUNT, sizeof **l->got);
		l->sends[i] = choir_host(l->sent[i]);
		l->recvs[i] = l->chunk[i].buffer = choir_host(l->got[i]);
		for (size_t e = 0; e < COUNT; e++)
			l->sent[i][e] = affine_given(rank, e);
	}
}

static void drop(struct local_ranks *l)
{
	for (int i = 0; i < l->n; i++) {
		free(l->sent[i]);
		free(l->got[i]);
	}
}

static void check(const struct local_ranks *l, int i, size_t from, size_t count)
{
	for (size_t e = 0; e < count; e++)
		assert_true(l->got[i][e] == affine_wanted(l->n, from + e));
	memset(l->got[i], 0, COUNT * sizeof **l->got);
}

static void run(struct world *world, choir_op op)
{
	struct local_ranks l;
	choir_status st;

	make(&l, world);
	for (int again = 0; again < 2; again++) {
		st = choir_chunks_reduce_scatter(l.n, l.comms, l.sends, &l.chunks, op, NULL, NULL);
		if (st != CHOIR_SUCCESS)
			fail_msg("%s", choir_last_error());
		for (int i = 0; i < l.n; i++)
			check(&l, i, l.chunk[i].offset, l.chunk[i].count);
		st = choir_allreduce_local(l.n, l.comms, l.sends, l.recvs, COUNT, CHOIR_U64, op, NULL, NULL);
		if (st != CHOIR_SUCCESS)
			fail_msg("%s", choir_last_error());
		for (int i = 0; i < l.n; i++)
			check(&l, i, 0, COUNT);
	}
	drop(&l);
}

static void test_forms(void **state)
{
	static const int sizes[] = { 1, 2, 3, MOST };

	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++) {
		choir_op op = affine_create((enum affine_form)form);

		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (int per_node = 0; per_node < 3; per_node++) {
				choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
				struct world world;

				config.ranks_per_node = per_node;
				config.deadline_ms = 60000;
				world_begin(&world, sizes[i], &config);
				run(&world, op);
				world_end(&world);
			}
		assert_int_equal(choir_op_destroy(op), CHOIR_SUCCESS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
