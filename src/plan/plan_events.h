/* SPDX-License-Identifier: MIT */
/* Events by time; events of one moment in the order of their insertion. */
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

/* NO_MEMORY */
choir_status plan_events_put(struct plan_events *events, double time_s, int what, int rank, uint32_t step);
bool plan_events_take(struct plan_events *events, struct plan_event *out); /* false: none is left */
void plan_events_free(struct plan_events *events);

#endif
