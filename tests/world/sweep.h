/* SPDX-License-Identifier: MIT */
/* Every allocation of the library fails once, a world of its own for each.  The call says NO_MEMORY with a sentence, or
 * does without; a call that is refused while the comm stands can be made again; a comm that fails does so on all ranks;
 * nothing waits for its deadline; and nothing is left when the comms are gone. */
#ifndef TESTS_SWEEP_H
#define TESTS_SWEEP_H

#include <choir/choir.h>
#include <stdbool.h>

enum { SWEEP_RANKS = 2, SWEEP_COUNT = 300 };

/* What the ranks do while an allocation fails.  CHOIR_ARGUMENT: a result was wrong. */
typedef choir_status (*act_fn)(choir_comm *comm, int rank);

struct sweep {
	act_fn act;      /* NULL: what fails is of creating and destroying */
	unsigned stride; /* one of so many allocations fails, 0 = of 17, unless CHOIR_TEST_LONG is set: then each */
	bool may_leave;  /* memory that a failed peer reads is never freed */
	bool keyed;      /* the comm */
};

/* sweep_run: all ranks on one node, and each on its own. */
void sweep_run(const struct sweep *sweep);

/* The comms of the world of now. */
choir_comm *const *sweep_comms(void);

/* The fixtures of a program; between them the memory of rank's device: SWEEP_COUNT f32, at first all 1. */
int sweep_open(void **state);
int sweep_close(void **state);
cl_mem sweep_mem(int rank);

bool sweep_all_are(const float *values, size_t n, float wanted);
void sweep_fill(float *values, size_t n, float with);

/* sweep_test: a CMocka test whose initial state is a sweep. */
void sweep_test(void **state);
#define SWEEP(name, ...)                                                                                               \
	{                                                                                                              \
		"test_" name, sweep_test, NULL, NULL, &(struct sweep)                                                  \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

/* What acts are written with.  A call that was refused while the comm stands can be made again.  One that ended with an
 * error, or takes part in several collectives (a split, symmetric memory), cannot: its peers have gone on. */
#define TWICE(st, comm, call)                                                                                          \
	do {                                                                                                           \
		st = (call);                                                                                           \
		if (st == CHOIR_NO_MEMORY && choir_comm_status(comm) == CHOIR_SUCCESS)                                 \
			st = (call);                                                                                   \
		if (st != CHOIR_SUCCESS)                                                                               \
			return st;                                                                                     \
	} while (0)

#define DO(call)                                                                                                       \
	do {                                                                                                           \
		choir_status done = (call);                                                                            \
		if (done != CHOIR_SUCCESS)                                                                             \
			return done;                                                                                   \
	} while (0)

#define RIGHT(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			return CHOIR_ARGUMENT; /* no call of ours says so */                                           \
	} while (0)

#endif
