/* SPDX-License-Identifier: MIT */
/* The engine of one rank: takes submitted runs and advances them.  Note [right to drive] in engine.c.
 *
 * An order to read this room in: run.h (a run and its states), steps.h (its plan's steps), flight.h (the runs in
 * flight), engine.c (one turn of the driver), progress.c (which thread drives), inline.c (the way round all this for
 * short calls).  Its floors are in docs/architecture.md. */
#ifndef EXEC_ENGINE_H
#define EXEC_ENGINE_H

#include "exec/run.h"

choir_status engine_init(struct choir_comm *comm);
void engine_fini(struct choir_comm *comm);

/* engine_advance: run_advance; a run that fails fails the comm, unless the failure is its alone.  The driver only. */
bool engine_advance(struct run *run);

/* engine_refuse: from now on no call is accepted, nor executed inline; a call that is being executed inline ends or
 * becomes a run before it returns. */
void engine_refuse(struct choir_comm *comm);

/* engine_enter: this thread drives until engine_leave; false: another one does.  Leaving is a plain store, which waits
 * for nothing that was published before, as giving a mutex back would. */
static inline bool engine_enter(struct engine *engine)
{
	return !atomic_load_explicit(&engine->driven, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&engine->driven, true, memory_order_acquire);
}

static inline void engine_leave(struct engine *engine)
{
	atomic_store_explicit(&engine->driven, false, memory_order_release);
}

/* A script's job that this thread is to do: a callback, or long work. */
struct due_job {
	struct run *run; /* NULL = none is due */
	void (*job)(void *state);
	bool is_callback;
	int64_t until_ns; /* the deadline of its call */
};

/* engine_drive: takes what was submitted, looks for messages, advances what can be advanced, completes what ended.
 * DRIVE_BY_ANOTHER: another thread is at it, so this one has not looked.  always: look for messages even if no run in
 * flight sends or receives.  A look costs more than a round of a call in shared memory, so waiting threads ask for one
 * in some rounds only.  *due_p: a job that the thread then does, by engine_do_job, without the right to drive. */
enum drive { DRIVE_NOTHING, DRIVE_BY_ANOTHER, DRIVE_MOVED };
enum drive engine_drive(struct choir_comm *comm, bool always, struct due_job *due_p);

/* engine_listen: looks for messages, unless another thread drives.  Between comm_enter and comm_leave. */
void engine_listen(struct choir_comm *comm);

/* engine_do_job: the caller's executor does a callback, if there is one; in_background: the worker does all others. */
void engine_do_job(const struct due_job *due, bool in_background);

/* engine_jobs_are_passed_on: does a thread that drives nothing do a job?  Then there is work to wait for, also where no
 * comm has any: the job's run goes on when it has ended.  engine_forget_jobs: in a forked child, which has none of
 * these threads. */
bool engine_jobs_are_passed_on(void);
void engine_forget_jobs(void);

/* engine_idle: nothing that was submitted is unfinished.  engine_has_work: a run wants a driver: it is unfinished, and
 * no thread does its job now. */
bool engine_idle(const struct choir_comm *comm);
bool engine_has_work(const struct choir_comm *comm);

/* engine_awaited: the process of the node whose next step alone can let the rank go on, or BELL_ANY: the only run in
 * flight waits for one thing. */
int64_t engine_awaited(struct choir_comm *comm);

/* engine_call_of: the call whose end the event tells, "allreduce #12 'gradients' (...)"; leaves text as it is if the
 * engine has not taken it yet, or another thread drives for long. */
void engine_call_of(const choir_event *event, char *text, size_t bytes);

/* engine_ring_at_ends: the end of each command of the device that is under way rings this process's doorbell; false if
 * one may not, or another thread drives. */
bool engine_ring_at_ends(struct choir_comm *comm);

#endif
