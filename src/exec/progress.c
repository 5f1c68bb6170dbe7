/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * Note [who drives].  A thread that waits drives its own rank, and when it finds nothing to do there, the other ranks
 * of the process.  The background thread drives all ranks, but only while nobody waits: two drivers would only steal
 * each other's cache lines.  It is started by the first call that returns an event, and sleeps on a condition variable
 * while there is nothing unfinished.
 *
 * Note [who takes over].  A thread that submits counts its call in `unfinished`, then looks whether anybody drives; a
 * thread that leaves takes itself out of `drivers`, then looks whether anything is unfinished.  Each puts a full fence
 * between the two, so that at least one sees the other (Dekker): on arm64 a store, even of a sequentially consistent
 * kind, may pass a later load that is not, both would find the other still there, and nobody would drive the call.  The
 * background thread needs no fence: it rests under `lock`, which a thread that finds no driver takes before it looks at
 * `resting`. */
#include "exec/progress.h"

#include "base/wait.h"
#include "exec/comm.h"
#include "exec/device_wait.h"
#include "exec/engine.h"
#include "exec/fork.h"
#include "exec/gone.h"

#include <stdlib.h>

enum {
	CHECK_NS = 20 * 1000 * 1000,
	CHECK_SHARE = 16,  /* the slow look takes no more than one part of so many of the time */
	OTHERS_EVERY = 16, /* idle rounds between looks at the other ranks */
	LOOK_EVERY = 64,   /* rounds between looks at the clock */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct choir_comm *comms;
	_Atomic int n_comms;
	_Atomic int drivers;     /* threads in progress_wait */
	_Atomic int resting;     /* background threads that wait on `work` */
	bool started;
	_Atomic unsigned life;   /* of the background thread: one that finds another number here ends */
	pthread_t thread;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };

static _Thread_local bool waiting; /* this thread is one of world.drivers */

static void forked(void)
{
	pthread_mutex_init(&world.lock, NULL); /* whoever held it is not here */
	pthread_cond_init(&world.work, NULL);
	world.comms = NULL;
	world.started = false;
	atomic_store(&world.n_comms, 0);
	atomic_store(&world.drivers, 0);
	atomic_store(&world.resting, 0);
}

/* A process that ends with comms says so to the other ranks: those of other nodes would not see it. */
static void __attribute__((destructor)) say_end(void)
{
	if (pthread_mutex_trylock(&world.lock) != 0)
		return;
	for (struct choir_comm *comm = world.comms; comm != NULL; comm = comm->listing.next)
		if (atomic_load(&comm->failure.status) == CHOIR_SUCCESS)
			gone_say(comm, true);
	pthread_mutex_unlock(&world.lock);
}

static void watch_forks(void)
{
	fork_in_child(forked);
}

/* The comm after `before` in the list (first: NULL), retained; NULL at the end.  `before` is released. */
static struct choir_comm *next_comm(struct choir_comm *before)
{
	struct choir_comm *comm;

	pthread_mutex_lock(&world.lock);
	comm = before == NULL ? world.comms : before->listing.listed ? before->listing.next : NULL;
	if (comm != NULL)
		comm_retain(comm);
	pthread_mutex_unlock(&world.lock);
	if (before != NULL)
		comm_release(before);
	return comm;
}

/* Can any call of the process go on? */
static bool calls_left(void)
{
	bool left = false;

	pthread_mutex_lock(&world.lock);
	for (struct choir_comm *comm = world.comms; comm != NULL && !left; comm = comm->listing.next)
		left = engine_can_move(comm);
	pthread_mutex_unlock(&world.lock);
	return left;
}

/* The thread drives nothing during the call, so if it is the last that does, the background thread takes over: Note
 * [who takes over]. */
static void make_call(const struct due_call *due)
{
	if (waiting && atomic_fetch_sub(&world.drivers, 1) == 1) {
		atomic_thread_fence(memory_order_seq_cst);
		if (calls_left())
			progress_kick();
	}
	engine_make_call(due);
	if (waiting)
		atomic_fetch_add(&world.drivers, 1);
}

static bool drive(struct choir_comm *comm, bool messages)
{
	struct due_call due;
	bool moved = engine_drive(comm, messages, &due);

	if (due.run == NULL)
		return moved;
	make_call(&due);
	return true;
}

static bool drive_others(const struct choir_comm *mine)
{
	bool moved = false;

	for (struct choir_comm *comm = next_comm(NULL); comm != NULL; comm = next_comm(comm))
		if (comm != mine)
			moved |= drive(comm, true);
	return moved;
}

static void check_all(void)
{
	for (struct choir_comm *comm = next_comm(NULL); comm != NULL; comm = next_comm(comm))
		if (!engine_idle(comm))
			engine_check(comm);
}

