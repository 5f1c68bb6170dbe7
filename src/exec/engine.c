/* SPDX-License-Identifier: MIT */
/* Note [engine lock].  `drive` is only ever tried, never waited for: whoever gets it advances all runs of the rank, the others go on waiting for their events.
 * `submit` guards the incoming list and the numbers; it is held for a few instructions.  Completions and callers' callbacks happen after `drive` was let go,
 * so they may call choir again. */
#include "exec/engine.h"

#include "base/log.h"
#include "exec/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

choir_status engine_init(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;

	engine->sent = calloc((size_t)comm->n, sizeof *engine->sent);
	engine->received = calloc((size_t)comm->n, sizeof *engine->received);
	if (engine->sent == NULL || engine->received == NULL)
		return error_no_memory("call numbers", 2 * (size_t)comm->n * sizeof *engine->sent);
	if (pthread_mutex_init(&engine->drive, NULL) != 0 || pthread_mutex_init(&engine->submit, NULL) != 0)
		return error_set(CHOIR_NO_MEMORY, "no mutex for an engine");
	return CHOIR_SUCCESS;
}

void engine_fini(struct choir_comm *comm)
{
	free(comm->engine.sent);
	free(comm->engine.received);
}

static void number(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	if (run->pair) {
		uint64_t *count = run->pair_sends ? engine->sent : engine->received;

		run->key = WIRE_PAIR | count[run->pair_peer]++;
		return;
	}
	run->seq = engine->next_seq++;
	run->key = run->seq;
	run->lane = (int)(run->seq % COMM_LANES);
	atomic_store_explicit(&arena_control(run->comm->arena, run->comm->place)->last_seq, run->seq + 1, memory_order_relaxed);
}

choir_status engine_submit(struct run *run)
{
	struct engine *engine = &run->comm->engine;

	run->submitted_ns = progress_now_ns();
	pthread_mutex_lock(&engine->submit);
	if (engine->closed || atomic_load(&run->comm->failed) != CHOIR_SUCCESS) {
		choir_status st;

		pthread_mutex_unlock(&engine->submit);
		st = comm_failure(run->comm);
		if (st == CHOIR_SUCCESS)
			st = error_set(CHOIR_ABORTED, "%s: the comm has been destroyed", run->comm->name);
		event_complete(run->event, st, error_text());
		run_discard(run);
		return st;
	}
	number(run);
	run->next = engine->incoming;
	engine->incoming = run;
	atomic_fetch_add_explicit(&engine->unfinished, 1, memory_order_relaxed);
	atomic_store_explicit(&engine->has_incoming, true, memory_order_release);
	pthread_mutex_unlock(&engine->submit);
	return CHOIR_SUCCESS;
}

/* Moves what was submitted behind what is active, oldest first. */
static void take_incoming(struct engine *engine)
{
	struct run *list, *oldest = NULL, **tail = &engine->active;

	if (!atomic_load_explicit(&engine->has_incoming, memory_order_acquire))
		return;
	pthread_mutex_lock(&engine->submit);
	list = engine->incoming;
	engine->incoming = NULL;
	atomic_store_explicit(&engine->has_incoming, false, memory_order_relaxed);
	pthread_mutex_unlock(&engine->submit);
	while (list != NULL) {
		struct run *next = list->next;

		list->next = oldest;
		oldest = list;
		list = next;
	}
	while (*tail != NULL)
		tail = &(*tail)->next;
	*tail = oldest;
}

static void check_poison(struct choir_comm *comm)
{
	char text[ERROR_TEXT_BYTES];
	choir_status st = arena_poisoned(comm->arena, text, sizeof text);

	if (st != CHOIR_SUCCESS && atomic_load(&comm->failed) == CHOIR_SUCCESS)
		comm_fail_from_peer(comm, st, text);
}

static bool drive_pump(struct choir_comm *comm)
{
	bool moved = false;

	if (comm->pump == NULL)
		return false;
	if (pump_drive(comm->pump, &moved) != CHOIR_SUCCESS && atomic_load(&comm->failed) == CHOIR_SUCCESS)
		comm_fail(comm, CHOIR_TRANSPORT, error_text());
	if (atomic_load_explicit(&comm->inbox.overflow, memory_order_relaxed) && atomic_load(&comm->failed) == CHOIR_SUCCESS)
		comm_fail(comm, CHOIR_TRANSPORT, "messages of more than 1 GiB came for calls that this rank has not made yet");
	return moved; /* a failed comm too: the news of it must get out */
}

/* A run whose callback is under way ends when that has returned. */
static bool is_calling(const struct run *run)
{
	return run->state == RUN_CALLING && run->call == NULL && !atomic_load_explicit(&run->called, memory_order_acquire);
}

static void fail_all(struct choir_comm *comm)
{
	choir_status st = (choir_status)atomic_load(&comm->failed);

	for (struct run *run = comm->engine.active; run != NULL; run = run->next)
		if (run->state != RUN_ENDED && !is_calling(run))
			run_fail(run, st, comm->fail_text);
}

