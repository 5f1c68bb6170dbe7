/* SPDX-License-Identifier: MIT */
#include "exec/keyed.h"

#include "base/log.h"
#include "exec/gone.h"
#include "exec/keyed_state.h"
#include "node/key_board.h"

#include <stdio.h>

static bool rank_said(struct choir_comm *comm, const struct keyed_call *call, int local_rank)
{
	bool known, said = key_board_said(comm->keyed->board, comm->node_size, local_rank, call->key, &known);

	return said || !known;
}

/* "rank 3 has", "ranks 1 3 have", of this node; or of another one, which this rank does not know. */
static void list_missing(struct choir_comm *comm, const struct keyed_call *call, char *text, size_t bytes)
{
	int n = 0, at = 0;
	char ranks[128] = "";

	for (int i = 0; i < comm->node_size; i++) {
		if (rank_said(comm, call, i))
			continue;
		n++;
		if (at >= 0 && (size_t)at + 16 < sizeof ranks)
			at += snprintf(ranks + at, sizeof ranks - (size_t)at, " %d", comm_rank_at(comm, i));
	}
	if (n == 0)
		snprintf(text, bytes, "a rank of another node has");
	else
		snprintf(text, bytes, "rank%s%s ha%s", n > 1 ? "s" : "", ranks, n > 1 ? "ve" : "s");
}

static bool is_gone(const struct choir_comm *comm, int rank, bool *dead)
{
	for (const struct gone *gone = atomic_load(&comm->gone); gone != NULL; gone = gone->next)
		if (gone->rank == rank) {
			*dead = gone->told.ended;
			return true;
		}
	for (int p = 0; p < comm->n_watched; p++)
		for (int i = 0; i < comm->peers[p].n_ranks && comm->peers[p].dead_looks > 1; i++)
			if (comm->peers[p].ranks[i] == rank) {
				*dead = true;
				return true;
			}
	return false;
}

/* The failure that the call gives the comm, SUCCESS if none. */
static choir_status look_at(struct choir_comm *comm, struct keyed_call *call, int64_t now, char *text, size_t bytes)
{
	double ms = (double)(now - call->since_ns) / 1e6;
	const struct run *run = call->first;
	char missing[192];
	bool dead;

	for (int i = 0; i < comm->node_size; i++) {
		if (!is_gone(comm, comm_rank_at(comm, i), &dead) || rank_said(comm, call, i))
			continue;
		snprintf(text, bytes, "%s: rank %d: %s waits for a call of key '%s' by rank %d, %s", comm->name,
		         comm->rank, run->name, call->text, comm_rank_at(comm, i),
		         dead ? "which is dead" : "which destroyed its comm");
		return dead ? CHOIR_PEER_DEAD : CHOIR_ABORTED;
	}
	if (ms < (double)comm->warn_ms && ms < (double)run->watch.deadline_ms)
		return CHOIR_SUCCESS;
	list_missing(comm, call, missing, sizeof missing);
	snprintf(text, bytes, "%s: rank %d: %s: after %.1f s %s not made the call of key '%s'", comm->name, comm->rank,
	         run->name, ms / 1e3, missing, call->text);
	if (ms >= (double)run->watch.deadline_ms)
		return CHOIR_TIMEOUT;
	if (!call->warned)
		log_text(LOG_WARNING, "%s", text);
	call->warned = true;
	return CHOIR_SUCCESS;
}

void keyed_check(struct choir_comm *comm, int64_t now_ns)
{
	struct keyed *keyed = comm->keyed;
	choir_status st = CHOIR_SUCCESS;
	char text[ERROR_TEXT_BYTES];

	pthread_mutex_lock(&keyed->lock);
	for (size_t b = 0; b < KEYED_BUCKETS; b++)
		for (struct keyed_call *call = keyed->buckets[b]; call != NULL; call = call->next)
			if (st == CHOIR_SUCCESS && call->first != NULL && call->said)
				st = look_at(comm, call, now_ns, text, sizeof text);
	pthread_mutex_unlock(&keyed->lock);
	if (st != CHOIR_SUCCESS)
		comm_fail(comm, st, text);
}