/* Is there anything to drive: runs, or messages that are still leaving, of any comm that shares the pump? */
static bool has_work(struct choir_comm *comm)
{
	return engine_can_move(comm) || (comm->pump != NULL && pump_busy(comm->pump));
}

/* What the comm's device is doing just now. */
static void add_device(struct wait_for *why, const struct choir_comm *comm)
{
	bool busy = atomic_load_explicit(&comm->engine.device_works, memory_order_relaxed);

	why->device |= busy;
	why->shares |= busy && dev_is_cpu(comm->device);
}

static bool work_left(struct wait_for *why)
{
	bool left = false;

	pthread_mutex_lock(&world.lock);
	for (struct choir_comm *comm = world.comms; comm != NULL; comm = comm->listing.next) {
		bool here = has_work(comm);

		left |= here;
		why->polled |= here && comm->pump != NULL && pump_polled(comm->pump);
		why->crowded |= comm->crowded;
		add_device(why, comm);
	}
	pthread_mutex_unlock(&world.lock);
	return left;
}

/* Sleeps on the doorbell unless something moved after arming. */
static void sleep_once(choir_event *event, int64_t sleep_us)
{
	struct bell *bell = bell_mine();
	uint32_t seen;

	if (bell == NULL) {
		wait_yield();
		return;
	}
	seen = bell_arm(bell);
	if ((event != NULL && event_is_complete(event)) || drive_others(NULL)) {
		bell_disarm(bell);
		return;
	}
	bell_sleep(bell, seen, sleep_us);
}

/* One round with nothing to do. */
static void idle_round(struct wait *idle, const struct choir_comm *mine, choir_event *event, const struct wait_for *why)
{
	int64_t sleep_us;

	if (idle->rounds % OTHERS_EVERY == OTHERS_EVERY - 1 &&
	    atomic_load_explicit(&world.n_comms, memory_order_relaxed) > 1 && drive_others(mine)) {
		idle->rounds = 0;
		return;
	}
	sleep_us = wait_round(idle, why);
	if (sleep_us > 0)
		sleep_once(event, sleep_us);
}

/* The slow look, when it is due. */
static void look_at_all(struct wait *idle, int64_t now)
{
	int64_t took = 0;

	wait_look_at_clock(idle, now);
	if (now < idle->next_check_ns)
		return;
	if (idle->next_check_ns != 0) {
		check_all();
		took = wait_now_ns() - now; /* it looks at all that is in flight */
	}
	idle->next_check_ns = now + (took > CHECK_NS / CHECK_SHARE ? took * CHECK_SHARE : CHECK_NS);
}

static void wake_background(void)
{
	pthread_mutex_lock(&world.lock);
	pthread_cond_broadcast(&world.work);
	pthread_mutex_unlock(&world.lock);
}

static void join_drivers(void)
{
	atomic_fetch_add(&world.drivers, 1);
	waiting = true;
}

/* A waiter goes: what it leaves unfinished is the background thread's. */
static void leave(void)
{
	struct wait_for ignored = { .polled = false };
	bool last = atomic_fetch_sub(&world.drivers, 1) == 1;

	waiting = false;
	atomic_thread_fence(memory_order_seq_cst);
	if (last && work_left(&ignored))
		progress_kick();
}

static void idle_in(struct wait *idle, const struct choir_comm *comm, choir_event *event, bool polled)
{
	struct wait_for why = { .polled = polled, .crowded = comm->crowded, .called = true };

	add_device(&why, comm);
	idle_round(idle, comm, event, &why);
}

/* Note [waiting while a comm is destroyed].  A waiting thread uses what the comm shares with others until the comm is
 * being destroyed.  From then on the destroying thread drives, and completes every event of a call that was submitted.
 */
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
	bool inside = comm_enter(comm), polled = inside && comm->pump != NULL && pump_polled(comm->pump), moved;

	join_drivers();
	for (unsigned round = 0; !event_is_complete(event); round++) {
		inside = still_inside(comm, inside);
		moved = inside ? drive(comm, round % OTHERS_EVERY == OTHERS_EVERY - 1) : drive_others(comm);
		if (event_is_complete(event))
			break;
		if (round % LOOK_EVERY == LOOK_EVERY - 1 || wait_is_long(&idle) || end != INT64_MAX) {
			int64_t now = wait_now_ns();

			if (now >= end)
				break;
			look_at_all(&idle, now);
		}
		if (moved)
			idle.rounds = 0;
		else
			idle_in(&idle, comm, event, polled || timeout_ms >= 0 || !inside);
	}
	if (inside)
		comm_leave(comm);
	leave();
	return event_is_complete(event);
}

