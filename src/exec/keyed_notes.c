/* SPDX-License-Identifier: MIT */
/* Messages between nodes about keys: Note [keyed calls] in keyed.h. */
#include "exec/keyed.h"

#include "exec/keyed_state.h"
#include "node/key_board.h"

#include <stdio.h>
#include <stdlib.h>

/* No memory for such a message.  Without a question or an answer the deadline's sentence says less, without the others
 * the order would stop: the next keyed_take_notes fails the comm. */
static void lose_note(struct keyed *keyed, enum wire_key what)
{
	if (what != WIRE_KEY_SAID && what != WIRE_KEY_ORDERED)
		return;
	if (!atomic_exchange(&keyed->has_lost, true))
		atomic_fetch_add_explicit(&keyed->n_notes, 1, memory_order_release);
}

/* A transport that fails says so when it is driven. */
void keyed_send(struct choir_comm *comm, int rank, enum wire_key what, uint64_t key, uint64_t number)
{
	struct wire_header header = { .kind = WIRE_KEY, .key = key, .tag = what, .record = { .count = number } };

	if (comm_send(comm, rank, &header, NULL, 0) == CHOIR_NO_MEMORY)
		lose_note(comm->keyed, what);
}

void keyed_deliver(struct choir_comm *comm, const struct wire_header *header)
{
	struct keyed *keyed = comm->keyed;
	bool is_rank = header->src >= 0 && header->src < comm->n;
	struct key_note *note;

	if (keyed == NULL || !is_rank)
		return;
	note = calloc(1, sizeof *note);
	if (note == NULL) {
		lose_note(keyed, (enum wire_key)header->tag);
		return;
	}
	note->key = header->key;
	note->what = (enum wire_key)header->tag;
	note->src = header->src;
	note->number = header->record.count;
	pthread_mutex_lock(&keyed->note_lock);
	*keyed->notes_end = note;
	keyed->notes_end = &note->next;
	atomic_fetch_add_explicit(&keyed->n_notes, 1, memory_order_release);
	pthread_mutex_unlock(&keyed->note_lock);
}

/* The first note that may be taken now: messages may overtake each other, the order may not. */
static struct key_note *next_note(struct keyed *keyed)
{
	struct key_note *note;

	pthread_mutex_lock(&keyed->note_lock);
	note = keyed->notes;
	while (note != NULL && note->what == WIRE_KEY_ORDERED && note->number > keyed->n_taken + 1)
		note = note->next;
	pthread_mutex_unlock(&keyed->note_lock);
	return note;
}

static void take_note(struct keyed *keyed, struct key_note *note)
{
	struct key_note **link = &keyed->notes;

	pthread_mutex_lock(&keyed->note_lock);
	while (*link != note)
		link = &(*link)->next;
	*link = note->next;
	if (*link == NULL)
		keyed->notes_end = link;
	atomic_fetch_sub_explicit(&keyed->n_notes, 1, memory_order_relaxed);
	pthread_mutex_unlock(&keyed->note_lock);
	keyed->n_taken += note->what == WIRE_KEY_ORDERED;
}

/* Rank 0: one more node has said the key.  True: all have. */
static bool node_said(struct choir_comm *comm, struct key_note *note)
{
	struct key_note **link = &comm->keyed->waiting;

	while (*link != NULL && (*link)->key != note->key)
		link = &(*link)->next;
	if (*link != NULL) {
		(*link)->n_nodes++;
		free(note);
	} else {
		note->n_nodes = 1;
		note->next = NULL;
		*link = note;
	}
	note = *link;
	if (note->n_nodes < (uint32_t)comm->layout.n_nodes)
		return false;
	*link = note->next;
	free(note);
	return true;
}

static void take_said(struct choir_comm *comm, struct key_note *note)
{
	const struct layout *layout = &comm->layout;
	uint64_t key = note->key;

	if (!node_said(comm, note))
		return;
	comm->keyed->n_ordered++;
	for (int node = 0; node < layout->n_nodes; node++)
		keyed_send(comm, layout->node_ranks[layout->node_first[node]], WIRE_KEY_ORDERED, key,
		           comm->keyed->n_ordered);
}

/* A question about a key, which only a rank that has made the call answers, or such an answer.  Is this rank's call of
 * that key the one in question?  If it has begun, yes, if its place is behind the calls that the other rank has begun;
 * else the key has come again. */
static void take_talk(struct choir_comm *comm, struct key_note *note)
{
	struct keyed *keyed = comm->keyed;
	struct keyed_call *call;
	bool has_made, is_held;

	pthread_mutex_lock(&keyed->lock);
	call = *keyed_find(keyed, note->key);
	is_held = call != NULL && call->first != NULL;
	has_made = is_held || (call != NULL && call->place > note->number);
	if (is_held && note->what != WIRE_KEY_ASKED && call->made != NULL) {
		call->made[note->src] = true;
		call->begun |= note->what == WIRE_KEY_BEGUN;
	}
	pthread_mutex_unlock(&keyed->lock);
	if (has_made && note->what == WIRE_KEY_ASKED)
		keyed_send(comm, note->src, is_held ? WIRE_KEY_MADE : WIRE_KEY_BEGUN, note->key, 0);
	free(note);
}

static void fail_lost(struct choir_comm *comm)
{
	char text[ERROR_TEXT_BYTES];

	snprintf(text, sizeof text, "%s: rank %d: no memory for a message about a key", comm->name, comm->rank);
	comm_fail(comm, CHOIR_NO_MEMORY, text);
}

bool keyed_take_notes(struct choir_comm *comm, bool *wakes)
{
	struct keyed *keyed = comm->keyed;
	bool moved = false;

	if (atomic_load(&keyed->has_lost) && !comm_has_failed(comm))
		fail_lost(comm);
	for (struct key_note *note; (note = next_note(keyed)) != NULL; moved = true) {
		bool is_order = note->what == WIRE_KEY_ORDERED;

		if (is_order && !key_board_order(keyed->board, note->key))
			break; /* busy: at the next drive */
		*wakes |= is_order;
		take_note(keyed, note);
		if (is_order)
			free(note);
		else if (note->what == WIRE_KEY_SAID)
			take_said(comm, note);
		else
			take_talk(comm, note);
	}
	return moved;
}
