/* SPDX-License-Identifier: MIT */
/* Every allocation of the library fails once (world/sweep.h), in calls that few programs make: by key, with
 * result=atomic, with an operator of the caller's, in sequences, by plans on the device, over all ranks by one call, of
 * top-k, and in starts on threads of the library's. */
#include "world/sweep.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RANKS = SWEEP_RANKS, COUNT = SWEEP_COUNT };

/* For calls that may be under way when an act ends. */
static float given[RANKS][2 * COUNT], got[RANKS][2][COUNT];

static void clear(int rank)
{
	sweep_fill(given[rank], 2 * COUNT, 1);
	sweep_fill(got[rank][0], 2 * COUNT, 0);
}

static choir_status sum(choir_comm *comm, int rank, int which, const choir_call *call, choir_op op,
                        choir_event **event_p)
{
	choir_status st;

	TWICE(st, comm,
	      choir_allreduce(comm, choir_host(given[rank]), choir_host(got[rank][which]), COUNT, CHOIR_F32, op, call,
	                      event_p));
	return st;
}

/* The ranks make two calls in different orders, twice. */
static choir_status keyed(choir_comm *comm, int rank)
{
	static const char *const keys[] = { "layer/0", "layer/1" };
	choir_status st = CHOIR_SUCCESS;

	for (int round = 0; round < 2 && st == CHOIR_SUCCESS; round++) {
		choir_event *events[2] = { NULL };

		clear(rank);
		for (int i = 0; i < 2 && st == CHOIR_SUCCESS; i++) {
			choir_call call = CHOIR_CALL_INIT;

			call.key = keys[i ^ rank];
			st = sum(comm, rank, i ^ rank, &call, CHOIR_OP_SUM, &events[i]);
		}
		if (st != CHOIR_SUCCESS)
			(void)choir_comm_abort(comm);
		for (int i = 0; i < 2; i++) {
			choir_status ended = events[i] != NULL ? world_wait(CHOIR_SUCCESS, events[i]) : st;

			st = st == CHOIR_SUCCESS ? ended : st;
		}
		RIGHT(st != CHOIR_SUCCESS || sweep_all_are(got[rank][0], 2 * COUNT, RANKS));
	}
	return st;
}

static choir_status atomic(choir_comm *comm, int rank)
{
	choir_tensor tensors[] = { { choir_host(given[rank]), choir_host(got[rank][0]), COUNT, CHOIR_F32 },
		                   { choir_mem(sweep_mem(rank), 0), choir_mem(sweep_mem(rank), 0), 9, CHOIR_F32 },
		                   { choir_host(given[rank] + COUNT), choir_host(got[rank][1]), COUNT, CHOIR_F32 } };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	choir_status st;

	clear(rank);
	call.options = "result=atomic";
	DO(sum(comm, rank, 0, &call, CHOIR_OP_SUM, NULL));
	DO(sum(comm, rank, 1, &call, CHOIR_OP_SUM, &event));
	DO(world_wait(CHOIR_SUCCESS, event));
	RIGHT(sweep_all_are(got[rank][0], 2 * COUNT, RANKS));
	clear(rank);
	TWICE(st, comm, choir_allreduce_multi(comm, tensors, 3, CHOIR_OP_SUM, &call, NULL));
	RIGHT(sweep_all_are(got[rank][0], 2 * COUNT, RANKS));
	return st;
}

static void fold(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	float *a = acc;

	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		a[i] += ((const float *)src)[i];
}

static choir_status op_made(choir_comm *comm, int rank, choir_op op)
{
	choir_event *event = NULL;

	clear(rank);
	DO(sum(comm, rank, 0, NULL, op, NULL));
	DO(sum(comm, rank, 1, NULL, op, &event));
	DO(world_wait(CHOIR_SUCCESS, event));
	RIGHT(sweep_all_are(got[rank][0], 2 * COUNT, RANKS));
	return CHOIR_SUCCESS;
}

static choir_status user_op(choir_comm *comm, int rank)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_status st;
	choir_op op;

	config.name = "plus";
	config.fold = fold;
	config.fold_text = "a + b";
	TWICE(st, comm, choir_op_create(&config, &op));
	st = op_made(comm, rank, op);
	(void)choir_op_destroy(op);
	return st;
}

/* --- requests --- */

static choir_status start_both(choir_comm *comm, int rank, choir_request *const *requests)
{
	choir_sequence *sequence = NULL;
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_sequence_create(requests, 2, &sequence));
	st = choir_sequence_start(sequence, NULL, NULL);
	if (st == CHOIR_SUCCESS)
		st = choir_sequence_start(sequence, NULL, &event);
	if (st != CHOIR_SUCCESS) /* the first request may be under way */
		(void)choir_comm_abort(comm);
	st = world_wait(st, event);
	choir_sequence_free(sequence);
	RIGHT(st != CHOIR_SUCCESS ||
	      (sweep_all_are(got[rank][0], COUNT, RANKS) && sweep_all_are(got[rank][1], COUNT, RANKS * RANKS)));
	return st;
}

