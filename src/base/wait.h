/* SPDX-License-Identifier: MIT */
/* How threads wait: the one place that spins, gives the core away or sleeps.  (libchoir-mpi, a library of its own,
 * gives the core away between two tests of a request.)
 *
 * Note [wait policy].  A thread that waits looks for what it waits for in rounds.  Since something moved last it
 * spins for some rounds, then gives the core away for some, then sleeps between two rounds, on the process's doorbell
 * where one can ring (node/bell.h):
 *
 *   it waits for                                       spins  yields  sleeps, us  because
 *   commands of a device                                 400    2000          50  nothing rings when one ends
 *   messages that must be polled                         400      60         200  nothing rings when one arrives
 *   the same, for more than 2 ms                          16       4          50  the wire's own work needs the core
 *   ranks of its node; its caller has nothing else to do 400     600       20000  to be woken takes 10 to 20 us
 *   anything else: the background thread, crowded ranks  400      60       20000
 *
 *   no spins where ranks outnumber cores (crowded), and where the threads of a CPU device need this core
 *
 * A thread that executes a call inline, with peers about to answer, only spins, and then makes the call an ordinary
 * run:
 *
 *   a whole call in states 2000 rounds, one step 500, one piece of a message 64; 1 where the ranks are crowded
 *
 * For what another thread of the process finishes in a moment (wait_yield) and for what other processes do in their
 * own time (wait_sleep_us) the caller has a loop of its own.  Deadlines are compared with wait_now_ns. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* wait_now_ns: of CLOCK_MONOTONIC.  wait_end_ns: the end of a wait of timeout_ms from now; negative, or beyond the
 * end of time: never. */
int64_t wait_now_ns(void);
int64_t wait_end_ns(int64_t timeout_ms);

/* wait_spin: a moment on the core, kind to its other hardware thread.  wait_yield: another thread may have the core.
 * wait_sleep_us: sleeps. */
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

/* What a thread that finds nothing to do waits for. */
struct wait_for {
	bool polled;   /* messages that must be polled */
	bool crowded;  /* more ranks than cores */
	bool called;   /* a caller waits, and has nothing else to do with this thread */
	bool device;   /* commands of a device are under way */
	bool shares;   /* and threads that need this core carry them out */
};

/* One wait; all zero: it begins. */
struct wait {
	unsigned rounds;       /* since something moved */
	int64_t slow_ns;       /* when the wait is a slow one; 0 = not known yet */
	bool is_slow;
	int64_t next_check_ns; /* the caller's: when it next looks at all else */
};

/* wait_look_at_clock: tells the wait what time it is.  wait_is_long: so many rounds have passed that a look at the
 * clock costs nothing. */
void wait_look_at_clock(struct wait *wait, int64_t now_ns);
bool wait_is_long(const struct wait *wait);

/* wait_round: one round: spins or gives the core away, and returns 0; or returns the microseconds that the caller is
 * to sleep. */
int64_t wait_round(struct wait *wait, const struct wait_for *why);

/* Inline execution.  wait_inline_rounds: how often to look.  wait_inline: between two looks; shares as above. */
enum wait_inline { WAIT_STATES = 2000, WAIT_STEP = 500, WAIT_PIECE = 64 };
static inline int wait_inline_rounds(enum wait_inline what, bool crowded)
{
	return crowded ? 1 : (int)what;
}
void wait_inline(bool shares);

#endif
