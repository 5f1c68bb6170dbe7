/* SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

enum { LOOK_ROUND = 64 }; /* spins of a wait before it asks whether the cores are taken */
enum { SLOW_NS = 2 * 1000 * 1000, LONG_ROUNDS = 60, TAKEN_NS = 100 * 1000, TAKEN_MOST_NS = 500 * 1000 * 1000 };

enum { DEVICE, RINGS, RINGS_CALL, POLLED, POLLED_CALL, POLLED_SLOW, NODE, OTHERS };

static const struct {
	unsigned spins, yields;
	int64_t sleep_us;
} policy[] = {
	[DEVICE] = { 400, 2000, WAIT_SILENT_US },
	[RINGS] = { 400, 60, 1000 },
	[RINGS_CALL] = { 400, 1000, 1000 },
	[POLLED] = { 400, 60, WAIT_POLLED_US },
	[POLLED_CALL] = { 400, 4000, WAIT_POLLED_US },
	[POLLED_SLOW] = { 16, 4, 50 },
	[NODE] = { 400, 600, 20000 },
	[OTHERS] = { 400, 60, 20000 },
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t wait_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t wait_end_after(int64_t start_ns, int64_t timeout_ms)
{
	int64_t end;

	if (timeout_ms < 0 || __builtin_mul_overflow(timeout_ms, INT64_C(1000000), &end) ||
	    __builtin_add_overflow(end, start_ns, &end))
		return INT64_MAX;
	return end;
}

int64_t wait_end_ns(int64_t timeout_ms)
{
	return wait_end_after(wait_now_ns(), timeout_ms);
}

void wait_yield(void)
{
	sched_yield();
}

void wait_sleep_us(int64_t us)
{
	nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

void wait_look_at_clock(struct wait *wait, int64_t now_ns)
{
	if (wait->slow_ns == 0)
		wait->slow_ns = now_ns + SLOW_NS;
	wait->is_slow = now_ns >= wait->slow_ns;
}

bool wait_is_long(const struct wait *wait)
{
	return wait->rounds > LONG_ROUNDS;
}

void wait_progress(struct wait *wait)
{
	wait->rounds = wait->met = 0;
}

int64_t wait_beside_driver_us(struct wait *wait)
{
	int64_t us = (int64_t)WAIT_SILENT_US << wait->met;

	if (us >= WAIT_BESIDE_DRIVER_US)
		return WAIT_BESIDE_DRIVER_US;
	wait->met++;
	return us;
}

static int row_of(const struct wait_for *why, bool is_slow)
{
	bool in_call = why->blocking && !why->crowded, looks = why->polled || why->timed;

	if (looks && is_slow && (why->device || !in_call))
		return POLLED_SLOW;
	if (why->device)
		return DEVICE;
	if (looks)
		return in_call ? POLLED_CALL : POLLED;
	if (why->rings)
		return in_call && !why->shares ? RINGS_CALL : RINGS;
	return in_call ? NODE : OTHERS;
}

/* Note [taken cores].  Where other programs want the core a yield gives it away for their whole time slices, and a
 * waiting rank comes back milliseconds after its peers have answered.  A sleeping thread is woken when they answer, and
 * the scheduler prefers it.  So after a yield that took long the wait sleeps.  If this process ran for less than a
 * quarter of that yield, other programs had the core: for 16 times as long no wait yields, and spins are short.
 *
 * No doorbell rings when a polled message arrives: a wait for one sleeps too after a long yield, but it tells the
 * others nothing and heeds nothing. */
static _Atomic int64_t taken_until_ns; /* 0: never taken */

bool wait_cores_taken(void)
{
	int64_t until = atomic_load_explicit(&taken_until_ns, memory_order_relaxed);

	return until != 0 && wait_now_ns() < until;
}

static void remember_taken(int64_t now_ns, int64_t took)
{
	int64_t for_ns = took < TAKEN_MOST_NS / 16 ? 16 * took : TAKEN_MOST_NS;

	atomic_store_explicit(&taken_until_ns, now_ns + for_ns, memory_order_relaxed);
}

/* Did other programs have the core during that yield?  Then the process ran for less than a quarter of the yield: its
 * CPU time since the wait's first yield, less the wall time from there to this yield, which this thread may have
 * had. */
static bool others_had_core(const struct wait *wait, int64_t start, int64_t end)
{
	int64_t ran = read_clock(CLOCK_PROCESS_CPUTIME_ID) - wait->ran_ns - (start - wait->yields_ns);

	return ran < (end - start) / 4;
}

/* True if the wait is to yield no more: this yield took long, or, where a doorbell rings, one of the last did. */
static bool yields_no_more(struct wait *wait, bool doorbell)
{
	int64_t start, now;

	if (doorbell && wait_cores_taken())
		return true;
	start = wait_now_ns();
	if (doorbell && wait->yields_ns == 0) { /* once a wait: reading it is a system call */
		wait->yields_ns = start;
		wait->ran_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	}
	wait_yield();
	now = wait_now_ns();
	if (now - start <= TAKEN_NS)
		return false;
	if (doorbell && others_had_core(wait, start, now))
		remember_taken(now, now - start);
	return true;
}

int64_t wait_round(struct wait *wait, const struct wait_for *why)
{
	int row = row_of(why, wait->is_slow);
	unsigned spins = why->crowded || why->shares ? 0 : policy[row].spins, round = wait->rounds++;

	if (round == 0)
		wait->yields_ns = 0;
	if (round >= spins + policy[row].yields)
		return policy[row].sleep_us;
	if (round == LOOK_ROUND && round < spins && !why->polled && wait_cores_taken())
		wait->rounds = spins + policy[row].yields; /* Note [taken cores] */
	else if (round < spins)
		wait_spin();
	else if (yields_no_more(wait, !why->polled))
		wait->rounds = spins + policy[row].yields; /* Note [taken cores] */
	return 0;
}

void wait_command(struct wait *wait, bool shares)
{
	int64_t us = wait_round(wait, &(struct wait_for){ .device = true, .shares = shares });

	if (us > 0)
		wait_sleep_us(us);
}

void wait_inline(bool shares)
{
	if (shares)
		wait_yield();
	else
		wait_spin();
}
