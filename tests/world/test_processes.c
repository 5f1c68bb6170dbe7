/* SPDX-License-Identifier: MIT */
/* Processes of one machine that work, leave and destroy in good order. */
#include "exec/comm.h"
#include "page_faults.h"
#include "world/endings.h"
#include "world/memory.h"
#include "world/processes.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Two ranks a process, by events; a split across the processes. */
static void work(const struct rank *me, int per_node)
{
	choir_comm *comms[2], *children[2];
	int n = 2 * me->n, colors[2] = { 0, 1 }, keys[2] = { -me->rank, 0 };
	struct sum sums[2][20];

	processes_create(me, 2, per_node, 20000, comms);
	MUST(choir_comm_size(comms[0]) == n && choir_comm_rank(comms[1]) == 2 * me->rank + 1);
	MUST(choir_comm_nodes(comms[0]) == (per_node == 0 ? 1 : n / per_node));
	for (int k = 0; k < 20; k++)
		for (int i = 0; i < 2; i++)
			MUST(sum_start(&sums[i][k], comms[i], (size_t)k * 5000 + 1, (float)k, NULL, true) ==
			     CHOIR_SUCCESS);
	MUST(choir_comm_split_local(2, comms, colors, keys, children) == CHOIR_SUCCESS);
	for (int k = 19; k >= 0; k--)
		for (int i = 0; i < 2; i++) {
			MUST(choir_event_wait(sums[i][k].event, -1) == CHOIR_SUCCESS && sum_is(&sums[i][k], n));
			sum_free(&sums[i][k]);
		}
	MUST(choir_comm_size(children[1]) == me->n && choir_comm_rank(children[0]) == me->n - 1 - me->rank);
	MUST(sum_works(children[0], 1000) && sum_works(children[1], 100000));
	for (int i = 0; i < 2; i++) {
		MUST(choir_comm_destroy(comms[i]) == CHOIR_SUCCESS);
		MUST(choir_comm_destroy(children[i]) == CHOIR_SUCCESS);
	}
}

/* What a call that is made again and again has its buffers in is registered again, under another number. */
static void registered_again(const struct rank *me, int per_node)
{
	struct ending e = { .kind = ENDS_SHARED_SUM, .all = processes_all, .ctx = (void *)me };
	size_t bytes = 2 * ENDING_ROOM * sizeof *e.in;
	int32_t *memory[] = { memory_map_shared(bytes), memory_map_shared(bytes) };
	int n = me->n;

	processes_create(me, 1, per_node, 20000, &e.comm);
	for (int i = 0; i < 2; i++)
		MUST(memory[i] != NULL && choir_mem_register(e.comm, memory[i], bytes) == CHOIR_SUCCESS);
	e.in = memory[0];
	MUST(ending_begin(&e));
	for (int i = 0; i < 2; i++)
		MUST(choir_mem_deregister(e.comm, memory[i]) == CHOIR_SUCCESS);
	for (int i = 1; i >= 0; i--)
		MUST(choir_mem_register(e.comm, memory[i], bytes) == CHOIR_SUCCESS);
	for (int i = 0; i < ENDING_COUNT; i++)
		e.in[i] = me->rank + 7 * i;
	MUST(ending_call(&e) == CHOIR_SUCCESS);
	for (int i = 0; i < ENDING_COUNT; i++)
		MUST(e.out[i] == n * (n - 1) / 2 + 7 * n * i);
	MUST(choir_comm_destroy(e.comm) == CHOIR_SUCCESS);
}

/* A process that ends after its last call is no failure, though its peers have not read all of it. */
static void leaves_early(const struct rank *me, int per_node)
{
	choir_comm *comm;

	processes_create(me, 1, per_node, 20000, &comm);
	for (int i = 0; i < 50; i++)
		MUST(sum_works(comm, 20000));
	if (me->rank == 0)
		MUST(choir_broadcast(comm, choir_host(&(int){ 7 }), choir_host(&(int){ 0 }), 1, CHOIR_I32, 0, NULL,
		                     NULL) == CHOIR_SUCCESS);
	if (me->rank != 0) {
		int got = 0;

		MUST(choir_broadcast(comm, choir_none(), choir_host(&got), 1, CHOIR_I32, 0, NULL, NULL) ==
		         CHOIR_SUCCESS &&
		     got == 7);
	}
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
}

