/* SPDX-License-Identifier: MIT */
/* Every collective on memory of every kind that a device has: shared virtual memory, coarse and fine, unified shared
 * memory of the host, shared and of the device, and all of them in turn, so that the buffers of a call and the ranks
 * differ.  What a device lacks is skipped, with the reason. */
#include "quick.h"
#include "topk/law.h"
#include "world/flight.h"
#include "world/sparse_flight.h"
#include "world/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Worlds of n ranks: on one node, on nodes of their own, and on a node of two and one of one. */
static const struct {
	int n, per_node;
} worlds[] = { { 2, 0 }, { 2, 1 }, { 3, 2 } };
enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static void on_worlds(world_fn fn, void *arg)
{
	for (int i = 0; i < N_WORLDS; i++)
		world_run_at(worlds[i].n, worlds[i].per_node, 60000, fn, arg);
}

static struct dense_call call_of(int what, size_t count, int n)
{
	return (struct dense_call){ .what = &collectives[what],
		                    .dtype = CHOIR_F32,
		                    .op = CHOIR_OP_SUM,
		                    .count = count,
		                    .n = n,
		                    .root = (int)(count % (size_t)n),
		                    .device = true };
}

/* --- dense, vectors, send and recv --- */

static void dense(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const size_t counts[] = { 0, 1, 1000, 50001 };

	(void)unused;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (int k = quick_wanted() ? 2 : 0; k < (quick_wanted() ? 5 : 6); k++) {
			struct dense_call c = call_of(what, counts[k % 4], world->n);

			c.in_place = k == 1 || k > 3;
			flight_run(world, rank, comm, &c);
		}
}

static void events(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct dense_flight *flights = calloc(N_MOVING_COLLECTIVES, sizeof *flights);

	(void)unused;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		struct dense_call c = call_of(what, 3000, world->n);

		c.in_place = what % 2;
		flight_make(&flights[what], world, rank, &c);
		flight_start(&flights[what], world, comm, NULL);
	}
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		flight_land(&flights[what], world);
		flight_free(&flights[what]);
	}
	free(flights);
}

/* --- persistent --- */

static choir_status request_of(struct dense_flight *f, choir_comm *comm, choir_request **out_p)
{
	const struct collective_args *a = &f->args;
	choir_buffer s = a->send, r = a->recv;
	choir_dtype d = a->dtype;

	switch (f->call.what - collectives) {
	case ALLREDUCE:
		return choir_allreduce_init(comm, s, r, a->count, d, a->op, NULL, out_p);
	case REDUCE_SCATTER:
		return choir_reduce_scatter_init(comm, s, r, a->count, d, a->op, NULL, out_p);
	case REDUCE_SCATTERV:
		return choir_reduce_scatterv_init(comm, s, r, a->recv_counts, d, a->op, NULL, out_p);
	case ALLGATHER:
		return choir_allgather_init(comm, s, r, a->count, d, NULL, out_p);
	case ALLGATHERV:
		return choir_allgatherv_init(comm, s, a->count, r, a->recv_counts, a->recv_offs, d, NULL, out_p);
	case ALLTOALL:
		return choir_alltoall_init(comm, s, r, a->count, d, NULL, out_p);
	case BROADCAST:
		return choir_broadcast_init(comm, s, r, a->count, d, a->root, NULL, out_p);
	case REDUCE:
		return choir_reduce_init(comm, s, r, a->count, d, a->op, a->root, NULL, out_p);
	case GATHER:
		return choir_gather_init(comm, s, r, a->count, d, a->root, NULL, out_p);
	case GATHERV:
		return choir_gatherv_init(comm, s, a->count, r, a->recv_counts, a->recv_offs, d, a->root, NULL, out_p);
	case SCATTER:
		return choir_scatter_init(comm, s, r, a->count, d, a->root, NULL, out_p);
	case SCATTERV:
		return choir_scatterv_init(comm, s, a->send_counts, a->send_offs, r, a->count, d, a->root, NULL, out_p);
	case SCAN:
		return choir_scan_init(comm, s, r, a->count, d, a->op, NULL, out_p);
	case EXSCAN:
		return choir_exscan_init(comm, s, r, a->count, d, a->op, NULL, out_p);
	case SENDRECV:
		return choir_sendrecv_init(comm, s, a->count, a->next, r, a->count, a->previous, d, NULL, out_p);
	default:
		return CHOIR_UNSUPPORTED; /* alltoallv; send and recv, of which a sendrecv is made */
	}
}

