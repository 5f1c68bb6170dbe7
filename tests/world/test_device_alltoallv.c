/* SPDX-License-Identifier: MIT */
/* alltoallv on ranks whose devices share a context: the first call, whose counts no rank knows, and later ones move
 * nothing between host and device. */
#include "world/devices.h"
#include "world/memory.h"
#include "world/transfers.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { V_COUNT = 50000, MOST_RANKS = 3 };

/* What rank `from` sends to rank `to`: no two blocks alike, one of them empty. */
static size_t v_count(int from, int to)
{
	return from == 1 && to == 0 ? 0 : (size_t)(V_COUNT + 100 * from + to);
}

static int32_t v_value(int from, int to, size_t i)
{
	return (int32_t)(i % 1000) + 1000 * to + 100000 * from;
}

struct v_call {
	struct memory send[MOST_RANKS], recv[MOST_RANKS];
	size_t sent[MOST_RANKS][MOST_RANKS], received[MOST_RANKS][MOST_RANKS];
	bool device[MOST_RANKS], with_event;
};

static void v_make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct v_call *v = arg;
	size_t sum[2] = { 0 };
	int32_t *out;

	(void)comm;
	for (int peer = 0; peer < world->n; peer++) {
		sum[0] += v->sent[rank][peer] = v_count(rank, peer);
		sum[1] += v->received[rank][peer] = v_count(peer, rank);
	}
	CHECK(memory_make(&v->send[rank], world->device, v->device[rank], sum[0] * sizeof *out, 4));
	CHECK(memory_make(&v->recv[rank], world->device, v->device[rank], sum[1] * sizeof *out, 12));
	out = (int32_t *)(void *)memory_payload(&v->send[rank]);
	for (int peer = 0; peer < world->n; peer++)
		for (size_t i = 0; i < v_count(rank, peer); i++)
			*out++ = v_value(rank, peer, i);
	memory_push(&v->send[rank]);
}

static void v_fly(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct v_call *v = arg;
	choir_event *event = NULL;

	OK(choir_alltoallv(comm, v->send[rank].buffer, v->sent[rank], NULL, v->recv[rank].buffer, v->received[rank],
	                   NULL, CHOIR_I32, NULL, v->with_event ? &event : NULL));
	if (v->with_event)
		OK(choir_event_wait(event, -1));
	choir_event_release(event);
}

static void v_land(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct v_call *v = arg;
	int32_t *in = (int32_t *)(void *)memory_payload(&v->recv[rank]);

	(void)comm;
	memory_pull(&v->recv[rank]);
	for (int peer = 0; peer < world->n; peer++)
		for (size_t i = 0; i < v_count(peer, rank); i++, in++)
			if (*in != v_value(peer, rank, i)) {
				world_fail(world, rank, "element %zu of rank %d: %d", i, peer, (int)*in);
				return;
			}
	memory_free(&v->send[rank]);
	memory_free(&v->recv[rank]);
}

enum { V_CALLS = 4 };

/* How many of the first calls of a comm move nothing between host and device.  first_near: rank 0's buffers are host
 * memory. */
static int v_far_calls(int n, bool first_near, bool with_event)
{
	static struct v_call v;
	struct world world;
	int calls = 0;

	v.with_event = with_event;
	devices_begin(&world, n, 0);
	for (int rank = 0; rank < n; rank++)
		v.device[rank] = rank > 0 || !first_near;
	world_threads(&world, v_make, &v);
	for (int i = 0; i < V_CALLS; i++) {
		atomic_store(&transfers, 0);
		world_threads(&world, v_fly, &v);
		calls += atomic_load(&transfers) == 0;
	}
	world_threads(&world, v_land, &v);
	world_end(&world);
	return calls;
}

static void test_alltoallv(void **state)
{
	(void)state;
	for (int with_event = 0; with_event < 2; with_event++) {
		assert_int_equal(v_far_calls(3, false, with_event), V_CALLS);
		assert_int_equal(v_far_calls(2, true, with_event), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_alltoallv) };

	return cmocka_run_group_tests_name("device", tests, devices_open, devices_close);
}
