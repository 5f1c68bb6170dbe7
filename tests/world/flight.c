/* SPDX-License-Identifier: MIT */
#include "world/flight.h"

#include "world/values.h"

#include <string.h>

void flight_make(struct flight *flight, struct world *world, int rank, const struct test_case *tc,
                 const struct trial *t)
{
	size_t elem = choir_dtype_bytes(t->dtype);

	*flight = (struct flight){ .tc = tc, .t = *t, .rank = rank };
	CHECK(memory_make(&flight->send, world->device, t->device, tc->send_elems(t, rank) * elem, elem));
	CHECK(memory_make(&flight->recv, world->device, t->device, tc->recv_elems(t, rank) * elem, 3 * elem));
	for (size_t i = 0; i < tc->send_elems(t, rank); i++)
		value_store(t->dtype, memory_payload(&flight->send), i, tc->input(t, rank, i));
	memory_push(&flight->send);
}

void flight_start(struct flight *flight, struct world *world, choir_comm *comm, const choir_call *call)
{
	int rank = flight->rank;

	OK(case_call(flight->tc, &flight->t, comm, flight->send.buffer, flight->recv.buffer, call, &flight->event));
}

static void compare(struct flight *flight, struct world *world)
{
	const struct trial *t = &flight->t;
	size_t elem = choir_dtype_bytes(t->dtype);
	unsigned char wanted[8], *got = memory_payload(&flight->recv);

	for (size_t i = 0; i < flight->tc->recv_elems(t, flight->rank); i++) {
		double value = flight->tc->result(t, flight->rank, i);

		memset(wanted, SENTINEL, sizeof wanted);
		if (value != -1) /* else a gap */
			value_store(t->dtype, wanted, 0, value);
		if (memcmp(got + i * elem, wanted, elem) == 0)
			continue;
		world_fail(world, flight->rank, "%s of %zu x %s in flight: element %zu is %g, not %g", flight->tc->name,
		           t->count, choir_dtype_name(t->dtype), i, value_load(t->dtype, got, i), value);
		return;
	}
}

void flight_compare(struct flight *flight, struct world *world)
{
	int rank = flight->rank;

	memory_pull(&flight->recv);
	compare(flight, world);
	CHECK(memory_sentinels_stand(&flight->recv));
}

void flight_land(struct flight *flight, struct world *world)
{
	int rank = flight->rank;

	if (flight->event != NULL && OK(choir_event_wait(flight->event, -1)))
		flight_compare(flight, world);
}

void flight_free(struct flight *flight)
{
	choir_event_release(flight->event);
	memory_free(&flight->send);
	memory_free(&flight->recv);
}