static choir_status sequence(choir_comm *comm, int rank)
{
	choir_buffer in = choir_host(given[rank]), once = choir_host(got[rank][0]), twice = choir_host(got[rank][1]);
	choir_request *requests[2] = { NULL };
	choir_status st;

	clear(rank);
	TWICE(st, comm, choir_allreduce_init(comm, in, once, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, &requests[0]));
	st = choir_allreduce_init(comm, once, twice, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, &requests[1]);
	if (st == CHOIR_SUCCESS)
		st = start_both(comm, rank, requests);
	choir_request_free(requests[0]);
	choir_request_free(requests[1]);
	return st;
}

/* Scripts at first, then a plan for agreed counts. */
static choir_status vectors(choir_comm *comm, int rank)
{
	const size_t counts[RANKS] = { COUNT / 2, COUNT / 2 };
	choir_request *request = NULL;
	choir_status st;

	clear(rank);
	TWICE(st, comm,
	      choir_alltoallv_init(comm, choir_host(given[rank]), counts, NULL, choir_host(got[rank][0]), counts, NULL,
	                           CHOIR_F32, NULL, &request));
	for (int i = 0; i < 3 && st == CHOIR_SUCCESS; i++) {
		choir_event *event = NULL;

		st = choir_start(request, NULL, i == 1 ? &event : NULL);
		if (st == CHOIR_NO_MEMORY && choir_comm_status(comm) == CHOIR_SUCCESS)
			st = choir_start(request, NULL, i == 1 ? &event : NULL);
		if (event != NULL)
			st = world_wait(st, event);
	}
	choir_request_free(request);
	RIGHT(st != CHOIR_SUCCESS || sweep_all_are(got[rank][0], COUNT, 1));
	return st;
}

/* --- new comms --- */

static choir_status use_and_drop(choir_comm *made, int rank, choir_status st)
{
	if (st != CHOIR_SUCCESS)
		return st;
	clear(rank);
	st = sum(made, rank, 0, NULL, CHOIR_OP_SUM, NULL);
	if (st != CHOIR_SUCCESS)
		(void)choir_comm_abort(made);
	(void)choir_comm_destroy(made);
	RIGHT(st != CHOIR_SUCCESS || got[rank][0][COUNT - 1] > 0);
	return st;
}

static choir_status named_group(choir_comm *comm, int rank)
{
	static const int both[] = { 1, 0 };
	choir_comm *made = NULL, *found = NULL;
	choir_status st;

	DO(choir_comm_create_group(comm, "both", both, RANKS, NULL, &made));
	st = choir_comm_find(comm, "both", &found);
	if (st == CHOIR_NO_MEMORY)
		st = choir_comm_find(comm, "both", &found);
	if (st != CHOIR_SUCCESS)
		(void)choir_comm_destroy(made);
	RIGHT(st != CHOIR_SUCCESS || found == made);
	return use_and_drop(made, rank, st);
}

/* A rank that cannot start one does not make its peer wait: the act ends, and with it the comm. */
static choir_status starts(choir_comm *comm, int rank)
{
	static choir_comm *made[RANKS][3];
	static const int both[] = { 0, 1 };
	choir_device *device = choir_comm_device(comm);
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comm, choir_comm_create_start(NULL, 1, &device, NULL, &made[rank][0], &event));
	DO(use_and_drop(made[rank][0], rank, world_wait(st, event)));
	TWICE(st, comm, choir_comm_split_start(comm, 0, rank, NULL, &made[rank][1], &event));
	DO(use_and_drop(made[rank][1], rank, world_wait(st, event)));
	TWICE(st, comm, choir_comm_create_group_start(comm, "pair", both, RANKS, NULL, &made[rank][2], &event));
	return use_and_drop(made[rank][2], rank, world_wait(st, event));
}

/* --- on the device --- */

/* algorithm=device where the ranks' memory is far, on one node. */
static choir_status device(choir_comm *comm, int rank)
{
	bool far = choir_device_class(choir_comm_device(comm)) == CHOIR_CLASS_STAGE && choir_comm_nodes(comm) == 1;
	choir_buffer mine = choir_mem(sweep_mem(rank), 0);
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	choir_status st;

	call.options = far ? "algorithm=device" : NULL;
	TWICE(st, comm, choir_allreduce(comm, mine, mine, COUNT, CHOIR_F32, CHOIR_OP_MAX, &call, NULL));
	TWICE(st, comm, choir_broadcast(comm, mine, mine, COUNT, CHOIR_F32, 1, &call, &event));
	DO(world_wait(st, event));
	event = NULL;
	TWICE(st, comm,
	      choir_reduce_scatter(comm, mine, choir_mem(sweep_mem(rank), (size_t)rank * COUNT / RANKS * sizeof(float)),
	                           COUNT / RANKS, CHOIR_F32, CHOIR_OP_MAX, &call, &event));
	return world_wait(st, event);
}

