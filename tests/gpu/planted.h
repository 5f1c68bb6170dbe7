/* SPDX-License-Identifier: MIT */
/* Faults that the model reports, each with its right twin: fault says which of the two. */
#ifndef GPU_PLANTED_H
#define GPU_PLANTED_H

#include "session.h"

#include <stdbool.h>
#include <time.h>

enum { BYTES = 1 << 20 };

static const char planted_source[] = "kernel void add(global int *to, global const int *from) {"
				     "to[get_global_id(0)] += from[get_global_id(0)]; }";

#define HOLDS(condition) OK((condition) ? CL_SUCCESS : 1)

/* Looks at an event until it is that far, with rests between two looks. */
static inline void planted_look(cl_event event, cl_int until)
{
	cl_int state = CL_QUEUED;

	for (;;) {
		OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
		if (state <= until)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
}

void kernel_races(struct session *s, bool fault);
void released_argument(struct session *s, bool fault);
void many_arguments(struct session *s, bool fault);
void groups(struct session *s, bool fault);
void groups_chosen(struct session *s, bool fault);
void refused(struct session *s, bool fault);
void callback(struct session *s, bool fault);
void callback_context(struct session *s, bool fault);
void callback_wait(struct session *s, bool fault);
void callback_destructor(struct session *s, bool fault);
void svm_map_freed(struct session *s, bool fault);
void svm_freed_twice(struct session *s, bool fault);
void usm_freed(struct session *s, bool fault);
void usm_freed_twice(struct session *s, bool fault);
void svm_freed(struct session *s, bool fault);
void svm_blocks(struct session *s, bool fault);
void svm_argument(struct session *s, bool fault);

#endif
