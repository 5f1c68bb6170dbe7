/* SPDX-License-Identifier: MIT */
/* One call of the case table in flight: its memory from the start of the call to the check of what came out. */
#ifndef TESTS_FLIGHT_H
#define TESTS_FLIGHT_H

#include "world/cases.h"

struct flight {
	const struct test_case *tc;
	struct trial t;
	struct memory send, recv;
	choir_event *event;
	int rank;
};

/* flight_make: memory, filled with the case's input. */
void flight_make(struct flight *flight, struct world *world, int rank, const struct test_case *tc,
                 const struct trial *t);

/* flight_start: makes the call; flight_land: waits for it and compares; flight_compare: compares, the call having
 * ended; flight_free. */
void flight_start(struct flight *flight, struct world *world, choir_comm *comm, const choir_call *call);
void flight_compare(struct flight *flight, struct world *world);
void flight_land(struct flight *flight, struct world *world);
void flight_free(struct flight *flight);

#endif