/* Is a call under way, or a thread in one? */
static bool in_calls(struct choir_comm *comm)
{
	return !engine_idle(comm) || atomic_load(&comm->uses.inside) > 0;
}

static bool in_calls_or_sending(struct choir_comm *comm)
{
	return in_calls(comm) || pump_sends(comm->pump, comm->context, comm->rank);
}

/* False if the time passed first. */
static bool drive_while(bool (*busy)(struct choir_comm *), struct choir_comm *comm, int64_t timeout_ms)
{
	struct wait idle = { 0 };
	int64_t end = wait_end_ns(timeout_ms);
	bool left;

	join_drivers();
	while ((left = busy(comm))) {
		bool moved = drive(comm, true);
		int64_t now = wait_now_ns();

		if (now >= end)
			break;
		look_at_all(&idle, now);
		if (moved)
			idle.rounds = 0;
		else
			idle_in(&idle, comm, NULL, true);
	}
	leave();
	return !left;
}

bool progress_drain(struct choir_comm *comm, int64_t timeout_ms)
{
	return drive_while(in_calls_or_sending, comm, timeout_ms);
}

void progress_end_calls(struct choir_comm *comm)
{
	(void)drive_while(in_calls, comm, -1);
}

/* Waits on `work` while there is nothing to do here.  False: this life is over. */
static bool rest(unsigned life)
{
	bool stop;

	pthread_mutex_lock(&world.lock);
	atomic_fetch_add(&world.resting, 1);
	for (;;) {
		bool left = false;

		stop = atomic_load(&world.life) != life;
		for (struct choir_comm *comm = world.comms; comm != NULL; comm = comm->listing.next)
			left |= has_work(comm);
		if (stop || (left && atomic_load(&world.drivers) == 0))
			break;
		pthread_cond_wait(&world.work, &world.lock);
	}
	atomic_fetch_sub(&world.resting, 1);
	pthread_mutex_unlock(&world.lock);
	return !stop;
}

static void *background(void *number)
{
	unsigned life = (unsigned)(uintptr_t)number;

	while (rest(life)) {
		struct wait idle = { 0 };

		for (unsigned round = 0;; round++) {
			struct wait_for why = { .polled = false };
			bool moved = drive_others(NULL);

			if (round % LOOK_EVERY == LOOK_EVERY - 1 || wait_is_long(&idle))
				look_at_all(&idle, wait_now_ns());
			if (moved) {
				idle.rounds = 0;
				continue;
			}
			if (atomic_load(&world.drivers) > 0 || !work_left(&why) || atomic_load(&world.life) != life)
				break;
			idle_round(&idle, NULL, NULL, &why);
		}
	}
	return NULL;
}

choir_status progress_kick(void)
{
	choir_status st = CHOIR_SUCCESS;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&world.drivers) > 0) { /* a waiter drives; it may be asleep */
		bell_ring(bell_mine());
		return CHOIR_SUCCESS;
	}
	pthread_mutex_lock(&world.lock);
	if (!world.started) {
		if (pthread_create(&world.thread, NULL, background, (void *)(uintptr_t)atomic_load(&world.life)) == 0)
			world.started = true;
		else
			st = error_set(CHOIR_NO_MEMORY,
			               "no background thread: calls progress only while somebody waits");
	}
	pthread_mutex_unlock(&world.lock);
	if (atomic_load(&world.resting))
		wake_background();
	else
		bell_ring(bell_mine());
	return st;
}

choir_status progress_add(struct choir_comm *comm)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	if (bell_mine() == NULL)
		return error_set(CHOIR_NO_MEMORY, "no doorbell for this process");
	comm_retain(comm);
	pthread_mutex_lock(&world.lock);
	comm->listing.next = world.comms;
	world.comms = comm;
	comm->listing.listed = true;
	atomic_fetch_add(&world.n_comms, 1);
	pthread_mutex_unlock(&world.lock);
	return CHOIR_SUCCESS;
}

void progress_remove(struct choir_comm *comm)
{
	bool join = false;
	pthread_t thread;

	pthread_mutex_lock(&world.lock);
	for (struct choir_comm **at = &world.comms; *at != NULL; at = &(*at)->listing.next)
		if (*at == comm) {
			*at = comm->listing.next;
			comm->listing.listed = false;
			atomic_fetch_sub(&world.n_comms, 1);
			break;
		}
	thread = world.thread;
	if (world.comms == NULL && world.started && !pthread_equal(pthread_self(), thread)) {
		join = true;
		world.started = false;
		atomic_fetch_add(&world.life, 1); /* a new one may be started before this one has gone */
		pthread_cond_broadcast(&world.work);
	}
	pthread_mutex_unlock(&world.lock);
	bell_ring(bell_mine());
	if (join)
		pthread_join(thread, NULL);
	comm_release(comm);
}