/* A list of whole cl_mems: of far memory it is gathered. */
static choir_status device_list(choir_comm *comm, int rank)
{
	enum { TENSORS = 4 };
	static cl_mem mems[RANKS][TENSORS];
	choir_tensor tensors[TENSORS];
	choir_event *event = NULL;
	choir_status st;

	for (int i = 0; i < TENSORS; i++) {
		if (mems[rank][i] == NULL)
			mems[rank][i] = clCreateBuffer(choir_device_context(choir_comm_device(comm)), CL_MEM_READ_WRITE,
			                               256, NULL, NULL);
		tensors[i] = (choir_tensor){ choir_mem(mems[rank][i], 0), choir_mem(mems[rank][i], 0), 64, CHOIR_U32 };
	}
	TWICE(st, comm, choir_allreduce_multi(comm, tensors, TENSORS, CHOIR_OP_BOR, NULL, NULL));
	TWICE(st, comm, choir_allreduce_multi(comm, tensors, TENSORS, CHOIR_OP_BOR, NULL, &event));
	return world_wait(st, event);
}

/* --- one call for all ranks --- */

static choir_status sum_local(choir_comm *const *comms, const choir_buffer *sends, const choir_buffer *recvs)
{
	choir_event *event = NULL;
	choir_status st;

	TWICE(st, comms[0],
	      choir_allreduce_local(RANKS, comms, sends, recvs, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL));
	TWICE(st, comms[0],
	      choir_allreduce_local(RANKS, comms, sends, recvs, COUNT, CHOIR_F32, CHOIR_OP_SUM, NULL, &event));
	return world_wait(st, event);
}

/* By the thread of rank 0. */
static choir_status chunks(choir_comm *comm, int rank)
{
	choir_comm *const *comms = sweep_comms();
	choir_chunk list[RANKS] = { { .buffer = choir_host(got[0][1]) }, { .buffer = choir_host(got[1][1]) } };
	choir_chunks chunks = CHOIR_CHUNKS_INIT;
	choir_buffer sends[RANKS], recvs[RANKS];
	choir_status st;

	if (rank != 0)
		return CHOIR_SUCCESS;
	for (int i = 0; i < RANKS; i++) {
		clear(i);
		sends[i] = choir_host(given[i]);
		recvs[i] = choir_host(got[i][0]);
	}
	chunks.count = COUNT;
	chunks.n = RANKS;
	chunks.chunks = list;
	DO(choir_chunks_cut(&chunks));
	DO(sum_local(comms, sends, recvs));
	TWICE(st, comm, choir_chunks_reduce_scatter(RANKS, comms, sends, &chunks, CHOIR_OP_SUM, NULL, NULL));
	RIGHT(sweep_all_are(got[0][0], COUNT, RANKS) && sweep_all_are(got[1][1], COUNT / RANKS, RANKS));
	clear(0);
	sweep_fill(got[0][1], COUNT, 3);
	sweep_fill(got[1][1], COUNT, 3);
	TWICE(st, comm, choir_chunks_allgather(RANKS, comms, &chunks, recvs, NULL, NULL));
	RIGHT(sweep_all_are(got[0][0], COUNT, 3) && sweep_all_are(got[1][0], COUNT, 3));
	TWICE(st, comm, choir_chunks_concat(RANKS, comms, &chunks, 1, recvs[1], NULL, NULL));
	return st;
}

/* --- top-k --- */

/* With events, since a call that fails behind its last exchange cannot be made again: the other rank has its result. */
static choir_status topk_calls(choir_comm *comm, int rank, choir_topk_state *state)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;

	out.dense = choir_host(got[rank][0]);
	for (int i = 0; i < 2; i++) {
		choir_event *event = NULL;
		choir_status st;

		clear(rank);
		TWICE(st, comm, choir_topk_allreduce(state, choir_host(given[rank]), &out, NULL, &event));
		DO(world_wait(st, event));
		RIGHT(sweep_all_are(got[rank][0], COUNT, 1));
	}
	return CHOIR_SUCCESS;
}

static choir_status topk_of(choir_comm *comm, int rank, const char *algorithm)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_state *state = NULL;
	choir_status st;

	config.count = COUNT;
	config.algorithm = algorithm;
	config.k = COUNT;
	TWICE(st, comm, choir_topk_create(comm, &config, &state));
	st = topk_calls(comm, rank, state);
	choir_topk_destroy(state);
	return st;
}

static choir_status topk(choir_comm *comm, int rank)
{
	DO(topk_of(comm, rank, "oktopk"));
	return topk_of(comm, rank, "topka");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SWEEP("keyed", .act = keyed, .keyed = true),
		SWEEP("atomic", .act = atomic),
		SWEEP("user_op", .act = user_op),
		SWEEP("sequence", .act = sequence),
		SWEEP("vectors", .act = vectors),
		SWEEP("named_group", .act = named_group),
		SWEEP("starts", .act = starts, .stride = 37),
		SWEEP("device", .act = device),
		SWEEP("device_list", .act = device_list),
		SWEEP("chunks", .act = chunks),
		SWEEP("topk", .act = topk),
	};

	return cmocka_run_group_tests(tests, sweep_open, sweep_close);
}
