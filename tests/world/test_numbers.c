/* SPDX-License-Identifier: MIT */
/* Numbers that are packed into few bits: the plans of a script, the last call of a comm, offsets in
 * symmetric memory. */
#include "api/call.h"
#include "exec/comm.h"
#include "exec/record.h"
#include "exec/symmetric.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 66, PAIRS = 8, RANGE = 900 };

struct list {
	int32_t ind[RANGE], val[RANGE];
	size_t n_ind, n_val;
};

/* The sum of what the first n ranks send. */
static void add_up(const struct list *sent, int n, struct list *want)
{
	int64_t sums[RANGE] = { 0 };
	bool has[RANGE] = { false };

	want->n_ind = 0;
	for (int r = 0; r < n; r++)
		for (size_t i = 0; i < PAIRS; i++) {
			sums[sent[r].ind[i]] += sent[r].val[i];
			has[sent[r].ind[i]] = true;
		}
	for (int32_t i = 0; i < RANGE; i++)
		if (has[i]) {
			want->ind[want->n_ind] = i;
			want->val[want->n_ind++] = (int32_t)sums[i];
		}
}

/* 66 ranks swap lists in 6 rounds, and two more for the ranks that are too many: 17 plans in one call. */
static void test_many_ranks(void **state)
{
	static struct list sent[MANY], got[MANY], want;
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_call call = CHOIR_CALL_INIT;
	struct world world;

	(void)state;
	config.deadline_ms = 60000;
	call.options = "algorithm=recursive_doubling";
	world_begin(&world, MANY, &config);
	for (int round = 0; round < 2; round++) {
		for (int r = 0; r < MANY; r++)
			for (int i = 0; i < PAIRS; i++) {
				sent[r].ind[i] = (round * 31 + r * 97 + i * 211) % RANGE;
				sent[r].val[i] = round * 1000 + r * PAIRS + i;
			}
		add_up(sent, MANY, &want);
		assert_int_equal(choir_group_begin(), CHOIR_SUCCESS);
		for (int r = 0; r < MANY; r++) {
			got[r].n_ind = got[r].n_val = RANGE;
			assert_int_equal(choir_sparse_allreduce(world.comms[r], choir_host(sent[r].ind), PAIRS,
			                                        choir_host(sent[r].val), PAIRS, choir_host(got[r].ind),
			                                        &got[r].n_ind, choir_host(got[r].val), &got[r].n_val,
			                                        CHOIR_I32, CHOIR_I32, CHOIR_OP_SUM, NULL, &call, NULL),
			                 CHOIR_SUCCESS);
		}
		if (choir_group_end() != CHOIR_SUCCESS)
			fail_msg("%s", choir_last_error());
		for (int r = 0; r < MANY; r++) {
			assert_int_equal(got[r].n_ind, want.n_ind);
			assert_memory_equal(got[r].ind, want.ind, want.n_ind * sizeof *want.ind);
			assert_memory_equal(got[r].val, want.val, want.n_ind * sizeof *want.val);
		}
	}
	world_end(&world);
}

/* Three calls before the last number there is, blocking and with an event; then the comm says that there are no
 * more. */
static void spend(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int32_t in = rank + 1, out = 0;
	choir_event *event = NULL;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		OK(choir_allreduce(comm, choir_host(&in), choir_host(&out), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
		CHECK(out == 3);
	}
	OK(choir_allreduce(comm, choir_host(&in), choir_host(&out), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, &event));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	for (int i = 0; i < 2; i++) {
		IS(choir_allreduce(comm, choir_host(&in), choir_host(&out), 1, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL),
		   CHOIR_UNSUPPORTED);
		CHECK(strstr(choir_last_error(), "2^40 calls") != NULL);
	}
	/* pairs have numbers of their own */
	OK(choir_send(comm, choir_host(&in), 1, CHOIR_I32, 1 - rank, NULL, &event));
	OK(choir_recv(comm, choir_host(&out), 1, CHOIR_I32, 1 - rank, NULL, NULL));
	CHECK(out == 2 - rank);
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
}

static void test_last_number(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	for (int r = 0; r < 2; r++)
		world.comms[r]->engine.arena.calls_over = world.comms[r]->submission.next_seq = ARENA_LAST_SEQ - 3;
	world_threads(&world, spend, NULL);
	world_end(&world);
}

/* --- the plans of a script --- */

/* A script of so many plans without steps. */
struct long_script {
	struct plan plan;
	uint64_t room;
	int left;
};

static choir_status next_plan(void *state, struct script_turn *turn)
{
	struct long_script *script = state;
	struct dev_access room = script_host(&script->room, sizeof script->room);

	*turn = (struct script_turn){
		.what = script->left > 0 ? SCRIPT_PLAN : SCRIPT_DONE, .plan = &script->plan, .send = room, .recv = room
	};
	script->left--;
	return CHOIR_SUCCESS;
}

static void keep_script(void *state)
{
	(void)state;
}

static choir_status run_script(choir_comm *comm, int plans)
{
	static const struct script_ops ops = { .next = next_plan, .destroy = keep_script };
	static struct long_script script;
	choir_call call = CHOIR_CALL_INIT;
	struct run *run;

	script = (struct long_script){ .plan = { .algorithm = "none" }, .left = plans };
	assert_int_equal(run_create(comm, &run), CHOIR_SUCCESS);
	assert_int_equal(run_set_call(run, &call, "choir_barrier"), CHOIR_SUCCESS);
	run->bound.record = (struct call_record){ .collective = COLLECTIVE_BARRIER };
	run->script.ops = &ops;
	run->script.state = &script;
	return call_start("choir_barrier", run, CHOIR_SUCCESS, NULL);
}

static void test_longest_script(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world, 1, NULL);
	if (run_script(world.comms[0], 255) != CHOIR_SUCCESS)
		fail_msg("%s", choir_last_error());
	assert_int_equal(run_script(world.comms[0], 256), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "its script has more than 255 plans"));
	world_end(&world);
}

/* --- the bytes of symmetric memory --- */

static void test_longest_symmetric_memory(void **state)
{
	struct symmetric *symmetric = NULL;
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	assert_int_equal(symmetric_create(world.comms[0], UINT64_C(1) << 48, &symmetric), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "281474976710656 bytes"));
	assert_int_equal(symmetric_create(world.comms[0], (UINT64_C(1) << 48) - 1, &symmetric), CHOIR_SUCCESS);
	symmetric_destroy(symmetric);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_many_ranks), cmocka_unit_test(test_last_number),
		                            cmocka_unit_test(test_longest_script),
		                            cmocka_unit_test(test_longest_symmetric_memory) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
