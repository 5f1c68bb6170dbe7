/* SPDX-License-Identifier: MIT */
/* Note [idle].  Nothing to do: spin a little (not when ranks outnumber cores), then give the core away, then sleep on the process's doorbell, which peers of the node,
 * drivers' callbacks and completions ring.  While messages can come that only polling sees, the sleep is short.  Fifty times a second, busy or not, the slow look finds
 * deadlines, dead peers and differing calls.
 *
 * To be woken takes 10 to 20 us, so a caller who waits for others of his node, and has a core of his own, gives that away for longer before he sleeps: a sparse call whose rows
 * all were one rank's took 1.8 times as long as with as many on both, and 1.4 times since the other one stays awake. */
#include "exec/idle.h"

#include "exec/comm.h"
#include "exec/device_wait.h"
#include "exec/relax.h"

#include <sched.h>

enum {
	SPIN_ROUNDS = 400,
	YIELD_ROUNDS = 60,
	NODE_YIELDS = 600, /* for ranks of the node only: some 0.2 ms */
	SLEEP_US = 20000,
	POLLED_SLEEP_US = 200,
	PATIENT_NS = 2 * 1000 * 1000, /* a wait for polled messages that has taken so long */
	PATIENT_ROUNDS = 16,          /* spins so often, */
	PATIENT_YIELDS = 4,           /* then gives the core away so often, */
	PATIENT_SLEEP_US = 50,        /* then sleeps for so long */
	DEVICE_ROUNDS = 2000, /* of giving the core away while the device works */
	DEVICE_SLEEP_US = 50,
};

void idle_add_device(struct idle_for *why, const struct choir_comm *comm)
{
	bool busy = atomic_load_explicit(&comm->engine.device_busy, memory_order_relaxed);

	why->device |= busy;
	why->shares |= busy && device_shares_core(comm);
}

/* Note [patience].  A wait for messages that has taken long is bound by the wire, so it hardly spins for the next of them: the processor that polling would take is
 * what the network's own work needs, of this process and of others. */
void idle_look_at_clock(struct idle *idle, int64_t now_ns)
{
	if (idle->patient_ns == 0)
		idle->patient_ns = now_ns + PATIENT_NS;
	idle->patient = now_ns >= idle->patient_ns;
}

static unsigned yields_of(const struct idle_for *why, bool patient)
{
	if (patient)
		return PATIENT_YIELDS;
	if (why->device)
		return DEVICE_ROUNDS;
	return why->called && !why->crowded && !why->polled ? NODE_YIELDS : YIELD_ROUNDS;
}

bool idle_is_long(const struct idle *idle)
{
	return idle->rounds > YIELD_ROUNDS;
}

int64_t idle_pass(struct idle *idle, const struct idle_for *why)
{
	bool patient = why->polled && idle->patient;
	unsigned spin = why->crowded || why->shares ? 0 : patient ? PATIENT_ROUNDS : SPIN_ROUNDS;
	unsigned yields = yields_of(why, patient), round = idle->rounds++;

	if (round < spin) {
		relax();
		return 0;
	}
	if (round < spin + yields) {
		sched_yield();
		return 0;
	}
	return why->device ? DEVICE_SLEEP_US : patient ? PATIENT_SLEEP_US : why->polled ? POLLED_SLEEP_US : SLEEP_US;
}
