/* SPDX-License-Identifier: MIT */
/* A queue of events by time; events of the same time are in order of insertion. */
#ifndef PLAN_PLAN_EVENTS_H
#define PLAN_PLAN_EVENTS_H

#include <choir/types.h>
#include <stdbool.h>

struct plan_event {
	double time_s;
	uint64_t number;
	int32_t rank;
	uint32_t step;
	int what;
};

struct plan_events {
	struct plan_event *heap;
	size_t n, cap;
	uint64_t next_number;
};

/* plan_events_put: adds an event.  NO_MEMORY.  plan_events_take: removes the earliest; false if there is none. */
choir_status plan_events_put(struct plan_events *events, double time_s, int what, int rank, uint32_t step);
bool plan_events_take(struct plan_events *events, struct plan_event *out);
void plan_events_free(struct plan_events *events);

#endif