static void requests(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		struct dense_call c = call_of(what, 2001, world->n);
		choir_request *request = NULL;
		struct dense_flight flight;

		if (what == ALLTOALLV || what == SEND_AND_RECV)
			continue;
		flight_make(&flight, world, rank, &c);
		OK(request_of(&flight, comm, &request));
		for (int round = 0; round < 3; round++) {
			choir_event *event = NULL;

			OK(choir_start(request, NULL, round == 1 ? &event : NULL));
			if (event != NULL)
				OK(choir_event_wait(event, -1));
			choir_event_release(event);
			flight_compare(&flight, world);
		}
		choir_request_free(request);
		flight_free(&flight);
	}
}

/* --- lists --- */

static void lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	(void)unused;
	for (int k = 0; k < 4; k++) {
		struct tensors_shape s = { .n = k < 2 ? 20 : 5,
			                   .low = 1,
			                   .high = k < 2 ? 700 : 60000,
			                   .where = k % 2 ? TENSORS_MIXED : TENSORS_DEVICE,
			                   .op = CHOIR_OP_SUM,
			                   .one_type = k < 2 ? -1 : CHOIR_F32,
			                   .with_event = k == 1,
			                   .kept = k == 2 };

		tensors_run(world, rank, comm, &s);
	}
}

/* --- sparse, top-k --- */

static void one_sparse(struct world *world, int rank, choir_comm *comm, void *call)
{
	for (enum way way = COMPLETES; way < N_WAYS; way++)
		sparse_flight_run(world, rank, comm, call, way);
}

static void sparse(void)
{
	for (uint64_t seed = 1; seed < (quick_wanted() ? 3 : 9); seed++)
		for (int i = 0; i < N_WORLDS; i++) {
			struct sparse_call call;

			sparse_call_draw(&call, seed, worlds[i].n, 300);
			call.device = true;
			world_run_at(worlds[i].n, worlds[i].per_node, 60000, one_sparse, &call);
			sparse_call_free(&call);
		}
}

static void topk(void)
{
	for (int a = 0; a < LAW_ALGORITHMS; a += quick_wanted() ? 5 : 2) {
		struct law law = { .config = CHOIR_TOPK_CONFIG_INIT, .ranks = 2, .calls = 6, .device = true };

		law.config.algorithm = law_algorithms[a];
		law.config.count = 211;
		law.config.k = 12;
		law.config.op = CHOIR_OP_SUM;
		law_holds(&law);
	}
}

static void test_kind(void **state)
{
	enum memory_kind kind = *(const enum memory_kind *)*state;
	const char *reason = memory_lacks(world_device(), kind);

	if (reason != NULL) {
		print_message("%s is skipped: the device has %s\n", memory_kind_names[kind], reason);
		skip();
	}
	memory_choose(kind);
	on_worlds(dense, NULL);
	on_worlds(events, NULL);
	on_worlds(requests, NULL);
	on_worlds(lists, NULL);
	sparse();
	topk();
	memory_choose(MEMORY_MEM);
}

int main(void)
{
	static enum memory_kind kinds[] = { MEMORY_SVM_COARSE, MEMORY_SVM_FINE,   MEMORY_USM_HOST,
		                            MEMORY_USM_SHARED, MEMORY_USM_DEVICE, MEMORY_MIXED };
	const struct CMUnitTest tests[] = {
		{ "svm_coarse", test_kind, NULL, NULL, &kinds[0] }, { "svm_fine", test_kind, NULL, NULL, &kinds[1] },
		{ "usm_host", test_kind, NULL, NULL, &kinds[2] },   { "usm_shared", test_kind, NULL, NULL, &kinds[3] },
		{ "usm_device", test_kind, NULL, NULL, &kinds[4] }, { "mixed", test_kind, NULL, NULL, &kinds[5] }
	};
	int failed = cmocka_run_group_tests_name("pointers", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
