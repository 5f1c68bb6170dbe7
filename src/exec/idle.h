/* SPDX-License-Identifier: MIT */
/* How a thread passes the time that finds nothing to do: Note [idle]. */
#ifndef EXEC_IDLE_H
#define EXEC_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct choir_comm;

/* What a thread that finds nothing to do should know of the comms it is there for. */
struct idle_for {
	bool polled;   /* messages can come that only polling sees */
	bool crowded;  /* more ranks than cores */
	bool called;   /* a caller waits, who has nothing else to do with this thread */
	bool device;   /* commands of the device are under way: nothing rings when they end */
	bool shares;   /* and threads of this process carry them out */
};

/* One wait; all zero: it begins. */
struct idle {
	unsigned rounds; /* with nothing to do, since something moved */
	int64_t next_check_ns;
	int64_t patient_ns; /* when the wait becomes patient; 0 = not known yet.  Note [patience] */
	bool patient;
};

/* idle_add_device: what the comm's device is doing just now. */
void idle_add_device(struct idle_for *why, const struct choir_comm *comm);

/* idle_look_at_clock: tells the wait what time it is. */
void idle_look_at_clock(struct idle *idle, int64_t now_ns);

/* idle_is_long: so many rounds that a look at the clock costs nothing. */
bool idle_is_long(const struct idle *idle);

/* idle_pass: one round: spins, or gives the core away, and returns 0; or else the microseconds for which the caller is to sleep. */
int64_t idle_pass(struct idle *idle, const struct idle_for *why);

#endif
