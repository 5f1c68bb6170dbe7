/* SPDX-License-Identifier: MIT */
/* What the tests of events and errors start, hold back and look at. */
#ifndef TESTS_GATE_H
#define TESTS_GATE_H

#include "world/world.h"

/* A gate: a user event that a call may depend on.  gate_open lets it pass (status CL_COMPLETE) or fails it (negative);
 * the caller releases it. */
cl_event gate_make(cl_context context);
void gate_open(cl_event gate, cl_int status);

/* gate_context: another context over the device of the tests, made once; gate_drop frees it. */
cl_context gate_context(void);
void gate_drop(void);

/* sum_start: an allreduce (f32, sum) of count elements of host memory: every element of rank r is first + r.  sum_is:
 * did n ranks' sum come out? */
struct sum {
	float *send, *recv;
	size_t count;
	float first;
	choir_event *event;
};
choir_status sum_start(struct sum *sum, choir_comm *comm, size_t count, float first, const choir_call *call,
                       bool with_event);
bool sum_is(const struct sum *sum, int n);
void sum_free(struct sum *sum);

/* sum_works: a blocking sum comes out on this rank. */
bool sum_works(choir_comm *comm, size_t count);

/* says: does the text hold all of the words, separated by '|'? */
bool says(const char *text, const char *words);

#define SAYS(call, wanted, words)                                                                                      \
	do {                                                                                                           \
		if (IS(call, wanted) && !says(choir_last_error(), words))                                              \
			world_fail(world, rank, "%s:%d: \"%s\" does not say %s", __FILE__, __LINE__,                   \
			           choir_last_error(), words);                                                         \
	} while (0)

/* line_up: a barrier of the threads of a world, beside the library. */
void line_up(void);
void line_up_begin(int n);
void line_up_end(void);

/* line_up_run: a world of n ranks (world_run) whose threads may line up. */
void line_up_run(int n, int ranks_per_node, int64_t deadline_ms, world_fn fn, void *arg);

/* line_up_layouts: the same twice, all ranks on one node and each on a node of its own. */
void line_up_layouts(int n, world_fn fn);

/* line_up_pointers: on one node, and if not quick on two, with each kind of SVM and USM that the device has; arg is the
 * enum memory_kind. */
void line_up_pointers(world_fn fn);

#endif
