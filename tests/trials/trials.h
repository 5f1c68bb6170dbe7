/* SPDX-License-Identifier: MIT */
/* Random trials of what happens when a rank fails: one rank of a small world is killed, stopped, slow, aborts or
 * destroys its comm while all make one call again and again.  A trial follows from its seed alone. */
#ifndef TESTS_TRIALS_H
#define TESTS_TRIALS_H

#include "lib/collective.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A deadline ends the calls of those that wait for a stopped rank: such a trial takes as long.  No deadline passes
 * where a rank aborts, destroys or is slow.  A call returns by its deadline and a second, or a second after the abort,
 * the destroy or the end of the pause; sanitizers take longer. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { LATE_MS = 5000 };
#else
enum { LATE_MS = 1000 };
#endif
enum { MOST_RANKS = 4, DEADLINE_MS = 1500, LONG_DEADLINE_MS = 15000 };
enum { SLOW_MS = 250, CALLS_OF_SLOW = 20 };

enum ending { ENDS_KILLED, ENDS_STOPPED, ENDS_SLOW, ENDS_ABORTED, ENDS_DESTROYED, N_ENDINGS };
enum call_kind {
	CALL_HOST,
	CALL_SYMMETRIC,
	CALL_DEVICE,
	CALL_PAIR,
	CALL_SPARSE,
	CALL_SPARSE_DEVICE,
	CALL_SPLIT,
	CALL_MEMORY,
	N_CALL_KINDS
};
enum setting { AS_PROCESSES, ON_NODES, AS_THREADS, THREADS_ON_NODES, N_SETTINGS };

struct trial {
	uint64_t seed;
	enum ending ending;
	enum call_kind kind;
	enum setting setting;
	choir_memory_class memory_class; /* of all ranks' devices: MAP and STAGE, and the buffers are there; or AUTO */
	enum collective_index what;      /* where the kind is not sparse */
	int algorithm;                   /* a number that chooses one of those there are; 0 = the library chooses */
	int n, ranks_per_node, victim;
	size_t count;     /* elements of the call */
	int after_calls;  /* the victim ends once all have made so many calls, */
	int64_t delay_us; /* and that long after */
	bool in_call;     /* a comm is destroyed while the victim is in a call, else between two */
};

/* trial_draw: the trial of that seed and ending.  trial_describe: one line, which begins with the options that run it
 * again. */
struct trial trial_draw(uint64_t seed, enum ending ending);
int64_t trial_deadline_ms(const struct trial *trial);
void trial_describe(const struct trial *trial, char *text, size_t bytes);
const char *ending_name(enum ending ending);
const char *setting_name(enum setting setting);

/* What became of a rank. */
struct outcome {
	_Atomic bool returned;
	choir_status status;
	int64_t ms, longest_ms; /* its last call and its longest one took */
	int64_t ended_ms;       /* when its last call returned; the victim's destroy, where it is that */
	bool wrong_data;
	char text[600];
};

/* What the processes of a trial share. */
struct table {
	_Atomic bool end_now;          /* the victim's thread is to do what it is to do */
	_Atomic bool slept;            /* the slow one goes on */
	_Atomic bool closing;          /* wait for n_calls: no call begins before it is said */
	_Atomic int n_calls;           /* that all ranks make, where one was slow */
	_Atomic int64_t ended_ms;      /* when the victim ended */
	_Atomic int calls[MOST_RANKS]; /* that each rank has begun */
	struct outcome outcomes[MOST_RANKS];
};

/* rank_main: the part of one rank: calls until one fails.  Then its buffers are unmapped at once: no peer may still use
 * them. */
void rank_main(const struct trial *trial, struct table *table, int rank, choir_comm *comm);

/* The call of a trial on one rank */
struct call_state;
struct call_state *call_begin(const struct trial *trial, int rank, choir_comm *comm);
void call_prepare(struct call_state *state, int number);
choir_status call_make(struct call_state *state);
const char *call_error(const struct call_state *state); /* of the last one, which failed */
bool call_is_right(struct call_state *state);           /* after SUCCESS */
void call_end(struct call_state *state);

/* trial_run: true if all went as it must; else `why` says what did not.  *worst_ms: of the ranks that were left, the
 * longest last call, or the longest time from the abort or destroy to its return. */
bool trial_run(const struct trial *trial, int64_t *worst_ms, char *why, size_t bytes);

#endif
