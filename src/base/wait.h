/* SPDX-License-Identifier: MIT */
/* The wait policy: the one place where the library spins, yields or sleeps.  (libchoir-mpi, a library of its own,
 * yields between two tests of a request.)
 *
 * Note [wait policy].  A waiting thread checks in rounds whether it can go on.  Counted from the last progress, it
 * spins for some rounds, then yields the core for some, then sleeps between rounds, on the process's doorbell if one is
 * set (node/bell.h):
 *
 *   it waits for                                       spins  yields  sleeps, us  because
 *   commands of a device                                 400    2000          50  no doorbell rings when one ends
 *   the same, where callbacks are quick                  400      60        1000  one does, but for some failures
 *   the same, of a GPU, in a blocking call               400    1000        1000  a wake-up takes as long as a chunk
 *   messages that must be polled, or a time              400      60         200  no doorbell rings when one arrives
 *   the same, for more than 2 ms                          16       4          50  the network's own work needs the core
 *   the same, in a blocking call                         400    4000         200  a yield is all that such work needs
 *   ranks of its node, in a blocking call                400     600       20000  a wake-up costs more than the wait
 *   anything else: the background thread, crowded ranks  400      60       20000
 *
 * A yield that takes more than 100 us ends the yields of its wait; of all waits but those for polled messages, for a
 * while, if other programs took the core (Note [taken cores] in base/wait.c).
 * It does not spin where ranks outnumber cores (crowded) or where threads of a CPU device need this core.
 *
 * A thread that executes a call inline only spins, because its peers are about to answer: 2000 rounds in which nothing
 * moves, 500 in one step, 64 for one piece of a message, 16 before it looks for a free lane again (Note [lane gap] in
 * exec/run_admit.c), 1 where ranks are crowded, no more than 200 where other programs have the cores.  After that the
 * call becomes a run.
 *
 * Loops outside this policy call wait_yield for another thread of the process that is about to finish, and
 * wait_sleep_us for other processes.  A trial of a command is no such loop: wait_command.  Deadlines are compared with
 * wait_now_ns. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* wait_now_ns: CLOCK_MONOTONIC in ns.  wait_end_ns: that clock in timeout_ms from now, wait_end_after: from start_ns;
 * INT64_MAX (never) if timeout_ms is negative or too large. */
int64_t wait_now_ns(void);
int64_t wait_end_ns(int64_t timeout_ms);
int64_t wait_end_after(int64_t start_ns, int64_t timeout_ms);

/* wait_spin: the CPU's pause instruction.  wait_yield: sched_yield.  wait_sleep_us: sleeps. */
static inline void wait_spin(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}
void wait_yield(void);
void wait_sleep_us(int64_t us);

/* The reasons of a wait, which choose its row of the policy. */
struct wait_for {
	bool polled;   /* messages that must be polled: no doorbell rings when one arrives */
	bool timed;    /* a time that must be looked at */
	bool crowded;  /* more ranks than cores */
	bool blocking; /* the thread waits for one call and does nothing else: more yields pay */
	bool device;   /* commands of a device are under way, of whose ends nobody tells in time */
	bool rings;    /* others are, of whose ends a callback tells */
	bool shares;   /* threads of a CPU device need this core */
};

/* The state of one wait; all zero at its beginning. */
struct wait {
	unsigned rounds;   /* since the last progress */
	unsigned met;      /* sleeps since then before which another thread drove */
	int64_t slow_ns;   /* the time from which the wait counts as slow; 0 = not set yet */
	bool is_slow;      /* has lasted more than 2 ms */
	int64_t yields_ns; /* when it yielded first; 0 = not yet */
	int64_t ran_ns;    /* this process until then */
};

/* wait_look_at_clock: tells the wait the time.  wait_is_long: true after so many rounds that reading the clock costs
 * nothing in comparison. */
void wait_look_at_clock(struct wait *wait, int64_t now_ns);
bool wait_is_long(const struct wait *wait);

/* How long to sleep, in us, while a command is under way whose end rings no doorbell. */
enum { WAIT_SILENT_US = 50 };

/* The same where messages must be polled. */
enum { WAIT_POLLED_US = 200 };

/* wait_progress: something has moved.  wait_beside_driver_us: how long to sleep beside a thread that drives, and rings
 * nobody when it stops: longer each time, up to WAIT_BESIDE_DRIVER_US. */
enum { WAIT_BESIDE_DRIVER_US = 800 };
void wait_progress(struct wait *wait);
int64_t wait_beside_driver_us(struct wait *wait);

/* wait_round: one round: spins or yields and returns 0, or returns the microseconds that the caller is to sleep. */
int64_t wait_round(struct wait *wait, const struct wait_for *why);

/* wait_command: one round of a wait for a command of a device of whose end no doorbell tells, by a thread that waits
 * for nothing else: spins, yields or sleeps.  shares: threads of a CPU device need this core. */
void wait_command(struct wait *wait, bool shares);

/* wait_cores_taken: other programs have this process's cores; a thread that spins only keeps its peers from theirs. */
bool wait_cores_taken(void);

/* Inline execution.  wait_inline_rounds: how often to check.  wait_inline_goes_on: may the wait go on after so many
 * rounds without progress?  wait_inline: spins between two checks, or yields if shares. */
enum wait_inline { WAIT_STATES = 2000, WAIT_STEP = 500, WAIT_PIECE = 64, WAIT_GAP = 16 };
enum { WAIT_LOOK_ROUND = 200 };
static inline int wait_inline_rounds(enum wait_inline what, bool crowded)
{
	return crowded ? 1 : (int)what;
}
static inline bool wait_inline_goes_on(int round, int rounds)
{
	return round < rounds && (round != WAIT_LOOK_ROUND || !wait_cores_taken());
}
void wait_inline(bool shares);

#endif
