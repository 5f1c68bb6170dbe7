/* SPDX-License-Identifier: MIT */
#include "exec/check.h"

#include "base/log.h"
#include "base/wait.h"
#include "exec/engine.h"
#include "exec/flight.h"
#include "exec/gone.h"
#include "exec/keyed.h"
#include "exec/late.h"
#include "exec/liveness.h"
#include "exec/messages.h"
#include "exec/record.h"
#include "exec/relatives.h"

#include <stdio.h>

enum { CHECK_MOST = 1024 }; /* runs that a check looks at, after those that can move */
enum { SIGN_RUNS = 64 };    /* runs whose late ranks get signs */

struct wait_of_rank {
	int origin; /* of the rank that is waited for */
	int64_t now;
};

/* In another comm of this rank: the number of that rank is another there, and it may be no rank of it. */
static void publish_in_relative(struct choir_comm *relative, void *ctx)
{
	const struct wait_of_rank *wait = ctx;
	int rank = relative->n - 1;

	while (rank >= 0 && relative->origin_of[rank] != wait->origin)
		rank--;
	liveness_publish_for(relative, rank, wait->now);
}

/* Tells the other ranks for whom the oldest call that waits for somebody waits, else the oldest that is held back; if
 * that is for long, the ranks of its relatives too. */
static void publish_wait(struct choir_comm *comm, int64_t now)
{
	int64_t waited_ms = 0;
	bool at_work = false;
	int target = -1;

	for (struct run *run = comm->engine.flight.eligible; run != NULL && target < 0; run = run->next_eligible)
		if (run_is_active(run)) {
			at_work |= run->state != RUN_DEPS;
			target = late_most_silent(run, now);
			waited_ms = run->watch.started_ns != 0 ? late_waited_ms(run, now) : 0;
		}
	if (target < 0 && comm->keyed != NULL) {
		target = keyed_awaited(comm->keyed);
		waited_ms = LIVENESS_SIGN_MS; /* else it would not be known */
	}
	liveness_publish(comm, target, at_work, now);
	if (target >= 0 && waited_ms >= LIVENESS_SIGN_MS)
		relatives_visit(comm, publish_in_relative, &(struct wait_of_rank){ comm->origin_of[target], now });
}

/* Does one of its first calls wait for that rank, and for long?  On a keyed comm a late call counts for every rank,
 * since this rank may not know which ranks have not made it. */
static bool is_awaited(struct choir_comm *comm, int rank, int64_t now)
{
	int n = 0;

	if (comm->keyed != NULL && keyed_is_late(comm->keyed))
		return true;
	for (struct run *run = comm->engine.flight.eligible; run != NULL && n < SIGN_RUNS;
	     run = run->next_eligible, n++)
		if (run_is_active(run) && run->watch.started_ns != 0 && late_waited_ms(run, now) >= LIVENESS_SIGN_MS &&
		    run_waits_for(run, rank))
			return true;
	return false;
}

static bool is_waited_for(void *run, int rank)
{
	return run_waits_for(run, rank);
}

/* Note [dead peers].  A peer that exits after its last call is no failure as long as no run waits for it.  The peer's
 * flags and messages from before its death can still be read, so a death counts only at the next look after it was
 * seen, when the engine has been driven in between and a run still waits for that rank.  Of a rank of another machine
 * the transport says only that it is lost. */
static int find_dead(struct run *run, const char **what)
{
	struct choir_comm *comm = run->comm;
	int dead = gone_find_dead(comm, is_waited_for, run);

	*what = dead >= 0 ? "dead" : "dead or cut off";
	if (dead >= 0)
		return dead;
	if (comm->messenger == NULL || !messenger_any_lost(comm->messenger))
		return -1;
	for (int rank = 0; rank < comm->n; rank++)
		if (liveness_lost(comm, rank) && run_waits_for(run, rank))
			return rank;
	return -1;
}

static bool check_dead(struct run *run)
{
	const char *what;
	int rank = find_dead(run, &what);

	if (rank < 0)
		return false;
	comm_fail(run->comm, gone_dead_error(run, rank, what), error_text());
	return true;
}

static bool waits_in_vain(struct run *run, const struct gone *gone)
{
	return gone_lacks(gone, run) && (run->bound.pair ? run->state == RUN_STEPS : run_waits_for(run, gone->rank));
}

