/* SPDX-License-Identifier: MIT */
/* One call of the table of collectives (lib/collective.h) on one rank: its memory, from the start of the call to the
 * check of what came out.  Blocks of v-forms have gaps. */
#ifndef TESTS_FLIGHT_H
#define TESTS_FLIGHT_H

#include "lib/collective_data.h"
#include "world/memory.h"

/* The same on all ranks. */
struct dense_call {
	const struct collective_row *what;
	choir_dtype dtype;
	choir_op op;
	size_t count;
	int n, root;
	bool in_place; /* where the collective has such a form */
	bool device;
	const char *options; /* "algorithm=..." or NULL */
};

struct dense_flight {
	struct dense_call call;
	int rank;
	bool in_place;
	struct memory send, recv; /* in place: send holds both */
	choir_event *event;
	struct collective_shape shape;
	struct collective_layout layout;
	struct collective_data data;
	struct collective_args args;
};

/* flight_make: memory, filled with the call's input.  The flight is not moved from then on. */
void flight_make(struct dense_flight *flight, struct world *world, int rank, const struct dense_call *call);
void flight_free(struct dense_flight *flight);

/* flight_in, flight_out: where the elements are, or their host copies. */
unsigned char *flight_in(struct dense_flight *flight);
unsigned char *flight_out(struct dense_flight *flight);

/* flight_call: makes the call; call NULL = with the options and the factor that it has.  flight_start: the same, with
 * an event, and it must be taken. */
choir_status flight_call(struct dense_flight *flight, choir_comm *comm, const choir_call *call, choir_event **event_p);
void flight_start(struct dense_flight *flight, struct world *world, choir_comm *comm, const choir_call *call);

/* flight_compare: the call having ended, every element of the output is compared, sentinels and gaps must stand, and
 * the input must be as it was.  flight_land: waits for the event first. */
void flight_compare(struct dense_flight *flight, struct world *world);
void flight_land(struct dense_flight *flight, struct world *world);

/* flight_run: one blocking call on this rank, made and checked; failures go to the world. */
void flight_run(struct world *world, int rank, choir_comm *comm, const struct dense_call *call);

/* flight_text: the call in words, for failures. */
enum { FLIGHT_TEXT_BYTES = 200 };
const char *flight_text(const struct dense_flight *flight, char text[FLIGHT_TEXT_BYTES]);

#endif