static void wait_for_rank_0(const struct rank *me, choir_comm *comm, choir_status wanted, const char *words)
{
	struct sum sum;
	choir_status st = sum_start(&sum, comm, 1000, 1, NULL, false);

	if (st != wanted || !says(choir_last_error(), words))
		fprintf(stderr, "process %d: %s: %s\n", me->rank, choir_status_name(st), choir_last_error());
	MUST(st == wanted && says(choir_last_error(), words));
	choir_comm_destroy(comm);
}

/* Rank 0 destroys its comm while the others wait for it. */
static void destroys(const struct rank *me, int per_node)
{
	choir_comm *comm;

	processes_create(me, 1, per_node, 20000, &comm);
	MUST(sum_works(comm, 1000));
	meeting_wait(me->meeting);
	if (me->rank == 0)
		MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	else
		wait_for_rank_0(me, comm, CHOIR_ABORTED, "rank 0, which destroyed its comm after allreduce #0");
}

/* Rank 0's process ends in good order, but for its comm. */
static void ends(const struct rank *me, int per_node)
{
	choir_comm *comm;

	processes_create(me, 1, per_node, 20000, &comm);
	MUST(sum_works(comm, 1000));
	meeting_wait(me->meeting);
	if (me->rank == 0)
		exit(0);
	wait_for_rank_0(me, comm, CHOIR_PEER_DEAD, "rank 0, whose process ended after allreduce #0");
}

/* A comm is destroyed while another one, which has the same transport, sends a message that cannot leave yet. */
static void destroys_beside_send(const struct rank *me, int unused)
{
	enum { BYTES = 64 << 20 };
	choir_comm *parent, *child;
	choir_event *event;
	char *bytes = calloc(BYTES, 1);

	(void)unused;
	processes_create(me, 1, 1, 20000, &parent);
	MUST(bytes != NULL && choir_comm_split(parent, 0, 0, &child) == CHOIR_SUCCESS);
	if (me->rank == 0) {
		MUST(choir_send(parent, choir_host(bytes), BYTES, CHOIR_U8, 1, NULL, &event) == CHOIR_SUCCESS);
		while (!messenger_busy(parent->messenger)) /* the send is under way */
			sched_yield();
		MUST(choir_comm_destroy(child) == CHOIR_SUCCESS);
		meeting_wait(me->meeting);
		MUST(choir_event_wait(event, -1) == CHOIR_SUCCESS);
		choir_event_release(event);
	} else {
		meeting_wait(me->meeting);
		MUST(choir_comm_status(child) == CHOIR_SUCCESS);
		MUST(choir_recv(parent, choir_host(bytes), BYTES, CHOIR_U8, 0, NULL, NULL) == CHOIR_SUCCESS);
		MUST(choir_comm_destroy(child) == CHOIR_SUCCESS);
	}
	MUST(choir_comm_destroy(parent) == CHOIR_SUCCESS);
	free(bytes);
}

static void destroy_nothing(choir_transport *transport)
{
	(void)transport;
}

/* A transport whose table of calls is of no version, or lacks one. */
static void broken_transport(const struct rank *me, int size)
{
	choir_transport_ops whole = { .struct_size = (size_t)size, .name = "broken", .destroy = destroy_nothing };
	size_t there = size < 8 ? 8 : (size_t)size < sizeof whole ? (size_t)size : sizeof whole;
	choir_transport_ops *ops = malloc(there); /* no byte more than it says */
	choir_transport transport = { .ops = size < 0 ? NULL : ops, .rank = me->rank, .size = me->n };
	choir_bootstrap boot = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm = NULL;

	MUST(ops != NULL);
	memcpy(ops, &whole, there);
	config.ranks_per_node = 1;
	config.transport = &transport;
	MUST(choir_comm_create(&boot, 1, &device, &config, &comm) == CHOIR_ARGUMENT && comm == NULL);
	MUST(says(choir_last_error(), size < 0               ? "choir_comm_create: transport->ops is null"
	                              : size == sizeof whole ? "choir_comm_create: transport->ops lacks"
	                                                     : "choir_comm_create: transport->ops->struct_size is "));
	free(ops);
}

static void test_broken_transport(void **state)
{
	const int sizes[] = { -1, 0, 8, sizeof(choir_transport_ops) + 8, sizeof(choir_transport_ops) };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		processes_run(2, sizes[i], broken_transport, -1);
}