/* Advances every run once; failed ones fail the comm, unless the failure is theirs alone. */
static bool advance_all(struct choir_comm *comm)
{
	bool moved = false;

	for (struct run *run = comm->engine.active; run != NULL; run = run->next) {
		if (run->state == RUN_ENDED)
			continue;
		moved |= run_advance(run);
		if (run->status != CHOIR_SUCCESS && !run->only_mine)
			comm_fail(comm, run->status, run->text);
	}
	return moved;
}

/* Takes out what ended, and the first run whose callback is due. */
static struct run *take_ended(struct engine *engine, struct run **calling_p)
{
	struct run *ended = NULL, **tail = &ended;

	for (struct run **at = &engine->active; *at != NULL;) {
		struct run *run = *at;

		if (run->state == RUN_CALLING && run->call != NULL && *calling_p == NULL)
			*calling_p = run;
		if (run->state != RUN_ENDED) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		run->next = NULL;
		*tail = run;
		tail = &run->next;
	}
	return ended;
}

static void make_call(struct run *run, choir_status (*call)(void *))
{
	callback_enter();
	run->call_status = call(run->script_state);
	callback_leave();
	if (run->call_status != CHOIR_SUCCESS)
		run->call_text = strdup(error_text());
	atomic_store_explicit(&run->called, true, memory_order_release);
}

static void complete(struct run *run)
{
	struct choir_comm *comm = run->comm;

	comm_retain(comm);
	if (run->ended != NULL)
		run->ended(run);
	event_complete(run->event, run->status, run->text);
	run_discard(run);
	atomic_fetch_sub_explicit(&comm->engine.unfinished, 1, memory_order_acq_rel);
	bell_ring(bell_mine()); /* whoever waits for the event, or has a call that depends on it */
	comm_release(comm);
}

bool engine_drive(struct choir_comm *comm)
{
	struct engine *engine = &comm->engine;
	struct run *ended, *calling = NULL;
	choir_status (*call)(void *) = NULL;
	bool moved;

	if (pthread_mutex_trylock(&engine->drive) != 0)
		return false;
	if (engine->closed) {
		pthread_mutex_unlock(&engine->drive);
		return false;
	}
	take_incoming(engine);
	moved = drive_pump(comm);
	if (engine->active != NULL) {
		check_poison(comm);
		if (atomic_load(&comm->failed) == CHOIR_SUCCESS)
			moved |= advance_all(comm);
		if (atomic_load(&comm->failed) != CHOIR_SUCCESS)
			fail_all(comm);
	}
	ended = take_ended(engine, &calling);
	if (calling != NULL) {
		call = calling->call;
		calling->call = NULL; /* ours to make */
	}
	pthread_mutex_unlock(&engine->drive);
	if (calling != NULL)
		make_call(calling, call);
	for (struct run *next; ended != NULL; ended = next) {
		next = ended->next;
		complete(ended);
		moved = true;
	}
	return moved || calling != NULL;
}

bool engine_idle(const struct choir_comm *comm)
{
	return atomic_load_explicit(&comm->engine.unfinished, memory_order_acquire) == 0;
}

/* --- the slow look --- */

static void say_late(struct run *run, double seconds, char *text, size_t bytes)
{
	struct choir_comm *comm = run->comm;
	char called[128], who[96] = "";
	int n_late, first = run_late(run, &n_late);

	run_describe(&run->record, run->key, called, sizeof called);
	if (first >= 0 && comm->layout.node_of[first] == comm->layout.node_of[comm->rank] && !run->pair)
		snprintf(who, sizeof who, " (it has made %llu calls)",
		         (unsigned long long)atomic_load(&arena_control(comm->arena, comm->layout.place_of[first])->last_seq));
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
			run_describe(&run->record, run->key, called, sizeof called);
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

/* True if the comm failed on the way. */
static bool check_run(struct run *run, int64_t now)
{
	struct choir_comm *comm = run->comm;
	char text[ERROR_TEXT_BYTES];
	int64_t since = run->started_ns != 0 ? run->started_ns : run->submitted_ns, ms = (now - since) / 1000000;

	if (run->started_ns != 0 && run_check_records(run) != CHOIR_SUCCESS) {
		comm_fail(comm, CHOIR_MISMATCH, error_text());
		return true;
	}
	if (run->started_ns != 0 && ms >= run->deadline_ms) {
		say_late(run, (double)ms / 1000, text, sizeof text);
		comm_fail(comm, CHOIR_TIMEOUT, text);
		return true;
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

	if (pthread_mutex_trylock(&engine->drive) != 0)
		return;
	now = progress_now_ns();
	if (engine->active != NULL)
		look_at_peers(comm);
	for (struct run *run = engine->active; run != NULL && !engine->closed; run = run->next)
		if (run->state != RUN_ENDED && run->state != RUN_CALLING && atomic_load(&comm->failed) == CHOIR_SUCCESS && check_run(run, now))
			break;
	pthread_mutex_unlock(&engine->drive);
}