static bool check_gone(struct run *run)
{
	const struct gone *gone = atomic_load_explicit(&run->comm->gone, memory_order_acquire);
	choir_status st;

	while (gone != NULL && !waits_in_vain(run, gone))
		gone = gone->next;
	if (gone == NULL)
		return false;
	st = gone_error(gone, run);
	comm_fail(run->comm, st, error_text());
	return true;
}

static void watch_peers(struct choir_comm *comm)
{
	for (int p = 0; p < comm->n_watched; p++)
		if (comm->processes[p].dead_looks < 2 && bell_is_orphan(comm->processes[p].bell))
			comm->engine.any_dead |= ++comm->processes[p].dead_looks > 1;
	liveness_watch(comm);
}

/* A run's clock starts at the first look, some ms late: short calls never ask for the time. */
static void stamp(struct run *run, int64_t now)
{
	if (run->watch.first_check_ns == 0)
		run->watch.first_check_ns = now;
	if (run->watch.started_ns == 0 && run->state != RUN_DEPS)
		run->watch.started_ns = now;
}

/* True if the comm failed on the way. */
static bool check_run(struct run *run, int64_t now)
{
	struct choir_comm *comm = run->comm;
	char text[ERROR_TEXT_BYTES], called[RUN_TEXT_BYTES];
	int64_t ms;

	stamp(run, now);
	ms = late_waited_ms(run, now);
	if (run->watch.started_ns != 0 && run_check_records(run) != CHOIR_SUCCESS) {
		comm_fail(comm, CHOIR_MISMATCH, error_text());
		return true;
	}
	if (run->watch.started_ns != 0 && ms >= run->watch.deadline_ms) {
		late_say(run, now, (double)ms / 1000, text, sizeof text);
		comm_fail(comm, CHOIR_TIMEOUT, text);
		return true;
	}
	if (run->watch.started_ns != 0 && liveness_ask_is_due(&run->watch.ask_ms, ms, run->watch.deadline_ms))
		liveness_ask(run, now);
	if (ms >= comm->warn_ms && !run->watch.warned) {
		run->watch.warned = true;
		if (run->watch.started_ns != 0)
			late_say(run, now, (double)ms / 1000, text, sizeof text);
		else
			snprintf(text, sizeof text, "%s: rank %d: %s still waits for what it depends on after %.1f s",
			         comm->name, comm->rank, run_call_text(run, called, sizeof called), (double)ms / 1000);
		log_text(LOG_WARNING, "%s", text);
	}
	return check_gone(run) || check_dead(run);
}

static bool may_check(const struct run *run)
{
	return run->state != RUN_ENDED && !comm_has_failed(run->comm);
}

/* Checks the eligible runs, and then some of all, in turn: the deadline of a call begins when its deps are complete,
 * whether it can move or not. */
static void check_runs(struct choir_comm *comm, int64_t now)
{
	struct flight *flight = &comm->engine.flight;
	struct run *run = NULL;

	for (struct run *first = flight->eligible; first != NULL; first = first->next_eligible)
		if (may_check(first) && check_run(first, now))
			return;
	for (int i = 0; i < CHECK_MOST && (run = flight_next_to_check(flight, run)) != NULL; i++) {
		if (run->state == RUN_DEPS && !run->bound.pair)
			engine_advance(run);
		if (may_check(run) && check_run(run, now))
			return;
	}
}

/* Sends and recvs that have others of their kind before them, and calls of this rank alone. */
static void advance_queued(struct choir_comm *comm)
{
	struct flight *flight = &comm->engine.flight;

	for (size_t i = QUEUE_COLLECTIVES + 1; i < flight->n_queues && !comm_has_failed(comm); i++)
		flight_advance_queued(flight, i, engine_advance);
}

void check_in_flight(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	int64_t now;
	bool held;

	if (!engine_enter(engine))
		return;
	if (engine->closed) {
		engine_leave(engine);
		return;
	}
	now = wait_now_ns();
	held = comm->keyed != NULL && keyed_holds(comm->keyed);
	(void)messages_drive(comm, true); /* a farewell that a peer sent before it died counts first */
	watch_peers(comm);
	if (engine->flight.all != NULL || held)
		publish_wait(comm, now);
	if (held)
		keyed_check(comm, now);
	advance_queued(comm);
	check_runs(comm, now);
	if (comm->layout.n_nodes > 1)
		liveness_sign(comm, now, is_awaited);
	engine_leave(engine);
}
