/* SPDX-License-Identifier: MIT */
/* The slow look: deadlines, late peers, dead peers, differing calls. */
#include "exec/engine.h"

#include "base/log.h"
#include "exec/progress.h"
#include "exec/roll_call.h"

#include <stdio.h>

enum { ASK_MS = 1000 }; /* a run that waits this long (a sixteenth of its deadline, if that is less) asks who is there, and again at twice the time */

/* How many calls the rank is known to have made, as far as anybody has told. */
static uint64_t calls_of(const struct choir_comm *comm, int rank)
{
	const struct layout *layout = &comm->layout;

	if (layout->node_of[rank] == layout->node_of[comm->rank])
		return atomic_load(&comm_control(comm, layout->place_of[rank])->last_seq);
	return roll_heard(comm, rank);
}

/* The lowest rank that is not in the call yet, -1 if all are: a rank that a peer waits for may itself be waiting for that one. */
static int absent(const struct run *run, int *n_absent)
{
	int first = -1;

	*n_absent = 0;
	for (int rank = 0; rank < run->comm->n && !run->bound.pair; rank++)
		if (rank != run->comm->rank && calls_of(run->comm, rank) <= run->seq) {
			first = first < 0 ? rank : first;
			++*n_absent;
		}
	return first;
}

static void say_late(struct run *run, double seconds, char *text, size_t bytes)
{
	struct choir_comm *comm = run->comm;
	char called[128], who[96] = "";
	int n_late, first = run_late(run, &n_late), n_absent, missing = absent(run, &n_absent);

	run_describe(&run->bound.record, run->key, called, sizeof called);
	if (missing >= 0 && first >= 0) {
		first = missing;
		n_late = n_absent;
		snprintf(who, sizeof who, " (it has made %llu calls)", (unsigned long long)calls_of(comm, first));
	}
	if (first < 0)
		snprintf(text, bytes, "%s: rank %d: %s is not done after %.1f s, and no rank is late: the device is", comm->name, comm->rank, called,
		         seconds);
	else
		snprintf(text, bytes, "%s: rank %d: %s waits for rank %d%s%s after %.1f s", comm->name, comm->rank, called, first, who,
		         n_late > 1 ? " and others" : "", seconds);
}

/* Note [dead peers].  A peer that exits after its last call is no failure as long as nobody waits for it.  What it had published or sent before it went is still
 * there to be read, so a death counts only at the next look after it was seen, when the engine has been driven in between and a run still waits for that rank. */
static bool check_dead(struct run *run)
{
	struct choir_comm *comm = run->comm;
	char text[ERROR_TEXT_BYTES], called[128];

	for (int p = 0; p < comm->n_peers; p++) {
		const struct comm_peer *peer = &comm->peers[p];

		for (int i = 0; i < peer->n_ranks && peer->dead_looks > 1; i++) {
			if (!run_waits_for(run, peer->ranks[i]))
				continue;
			run_describe(&run->bound.record, run->key, called, sizeof called);
			snprintf(text, sizeof text, "%s: rank %d: rank %d is dead, and %s waits for it", comm->name, comm->rank, peer->ranks[i], called);
			comm_fail(comm, CHOIR_PEER_DEAD, text);
			return true;
		}
	}
	return false;
}

static void look_at_peers(struct choir_comm *comm)
{
	for (int p = 0; p < comm->n_peers; p++)
		if (comm->peers[p].dead_looks < 2 && peer_watch_dead(comm->peers[p].watch))
			comm->peers[p].dead_looks++;
}

/* A run's clock starts at the first look, some ms late: short calls never ask for the time. */
static void stamp(struct run *run, int64_t now)
{
	if (run->submitted_ns == 0)
		run->submitted_ns = now;
	if (run->started_ns == 0 && run->state != RUN_DEPS)
		run->started_ns = now;
}

/* True if the comm failed on the way. */
static bool check_run(struct run *run, int64_t now)
{
	struct choir_comm *comm = run->comm;
	char text[ERROR_TEXT_BYTES];
	int64_t ms;

	stamp(run, now);
	ms = (now - (run->started_ns != 0 ? run->started_ns : run->submitted_ns)) / 1000000;
	if (run->started_ns != 0 && run_check_records(run) != CHOIR_SUCCESS) {
		comm_fail(comm, CHOIR_MISMATCH, error_text());
		return true;
	}
	if (run->started_ns != 0 && ms >= run->deadline_ms) {
		say_late(run, (double)ms / 1000, text, sizeof text);
		comm_fail(comm, CHOIR_TIMEOUT, text);
		return true;
	}
	if (run->started_ns != 0 && ms >= (run->ask_ms > 0 ? run->ask_ms : run->deadline_ms / 16 < ASK_MS ? run->deadline_ms / 16 : ASK_MS)) {
		run->ask_ms = 2 * ms + 1;
		roll_ask(run);
	}
	if (ms >= comm->warn_ms && !run->warned) {
		run->warned = true;
		if (run->started_ns != 0)
			say_late(run, (double)ms / 1000, text, sizeof text);
		else
			snprintf(text, sizeof text, "%s: rank %d: %s still waits for what it depends on after %.1f s", comm->name, comm->rank, run->name,
			         (double)ms / 1000);
		log_text(LOG_WARNING, "%s", text);
	}
	return check_dead(run);
}

void engine_check(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	int64_t now;

	if (!engine_enter(engine))
		return;
	now = progress_now_ns();
	if (engine->active != NULL)
		look_at_peers(comm);
	if (!engine->closed)
		engine_look_at_queued(comm);
	for (struct run *run = engine->active; run != NULL && !engine->closed; run = run->next)
		if (run->state != RUN_ENDED && run->state != RUN_CALLING && atomic_load(&comm->failed) == CHOIR_SUCCESS && check_run(run, now))
			break;
	engine_leave(engine);
}
