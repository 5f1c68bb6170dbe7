/* SPDX-License-Identifier: MIT */
#include "plan/plan_events.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static bool is_earlier(const struct plan_event *a, const struct plan_event *b)
{
	return a->time_s < b->time_s || (a->time_s == b->time_s && a->number < b->number);
}

choir_status plan_events_put(struct plan_events *events, double time_s, int what, int rank, uint32_t step)
{
	struct plan_event event = {
		.time_s = time_s, .number = events->next_number++, .rank = rank, .step = step, .what = what
	};
	size_t at = events->n;

	if (events->n == events->cap) {
		size_t cap = events->cap ? events->cap * 2 : 256;
		void *bigger = realloc(events->heap, cap * sizeof *events->heap);

		if (!bigger)
			return error_no_memory("the events of a forecast", cap * sizeof *events->heap);
		events->heap = bigger;
		events->cap = cap;
	}
	events->n++;
	while (at > 0 && is_earlier(&event, &events->heap[(at - 1) / 2])) {
		events->heap[at] = events->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	events->heap[at] = event;
	return CHOIR_SUCCESS;
}

bool plan_events_take(struct plan_events *events, struct plan_event *out)
{
	struct plan_event last;
	size_t at = 0, child;

	if (events->n == 0)
		return false;
	*out = events->heap[0];
	last = events->heap[--events->n];
	for (; (child = 2 * at + 1) < events->n; at = child) {
		if (child + 1 < events->n && is_earlier(&events->heap[child + 1], &events->heap[child]))
			child++;
		if (!is_earlier(&events->heap[child], &last))
			break;
		events->heap[at] = events->heap[child];
	}
	events->heap[at] = last;
	return true;
}

void plan_events_free(struct plan_events *events)
{
	free(events->heap);
	memset(events, 0, sizeof *events);
}