/* What no plan could be cut by, and ranks that would cut it differently. */
static void odd_messages(const struct rank *me, int size)
{
	choir_transport_ops ops = { .struct_size = sizeof ops, .name = "odd", .destroy = destroy_nothing };
	choir_transport transport = { .ops = &ops, .rank = me->rank, .size = me->n };
	choir_bootstrap boot = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm = NULL;

	memset(&ops.send, 1,
	       offsetof(choir_transport_ops, destroy) - offsetof(choir_transport_ops, send)); /* not called */
	ops.message_bytes = size > 0 ? SIZE_MAX : 1000 + (size_t)me->rank;
	config.ranks_per_node = 1;
	config.transport = &transport;
	MUST(choir_comm_create(&boot, 1, &device, &config, &comm) == (size > 0 ? CHOIR_ARGUMENT : CHOIR_MISMATCH));
	MUST(comm == NULL && says(choir_last_error(), size > 0 ? "message_bytes is 18446744073709551615, at most"
	                                                       : "message_bytes is 1000 of process 0 and 1001"));
}

static void test_odd_messages(void **state)
{
	(void)state;
	for (int size = 0; size < 2; size++)
		processes_run(2, size, odd_messages, -1);
}

/* Why page faults cannot be told; NULL: they can. */
static const char *faults_hidden(void)
{
	void *page = memory_map_shared(4096);
	const char *why = page == NULL ? "no memory" : page_faults_hidden(page);

	munmap(page, 4096);
	return why;
}

/* A rank that has made calls of other kinds maps its peer's slots all the same, at its first calls that read them: a
 * turn of their ring takes no page faults then. */
static void maps_ahead(const struct rank *me, int unused)
{
	enum { BYTES = 64 << 10, CALLS = 80, AFTER = 3, OTHERS = 20, MOST_FAULTS = 16 };
	choir_comm *comm;
	char *out = malloc(BYTES), *in = malloc(2 * BYTES);
	long before = 0, after;

	(void)unused;
	processes_create(me, 1, 0, 20000, &comm);
	MUST(out != NULL && in != NULL);
	memset(out, me->rank + 1, BYTES);
	for (int i = 0; i < OTHERS; i++) {
		choir_event *event;

		MUST(choir_sendrecv(comm, choir_host(out), BYTES, 1 - me->rank, choir_host(in), BYTES, 1 - me->rank,
		                    CHOIR_U8, NULL, &event) == CHOIR_SUCCESS);
		MUST(choir_event_wait(event, -1) == CHOIR_SUCCESS);
		choir_event_release(event);
	}
	for (int i = 0; i < CALLS; i++) {
		if (i == AFTER)
			before = page_faults();
		MUST(choir_allgather(comm, choir_host(out), choir_host(in), BYTES, CHOIR_U8, NULL, NULL) ==
		     CHOIR_SUCCESS);
	}
	after = page_faults();
	MUST(in[0] == 1 && in[2 * BYTES - 1] == 2);
	MUST(after - before <= MOST_FAULTS || faults_hidden() != NULL);
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	free(out);
	free(in);
}

static void test_work(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (int n = 1; n <= 3; n++)
			processes_run(n, per_node, work, -1);
}

static void test_registered_again(void **state)
{
	(void)state;
	processes_run(2, 0, registered_again, -1);
	processes_run(3, 0, registered_again, -1);
}

static void test_leaves_early(void **state)
{
	(void)state;
	processes_run(3, 0, leaves_early, -1);
	processes_run(3, 1, leaves_early, -1);
}

static void test_goes(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 1; per_node++) {
		processes_run(2, per_node, destroys, -1);
		processes_run(3, per_node, destroys, -1);
		processes_run(3, per_node, ends, -1);
	}
}

static void test_maps_ahead(void **state)
{
	(void)state;
	if (faults_hidden() != NULL)
		print_message("page faults are not counted: %s\n", faults_hidden());
	processes_run(2, 0, maps_ahead, -1);
}

static void test_destroys_beside_send(void **state)
{
	(void)state;
	processes_run(2, 1, destroys_beside_send, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_work),
		                            cmocka_unit_test(test_registered_again),
		                            cmocka_unit_test(test_leaves_early),
		                            cmocka_unit_test(test_goes),
		                            cmocka_unit_test(test_destroys_beside_send),
		                            cmocka_unit_test(test_maps_ahead),
		                            cmocka_unit_test(test_broken_transport),
		                            cmocka_unit_test(test_odd_messages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
