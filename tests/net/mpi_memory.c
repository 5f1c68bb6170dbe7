/* SPDX-License-Identifier: MIT */
/* Each allocation of the transport over MPI fails once on each rank: the call says so and has changed nothing, so the
 * same call again does all. */
#include "fill.h"
#include "mpi_program.h"
#include "world/allocations.h"

#include <choir/transport.h>
#include <sched.h>
#include <string.h>

enum { LONGEST = 300000, LENGTHS = 4, ALONG = 20 };

static const size_t lengths[LENGTHS] = { 0, 40, 9000, LONGEST };

/* Short ones are many, so that more arrive than an endpoint has places for. */
static size_t bytes_of(int number)
{
	return number < LENGTHS ? lengths[number] : 8;
}

static bool is_refused(choir_status st, int *refused)
{
	const void *site;

	if (st == CHOIR_SUCCESS)
		return false;
	REQUIRE(st == CHOIR_NO_MEMORY && allocations_failed(&site) && strstr(choir_last_error(), "memory") != NULL);
	choir_transport_error(CHOIR_ARGUMENT, "another sentence");
	++*refused;
	return true;
}

static bool receives(choir_transport *t, int number, int *refused)
{
	choir_message message;
	int arrived = 0;

	while (is_refused(t->ops->poll(t, &message, &arrived), refused))
		REQUIRE(!arrived);
	if (!arrived)
		return false;
	REQUIRE(message.peer == (my_rank + my_size - 1) % my_size && message.bytes == bytes_of(number));
	REQUIRE(is_filled(message.data, message.bytes, (uint64_t)number));
	t->ops->give(t, &message);
	return true;
}

/* All messages to the next rank are begun before any is received. */
static void go_round(choir_transport *t, int *refused)
{
	static unsigned char data[LENGTHS + ALONG][LONGEST];
	void *requests[LENGTHS + ALONG] = { NULL };
	int got = 0;

	for (int i = 0; i < LENGTHS + ALONG; i++) {
		fill(data[i], bytes_of(i), (uint64_t)i);
		while (
		    is_refused(t->ops->send(t, (my_rank + 1) % my_size, data[i], bytes_of(i), &requests[i]), refused))
			REQUIRE(requests[i] == NULL);
	}
	for (int i = 0; i < LENGTHS + ALONG || got < LENGTHS + ALONG; sched_yield()) {
		int done = i == LENGTHS + ALONG || requests[i] == NULL;

		if (!done)
			REQUIRE(t->ops->test(t, requests[i], &done) == CHOIR_SUCCESS);
		i += done && i < LENGTHS + ALONG;
		if (got < LENGTHS + ALONG)
			got += receives(t, got, refused);
	}
}

/* True: on one of the ranks the k-th allocation was reached, and failed. */
static bool one_fails(unsigned k)
{
	choir_transport *t = NULL;
	int refused = 0, failed;
	const void *site;

	REQUIRE(mpi_transport_create(MPI_COMM_WORLD, DEADLINE_MS, &t) == CHOIR_SUCCESS);
	allocations_fail(k);
	go_round(t, &refused);
	failed = allocations_failed(&site);
	allocations_stop();
	REQUIRE(refused <= failed); /* of arrivals the look that failed may have delivered another one */
	MPI_Barrier(MPI_COMM_WORLD);
	t->ops->destroy(t);
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return failed;
}

/* Alone, since the other ranks would wait for one whose memory fails. */
static bool creation_fails(unsigned k)
{
	choir_transport *t = NULL;
	size_t before = allocations_live();
	const void *site;
	choir_status st;
	bool failed;

	allocations_fail(k);
	st = mpi_transport_create(MPI_COMM_SELF, DEADLINE_MS, &t);
	failed = allocations_failed(&site);
	allocations_stop();
	REQUIRE(st == (failed ? CHOIR_NO_MEMORY : CHOIR_SUCCESS));
	if (st == CHOIR_SUCCESS)
		t->ops->destroy(t);
	else
		REQUIRE(allocations_live() <= before + 1); /* what MPI has begun is buried, and freed later */
	return failed;
}

void case_no_memory(void)
{
	unsigned k = 1;

	while (one_fails(k))
		k++;
	REQUIRE(k > 3);
	for (k = 1; creation_fails(k);)
		k++;
	REQUIRE(k > 3); /* the link, the transport, its arrivals */
	case_traffic();
}
