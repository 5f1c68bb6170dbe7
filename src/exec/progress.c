/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * Note [who drives].  A thread that waits drives its own rank, and when it finds nothing to do there, the other busy
 * ranks of the process (Note [busy comms] in comm_list.h).  The background thread drives all busy ranks, but only while
 * nobody waits: two drivers would only steal each other's cache lines.  It is started by the first work for which
 * nobody waits, and sleeps on a condition variable while there is nothing unfinished.
 *
 * Note [who takes over].  A thread that submits counts its call in `unfinished`, then looks whether anybody drives; a
 * thread that leaves takes itself out of `waiters`, then looks whether anything is unfinished.  Each puts a full fence
 * between the two.  One of the two fences is the first in the order of all of them, and the thread of the other one
 * sees what was stored before the first (C11 7.17.3, the rule for two fences; Dekker's algorithm): so at least one of
 * the threads sees the other.  A test on x86 cannot show that a fence is missing, since both counts are changed by
 * locked instructions, each a full fence there.  On arm64 a store, even of a sequentially consistent kind, may pass a
 * later load that is not: both would find the other still there, and nobody would drive the call.  The background
 * thread needs no fence: it rests under comm_list_lock, which a thread that finds no driver takes before it looks
 * whether that thread rests. */
#include "exec/progress.h"

#include "base/arithmetic.h"
#include "base/fork.h"
#include "base/wait.h"
#include "exec/background.h"
#include "exec/check.h"
#include "exec/comm_list.h"
#include "exec/engine.h"
#include "exec/pending.h"
#include "exec/watched.h"
#include "exec/worker.h"

enum {
	CHECK_MS = 20,
	CHECK_NS = CHECK_MS * 1000 * 1000,
	CHECK_SHARE = 16,    /* the slow check takes no more than one part of so many of the time */
	CHECK_MOST_MS = 500, /* but what held one up must not put the next one off for long: it looks at deadlines */
	MESSAGES_EVERY = 16, /* rounds between looks at this comm's messages, wanted or not */
	OTHERS_EVERY = 16,   /* idle rounds between looks at other comms */
	CLOCK_EVERY = 64,    /* rounds between looks at the clock */
};

static _Atomic int waiters;        /* threads that wait, and drive meanwhile */
static _Thread_local bool waiting; /* this thread is one of them */
static _Atomic int64_t next_check_ns;

/* This thread drives no more; if it is the last, the background thread has the rest: Note [who takes over]. */
static void leave_waiters(void)
{
	struct wait_for ignored = { .polled = false };
	bool last = atomic_fetch_sub(&waiters, 1) == 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (last && pending_why(&ignored))
		(void)progress_kick();
}

static void drive_in_background(unsigned life);

/* The thread waits, and drives nothing until step_in. */
static void step_out(void)
{
	waiting = false;
	leave_waiters();
	watched_begin(drive_in_background);
}

static void step_in(void)
{
	watched_end();
	atomic_fetch_add(&waiters, 1);
	waiting = true;
}

static void do_job_outside(const struct due_job *due)
{
	if (!waiting) {
		engine_do_job(due, true);
		return;
	}
	step_out();
	engine_do_job(due, false);
	step_in();
}

static _Thread_local bool out_for_build;

static void build_wait_begins(void)
{
	out_for_build = waiting;
	if (waiting)
		step_out();
}

static void build_wait_ends(void)
{
	if (out_for_build)
		step_in();
}

static enum drive drive(struct choir_comm *comm, bool always)
{
	struct due_job due;
	enum drive found = engine_drive(comm, always, &due);

	if (due.run == NULL)
		return found;
	do_job_outside(&due);
	return DRIVE_MOVED;
}

/* Another rank's driver is most likely its own thread, which waits for it too. */
static bool leaves_work(const struct choir_comm *comm, enum drive found)
{
	return found == DRIVE_BY_ANOTHER && atomic_load_explicit(&comm->submission.has_incoming, memory_order_relaxed);
}

/* The busy ones; the most of what was found.  NULL: all of them. */
static enum drive drive_all_but(const struct choir_comm *mine)
{
	struct choir_comm *comm = NULL;
	enum drive most = DRIVE_NOTHING, found;

	while ((comm = comm_list_next(comm, COMM_LIST_BUSY)) != NULL) {
		found = comm != mine ? drive(comm, true) : DRIVE_NOTHING;
		if (found == DRIVE_MOVED)
			comm_list_note_work(comm);
		else if (mine != NULL && !leaves_work(comm, found))
			found = DRIVE_NOTHING;
		if (found > most)
			most = found;
	}
	return most;
}

/* Sleeps on the doorbell unless something moved after arming, or the awaited process has made its step meanwhile.  A
 * thread that drives a rank meanwhile rings nobody when it leaves, so beside one the sleep is short.  A comm that is
 * being destroyed may be looked at too: its shell is there as long as the event. */
static void sleep_once(struct wait *idle, struct choir_comm *mine, choir_event *event, int64_t sleep_us)
{
	enum drive own, others;
	struct bell *bell = bell_mine();
	int64_t awaited = pending_process();
	uint32_t seen;

	if (bell == NULL) {
		wait_yield();
		return;
	}
	seen = bell_arm(bell, awaited);
	if (sleep_us > WAIT_SILENT_US && !pending_ring_at_ends())
		sleep_us = WAIT_SILENT_US;
	if (sleep_us > WAIT_POLLED_US && pending_polled())
		sleep_us = WAIT_POLLED_US;
	own = mine != NULL ? drive(mine, true) : DRIVE_NOTHING;
	others = drive_all_but(mine);
	if ((event != NULL && event_is_complete(event)) || own == DRIVE_MOVED || others == DRIVE_MOVED ||
	    (awaited != BELL_ANY && pending_process() != awaited)) {
		bell_disarm(bell);
		return;
	}
	if (own == DRIVE_BY_ANOTHER || others == DRIVE_BY_ANOTHER)
		sleep_us = min_i64(sleep_us, wait_beside_driver_us(idle));
	bell_sleep(bell, seen, sleep_us);
}

/* One round with nothing to do. */
static void idle_round(struct wait *idle, struct choir_comm *mine, choir_event *event, const struct wait_for *why)
{
	int64_t sleep_us;

	if (idle->rounds % OTHERS_EVERY == OTHERS_EVERY - 1 && comm_list_has_others(mine) &&
	    drive_all_but(mine) == DRIVE_MOVED) {
		wait_progress(idle);
		return;
	}
	sleep_us = wait_round(idle, why);
	if (sleep_us > 0)
		sleep_once(idle, mine, event, sleep_us);
}

/* A comm that is not busy may have messages: questions, or what a peer cannot go on before it has sent. */
static void check_all(void)
{
	struct choir_comm *comm = NULL;

	while ((comm = comm_list_next(comm, COMM_LIST_ALL)) != NULL)
		if (!engine_idle(comm) || comm_list_is_busy(comm)) {
			check_in_flight(comm);
		} else if (comm_enter(comm)) { /* else another thread is destroying it */
			if (drive(comm, true) == DRIVE_MOVED || messenger_busy(comm->messenger))
				comm_list_note_work(comm);
			comm_leave(comm);
		}
}

/* The slow check, when it is due: one thread's turn. */
static void check_if_due(int64_t now)
{
	int64_t due = atomic_load_explicit(&next_check_ns, memory_order_relaxed), began = now, took;

	if (now < due || !atomic_compare_exchange_strong(&next_check_ns, &due, now + CHECK_NS))
		return;
	check_all();
	now = wait_now_ns();
	took = now - began; /* a check looks at all runs in flight */
	if (took > CHECK_NS / CHECK_SHARE)
		atomic_store(&next_check_ns, now + min_i64(took * (CHECK_SHARE - 1), CHECK_MOST_MS * INT64_C(1000000)));
}

static void look_at_clock(struct wait *idle, int64_t now)
{
	wait_look_at_clock(idle, now);
	check_if_due(now);
}

static void join_waiters(void)
{
	atomic_fetch_add(&waiters, 1);
	waiting = true;
}

static void stop_waiting(void)
{
	waiting = false;
	leave_waiters();
}

/* polled: messages must be.  timed: nothing rings when the time is over, so it sleeps no longer than for
 * messages. */
static void idle_in(struct wait *idle, struct choir_comm *comm, choir_event *event, bool polled, bool timed)
{
	struct wait_for why = {
		.polled = polled, .timed = timed, .crowded = comm->crowded, .blocking = polled || !timed
	};

	pending_note_device(&why, comm);
	idle_round(idle, comm, event, &why);
}

/* Note [waiting while a comm is destroyed].  A waiting thread uses what the comm shares with others until the comm is
 * being destroyed.  From then on the destroying thread drives, and completes the events of all submitted calls. */
static bool still_inside(struct choir_comm *comm, bool inside)
{
	if (!inside || !atomic_load_explicit(&comm->submission.closing, memory_order_relaxed))
		return inside;
	comm_leave(comm);
	return false;
}

bool progress_wait(choir_event *event, int64_t timeout_ms)
{
	struct choir_comm *comm = event->comm;
	struct wait idle = { 0 };
	int64_t end = wait_end_ns(timeout_ms);
	bool inside = comm_enter(comm);
	bool polled = inside && comm->messenger != NULL && messenger_polled(comm->messenger);

	join_waiters();
	for (unsigned round = 0; !event_is_complete(event); round++) {
		enum drive found;

		inside = still_inside(comm, inside);
		found = inside ? drive(comm, round % MESSAGES_EVERY == MESSAGES_EVERY - 1) : drive_all_but(comm);
		if (event_is_complete(event))
			break;
		if (round % CLOCK_EVERY == CLOCK_EVERY - 1 || wait_is_long(&idle) || end != INT64_MAX) {
			int64_t now = wait_now_ns();

			if (now >= end)
				break;
			look_at_clock(&idle, now);
		}
		if (found == DRIVE_MOVED)
			wait_progress(&idle);
		else
			idle_in(&idle, comm, event, polled && inside, timeout_ms >= 0 || !inside);
	}
	check_if_due(wait_now_ns()); /* each wait may be short */
	if (inside)
		comm_leave(comm);
	stop_waiting();
	return event_is_complete(event);
}

bool progress_while(bool (*busy)(struct choir_comm *), struct choir_comm *comm, int64_t timeout_ms)
{
	struct wait idle = { 0 };
	int64_t end = wait_end_ns(timeout_ms);
	bool left;

	join_waiters();
	while ((left = busy(comm))) {
		enum drive found = drive(comm, true);
		int64_t now = wait_now_ns();

		if (now >= end)
			break;
		look_at_clock(&idle, now);
		if (found == DRIVE_MOVED)
			wait_progress(&idle);
		else
			idle_in(&idle, comm, NULL, false, true);
	}
	stop_waiting();
	return !left;
}

/* --- what nobody waits for --- */

/* Under comm_list_lock. */
static int64_t rest_ms(void)
{
	if (pending_any() && atomic_load(&waiters) == 0)
		return 0;
	return watched_is_needed() ? CHECK_MS : -1;
}

static void drive_in_background(unsigned life)
{
	while (background_rest(life, rest_ms)) {
		struct wait idle = { 0 };

		check_if_due(wait_now_ns());
		for (unsigned round = 0;; round++) {
			struct wait_for why = { .polled = false };
			enum drive found = drive_all_but(NULL);

			if (round % CLOCK_EVERY == CLOCK_EVERY - 1 || wait_is_long(&idle))
				look_at_clock(&idle, wait_now_ns());
			if (found == DRIVE_MOVED) {
				wait_progress(&idle);
				continue;
			}
			if (atomic_load(&waiters) > 0 || !pending_why(&why) || background_is_over(life))
				break;
			idle_round(&idle, NULL, NULL, &why);
		}
		bell_ring_mine(); /* a waiter's last look before it slept may have met this thread */
	}
}

choir_status progress_kick(void)
{
	choir_status st = CHOIR_SUCCESS;
	bool rested = false;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&waiters) == 0)
		st = background_wake(drive_in_background, &rested);
	if (!rested) /* a waiter drives, or the background thread does: it may be asleep */
		bell_ring_mine();
	return st;
}

static void forked(void)
{
	atomic_store(&waiters, 0);
	watched_forget();
	engine_forget_jobs();
}

choir_status progress_add(struct choir_comm *comm)
{
	fork_in_child(forked);
	dev_build_waits(build_wait_begins, build_wait_ends);
	if (bell_mine() == NULL)
		return error_set(CHOIR_NO_MEMORY, "no doorbell for this process");
	comm_retain(comm);
	comm_list_lock();
	comm_list_add(comm);
	comm_list_unlock();
	return CHOIR_SUCCESS;
}

void progress_remove(struct choir_comm *comm)
{
	pthread_t thread;
	bool last, join;

	comm_list_lock();
	comm_list_remove(comm);
	last = comm_list_first() == NULL;
	if (last) /* the background thread ends */
		watched_stop();
	join = last && background_end(&thread);
	comm_list_unlock();
	bell_ring_mine();
	if (join)
		pthread_join(thread, NULL);
	if (last)
		worker_end();
	comm_release(comm);
}
