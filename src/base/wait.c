/* SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

enum { SLOW_NS = 2 * 1000 * 1000, LONG_ROUNDS = 60, TAKEN_NS = 100 * 1000 };

enum { DEVICE, POLLED, POLLED_SLOW, NODE, OTHERS };

static const struct {
	unsigned spins, yields;
	int64_t sleep_us;
} policy[] = {
	[DEVICE] = { 400, 2000, 50 },
	[POLLED] = { 400, 60, 200 },
	[POLLED_SLOW] = { 16, 4, 50 },
	[NODE] = { 400, 600, 20000 },
	[OTHERS] = { 400, 60, 20000 },
};

int64_t wait_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t wait_end_ns(int64_t timeout_ms)
{
	int64_t end;

	if (timeout_ms < 0 || __builtin_mul_overflow(timeout_ms, INT64_C(1000000), &end) ||
	    __builtin_add_overflow(end, wait_now_ns(), &end))
		return INT64_MAX;
	return end;
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

static int row_of(const struct wait_for *why, bool is_slow)
{
	if (why->polled && is_slow)
		return POLLED_SLOW;
	if (why->device)
		return DEVICE;
	if (why->polled)
		return POLLED;
	return why->blocking && !why->crowded ? NODE : OTHERS;
}

/* Note [taken cores].  Where other programs want the core a yield gives it away for their whole time slices, and a
 * waiting rank comes back milliseconds after its peers have answered.  A sleeping thread is woken when they answer, and
 * the scheduler prefers it.  So after a yield that took long the wait sleeps. */
static bool yield_was_long(void)
{
	int64_t start = wait_now_ns();

	wait_yield();
	return wait_now_ns() - start > TAKEN_NS;
}

int64_t wait_round(struct wait *wait, const struct wait_for *why)
{
	int row = row_of(why, wait->is_slow);
	unsigned spins = why->crowded || why->shares ? 0 : policy[row].spins, round = wait->rounds++;

	if (round >= spins + policy[row].yields)
		return policy[row].sleep_us;
	if (round < spins)
		wait_spin();
	else if (yield_was_long())
		wait->rounds = spins + policy[row].yields; /* Note [taken cores] */
	return 0;
}

void wait_inline(bool shares)
{
	if (shares)
		wait_yield();
	else
		wait_spin();
}
