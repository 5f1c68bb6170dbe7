/* SPDX-License-Identifier: MIT */
#include "exec/keyed.h"

#include "exec/keyed_state.h"
#include "node/key_board.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SWEEP_EVERY = 256, REFUSED_A_DRIVE = 64 };

choir_status keyed_create(struct choir_comm *comm, struct keyed **out_p)
{
	size_t bytes = sizeof(struct keyed) + key_board_words(comm->node_size) * sizeof(uint64_t);
	struct keyed *keyed = calloc(1, bytes);
	choir_status st;

	if (keyed == NULL)
		return error_no_memory("a keyed comm", bytes);
	st = arena_take_keys(comm->arena, &keyed->board);
	if (st == CHOIR_SUCCESS &&
	    (pthread_mutex_init(&keyed->lock, NULL) != 0 || pthread_mutex_init(&keyed->note_lock, NULL) != 0))
		st = error_set(CHOIR_NO_MEMORY, "no mutex for a keyed comm");
	if (st != CHOIR_SUCCESS) {
		free(keyed);
		return st;
	}
	keyed->unsaid_end = keyed->pass = &keyed->unsaid;
	keyed->notes_end = &keyed->notes;
	*out_p = keyed;
	return CHOIR_SUCCESS;
}

static void free_call(struct keyed_call *call)
{
	choir_event_release(call->event);
	free(call->text);
	free(call->made);
	free(call);
}

static void free_notes(struct key_note *note)
{
	for (struct key_note *next; note != NULL; note = next) {
		next = note->next;
		free(note);
	}
}

static void free_calls(struct keyed_call *call)
{
	for (struct keyed_call *next; call != NULL; call = next) {
		next = call->next;
		free_call(call);
	}
}

void keyed_destroy(struct keyed *keyed)
{
	if (keyed == NULL)
		return;
	for (size_t b = 0; b < KEYED_BUCKETS; b++)
		free_calls(keyed->buckets[b]);
	free_notes(keyed->notes);
	free_notes(keyed->waiting);
	pthread_mutex_destroy(&keyed->lock);
	pthread_mutex_destroy(&keyed->note_lock);
	free(keyed);
}

bool keyed_holds(const struct keyed *keyed)
{
	return atomic_load_explicit(&keyed->n_held, memory_order_acquire) > 0;
}

/* --- calls are made --- */

static bool is_over(const struct keyed_call *call)
{
	return call->first == NULL && event_is_complete(call->event);
}

/* Takes the calls that are over off the table; the caller frees them without the lock. */
static struct keyed_call *sweep(struct keyed *keyed)
{
	struct keyed_call *over = NULL;

	for (size_t b = 0; b < KEYED_BUCKETS; b++)
		for (struct keyed_call **link = &keyed->buckets[b]; *link != NULL;) {
			struct keyed_call *call = *link;

			if (!is_over(call)) {
				link = &call->next;
				continue;
			}
			*link = call->next;
			call->next = over;
			over = call;
		}
	return over;
}

static struct keyed_call *new_call(const struct run *run, uint64_t key)
{
	struct keyed_call *call = calloc(1, sizeof *call);

	if (call == NULL || (call->text = strdup(run->match_key)) == NULL) {
		free(call);
		return NULL;
	}
	call->key = key;
	call->event = choir_event_retain(run->event);
	call->end = &call->first;
	call->since_ns = wait_now_ns();
	return call;
}

static uint64_t number_of(const char *key)
{
	return XXH64(key, strlen(key), 0);
}

static choir_status look_whether_over(const struct keyed_call *call, const char *key)
{
	if (call == NULL || is_over(call))
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "a call of key '%.80s' is under way: a key may come again once it is complete",
	                 key);
}

choir_status keyed_is_free(struct keyed *keyed, const char *key)
{
	choir_status st;

	pthread_mutex_lock(&keyed->lock);
	st = look_whether_over(*keyed_find(keyed, number_of(key)), key);
	pthread_mutex_unlock(&keyed->lock);
	return st;
}

/* Under the lock: a new call, without parts.  *over: calls to free. */
static choir_status add_call(struct keyed *keyed, const struct run *run, struct keyed_call **out_p,
                             struct keyed_call **over)
{
	uint64_t key = number_of(run->match_key);
	struct keyed_call **link = keyed_find(keyed, key), *call = *link;
	choir_status st = look_whether_over(call, run->match_key);

	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s: rank %d: %s", run->comm->name, run->comm->rank, run_name(run));
	if (call != NULL) {
		*link = call->next;
		call->next = *over;
		*over = call;
	}
	call = new_call(run, key);
	if (call == NULL)
		return error_no_memory("a keyed call", sizeof *call);
	link = &keyed->buckets[key % KEYED_BUCKETS];
	call->next = *link;
	*link = call;
	*out_p = call;
	return CHOIR_SUCCESS;
}

static void append(struct keyed *keyed, struct keyed_call *call, struct run *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		parts[i]->next = NULL;
		*call->end = parts[i];
		call->end = &parts[i]->next;
	}
	call->n_parts = (int)n;
	atomic_fetch_add_explicit(&keyed->n_held, (int)n, memory_order_release);
	*keyed->unsaid_end = call;
	keyed->unsaid_end = &call->next_unsaid;
}

choir_status keyed_hold(struct run *const *parts, size_t n)
{
	const struct run *first = parts[0];
	struct keyed *keyed = first->comm->keyed;
	struct keyed_call *call = NULL, *over = NULL;
	choir_status st;

	if (first->match_key == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: rank %d: %s: calls on a keyed comm need a choir_call.key",
		                 first->comm->name, first->comm->rank, run_name(first));
	pthread_mutex_lock(&keyed->lock);
	if (++keyed->n_made % SWEEP_EVERY == 0)
		over = sweep(keyed);
	st = add_call(keyed, first, &call, &over);
	if (st == CHOIR_SUCCESS)
		append(keyed, call, parts, n);
	pthread_mutex_unlock(&keyed->lock);
	free_calls(over);
	return st;
}

/* --- keys are said and ordered --- */

static void take_off_unsaid(struct keyed *keyed, struct keyed_call *call)
{
	*keyed->pass = call->next_unsaid;
	call->next_unsaid = NULL;
	if (*keyed->pass == NULL)
		keyed->unsaid_end = keyed->pass;
	call->said = true;
	keyed->n_said++;
}

/* Note [no room for keys].  Where the table is full, a key that is not in it waits for room, and those behind it are
 * said if they are in it: one of these may be what other ranks wait for.  A new pass over the keys that wait begins
 * once a key has become complete; a drive looks at a few of them, so one of a rank that is thousands of calls ahead is
 * short. */
static bool begin_pass(struct keyed *keyed)
{
	uint64_t completed;

	if (keyed->unsaid == NULL)
		return false;
	completed = key_board_completed(keyed->board);
	if (*keyed->pass == NULL && completed != keyed->pass_completed) {
		keyed->pass = &keyed->unsaid;
		keyed->pass_completed = completed;
	}
	return *keyed->pass != NULL;
}

/* Under the lock: says keys, as many as the order has room for until this rank reads it.  True if anything moved, or
 * there are more keys to look at. */
static bool say_keys(struct choir_comm *comm, bool *wakes)
{
	struct keyed *keyed = comm->keyed;
	bool one_node = comm->layout.n_nodes == 1, moved = false;
	int refused = 0;

	if (!begin_pass(keyed))
		return false;
	while (*keyed->pass != NULL && keyed->n_said - keyed->cursor < KEY_BOARD_ORDER) {
		struct keyed_call *call = *keyed->pass;
		enum key_said said =
		    key_board_say(keyed->board, comm->node_size, comm->local_rank, call->key, call->text, one_node);

		if (said == KEY_BUSY)
			return moved;
		if (said == KEY_FULL) {
			keyed->pass = &call->next_unsaid;
			if (++refused == REFUSED_A_DRIVE)
				return true;
			continue;
		}
		moved = true;
		take_off_unsaid(keyed, call);
		if (said >= KEY_COMPLETE && !one_node)
			keyed_send(comm, 0, WIRE_KEY_SAID, call->key, 0);
		*wakes |= said == KEY_MADE_ROOM || (said == KEY_COMPLETE && one_node);
	}
	return moved;
}

/* Under the lock: the calls that are ordered, one behind the other. */
static bool take_ordered(struct choir_comm *comm, struct run **ordered)
{
	struct keyed *keyed = comm->keyed;
	bool moved = false;
	uint64_t key;

	while (keyed_holds(keyed) && key_board_next(keyed->board, &keyed->cursor, &key)) {
		struct keyed_call *call = *keyed_find(keyed, key);

		moved = true;
		if (call == NULL || call->first == NULL)
			continue; /* the comm has failed meanwhile, and its calls with it */
		call->place = keyed->cursor;
		*ordered = call->first;
		ordered = call->end;
		call->first = NULL;
		call->end = &call->first;
		atomic_fetch_sub_explicit(&keyed->n_held, call->n_parts, memory_order_relaxed);
	}
	return moved;
}

/* Under the lock: all held calls end with the comm's failure. */
static void take_failed(struct choir_comm *comm, struct run **ended)
{
	struct keyed *keyed = comm->keyed;

	keyed->unsaid = NULL;
	keyed->unsaid_end = keyed->pass = &keyed->unsaid;
	for (size_t b = 0; b < KEYED_BUCKETS; b++)
		for (struct keyed_call *call = keyed->buckets[b]; call != NULL; call = call->next) {
			if (call->first == NULL)
				continue;
			call->event->run = NULL;
			for (struct run *run = call->first; run != NULL; run = run->next) {
				run_set_failure(run, (choir_status)atomic_load(&comm->failure.status),
				                comm->failure.text);
			}
			*call->end = *ended;
			*ended = call->first;
			call->first = NULL;
			call->end = &call->first;
		}
	atomic_store(&keyed->n_held, 0);
}

static bool has_notes(const struct keyed *keyed)
{
	return atomic_load_explicit(&keyed->n_notes, memory_order_acquire) > 0;
}

bool keyed_drive(struct choir_comm *comm, struct run **ordered, struct run **ended)
{
	struct keyed *keyed = comm->keyed;
	bool moved = false, wakes = false;

	if (!keyed_holds(keyed) && !has_notes(keyed))
		return false;
	comm_see_poison(comm);
	if (comm->layout.n_nodes > 1)
		moved = keyed_take_notes(comm, &wakes);
	pthread_mutex_lock(&keyed->lock);
	if (keyed_holds(keyed) && comm_has_failed(comm)) {
		take_failed(comm, ended);
	} else if (keyed_holds(keyed)) {
		moved |= say_keys(comm, &wakes);
		moved |= take_ordered(comm, ordered);
	}
	pthread_mutex_unlock(&keyed->lock);
	if (wakes)
		comm_wake_node(comm);
	return moved;
}
